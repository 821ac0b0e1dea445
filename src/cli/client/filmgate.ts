import { fits, type Read, type Schema } from '../../wire/schema.ts'
import { readText } from '../body.ts'
import { type Connection, findConnection } from '../connection.ts'
import { Failure, UsageFailure } from '../failure.ts'
import { networkFailure, readFailure, redirected } from '../refusal.ts'
import type { Terminal } from '../terminal.ts'

/**
 * What only a Filmgate has, beside the Videos API. Any program may listen at a base URL: a response that does not fit the
 * schema fails the request.
 */
export interface Filmgate {
  get<const S extends Schema>(path: string, schema: S): Promise<Read<S>>
  post<const S extends Schema>(path: string, schema: S, body?: unknown): Promise<Read<S>>
  remove<const S extends Schema>(path: string, schema: S): Promise<Read<S>>
}

const answerMs = 60_000

export function openFilmgate({ baseUrl, token, tokenSource }: Connection): Filmgate {
  async function request<const S extends Schema>(path: string, schema: S, init: RequestInit): Promise<Read<S>> {
    const headers = { authorization: `Bearer ${token}`, ...init.headers }
    const signal = AbortSignal.timeout(answerMs)
    try {
      // A redirected POST would arrive as a GET.
      const answer = await fetch(`${baseUrl}${path}`, { ...init, headers, signal, redirect: 'manual' })
      if (answer.status >= 300 && answer.status < 400) throw redirected(answer, baseUrl)
      if (!answer.ok) throw await readFailure(answer, { baseUrl, tokenSource })
      const body: unknown = JSON.parse(await readText(answer))
      if (fits(schema, body)) return body
      throw new SyntaxError('of another shape')
    } catch (error) {
      if (error instanceof Failure) throw error
      if (!(error instanceof SyntaxError)) throw networkFailure(error, { baseUrl, timedOut: signal.aborted })
      throw new Failure(`${baseUrl}${path} answered, but not as Filmgate does`, { hint: 'Is the base URL right?' })
    }
  }

  return {
    get: (path, schema) => request(path, schema, {}),
    post: (path, schema, body) =>
      request(path, schema, {
        method: 'POST',
        ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      }),
    remove: (path, schema) => request(path, schema, { method: 'DELETE' }),
  }
}

export const operatorHelp = `Connection:
  --base-url URL      else FILMGATE_BASE_URL, else http://127.0.0.1:8484/v1
  --token TOKEN       else FILMGATE_OPERATOR_TOKEN
`

export function openOperator(flags: { 'base-url'?: string; token?: string }, { env }: Pick<Terminal, 'env'>): Filmgate {
  return openFilmgate(findOperator(flags, env))
}

/** The base URL is that of the Videos API, so that one variable serves all commands: this is its neighbour. */
function findOperator(flags: { 'base-url'?: string; token?: string }, env: Terminal['env']) {
  const tokenSource = flags.token ? '--token' : 'FILMGATE_OPERATOR_TOKEN'
  const token = flags.token || env.FILMGATE_OPERATOR_TOKEN
  if (!token) {
    throw new UsageFailure(
      "the operator's token is not set",
      'Set the one that the server printed at its first start:\n  export FILMGATE_OPERATOR_TOKEN=fg_…\nor give it with --token. (Lost it? Start the server with one of your own in that variable.)',
    )
  }
  const found = findConnection({ ...flags, token }, { FILMGATE_BASE_URL: env.FILMGATE_BASE_URL })
  return { ...found, tokenSource, baseUrl: `${found.baseUrl.replace(/(\/operator)?\/v1$/, '')}/operator/v1` }
}

import { readText } from './body.ts'
import { findConnection } from './connection.ts'
import { Failure, UsageFailure } from './failure.ts'
import { networkFailure, readFailure, redirected } from './refusal.ts'
import type { Terminal } from './terminal.ts'

type Guard<T> = (value: unknown) => value is T

/** The operator's side of a Filmgate. What it answers is what the guard says, or the request fails. */
export interface Operator {
  get<T>(path: string, isAnswer: Guard<T>): Promise<T>
  post<T>(path: string, isAnswer: Guard<T>, body?: unknown): Promise<T>
}

export const operatorHelp = `Connection:
  --base-url URL      else FILMGATE_BASE_URL, else http://127.0.0.1:8484/v1
  --token TOKEN       else FILMGATE_OPERATOR_TOKEN
`

const answerMs = 60_000

export function openOperator(flags: { 'base-url'?: string; token?: string }, { env }: Pick<Terminal, 'env'>): Operator {
  const { baseUrl, token, tokenSource } = findOperator(flags, env)

  async function request<T>(path: string, isAnswer: Guard<T>, init: RequestInit): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, ...init.headers }
    const signal = AbortSignal.timeout(answerMs)
    try {
      // A redirected POST would arrive as a GET.
      const answer = await fetch(`${baseUrl}${path}`, { ...init, headers, signal, redirect: 'manual' })
      if (answer.status >= 300 && answer.status < 400) throw redirected(answer, baseUrl)
      if (!answer.ok) throw await readFailure(answer, { baseUrl, tokenSource })
      const body: unknown = JSON.parse(await readText(answer))
      if (isAnswer(body)) return body
      throw new SyntaxError('of another shape')
    } catch (error) {
      if (error instanceof Failure) throw error
      if (!(error instanceof SyntaxError)) throw networkFailure(error, { baseUrl, timedOut: signal.aborted })
      throw new Failure(`${baseUrl}${path} answered, but not as Filmgate does`, { hint: 'Is the base URL right?' })
    }
  }

  return {
    get: (path, isAnswer) => request(path, isAnswer, {}),
    post: (path, isAnswer, body) =>
      request(path, isAnswer, {
        method: 'POST',
        ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      }),
  }
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

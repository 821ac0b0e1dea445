import { readText } from '../body.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Guard } from '../guards.ts'
import { networkFailure, readFailure, redirected } from '../refusal.ts'

/** What only a Filmgate has, beside the Videos API. What it answers is what the guard says, or the request fails. */
export interface Filmgate {
  get<T>(path: string, isAnswer: Guard<T>): Promise<T>
  post<T>(path: string, isAnswer: Guard<T>, body?: unknown): Promise<T>
  remove<T>(path: string, isAnswer: Guard<T>): Promise<T>
}

const answerMs = 60_000

export function openFilmgate({ baseUrl, token, tokenSource }: Connection): Filmgate {
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
    remove: (path, isAnswer) => request(path, isAnswer, { method: 'DELETE' }),
  }
}

import type { Variant } from '../wire/videos.ts'
import { readText } from './body.ts'
import type { Connection } from './connection.ts'
import { encode } from './encode.ts'
import { Failure, NetworkFailure, UnknownOutcome } from './failure.ts'
import { networkFailure, readFailure, redirected } from './refusal.ts'
import type { Terminal } from './terminal.ts'
import { type Model, readModels, readPage, readTask, type Task, type TaskPage } from './video.ts'

/** What is asked of a server. */
export interface Film {
  prompt: string
  model: string
  seconds?: string
  size?: string
  seed?: number
  caption?: false
  image?: { url: string } | { name: string; type: string; bytes: Uint8Array<ArrayBuffer> }
  /** Its size, length and model are those of this one, unless they are said: then an empty model is none. */
  of?: Origin
}

/** A video that another is made of. */
export type Origin =
  | { kind: 'remix'; video: { id: string } }
  | { kind: 'edit' | 'extension'; video: { id: string } | { name: string; bytes: Uint8Array<ArrayBuffer> } }

/** What a server may know a submit by. */
interface Attempt {
  /** The Idempotency-Key. */
  key: string
  /** An earlier try of the same may have reached the server. */
  again: boolean
}

export interface Polled {
  task: Task
  /** When the server wants to be asked again. */
  pollAfterMs: number | null
  /** Whether it waits for a change before it answers, where it is asked to. */
  waits: boolean
}

/** What is listed. A server that does not know these lists all. */
export interface Narrowed {
  status?: string
  model?: string
}

/** A Videos API in the shape of OpenAI's. Each call is one request; who wants it repeated, repeats it. */
export interface Client {
  readonly baseUrl: string
  models(signal?: AbortSignal): Promise<{ models: Model[]; raw: unknown }>
  /** Throws `UnknownOutcome` where a task may or may not exist now; any other failure means that there is none. */
  submit(film: Film, attempt: Attempt, signal?: AbortSignal): Promise<Task>
  /** `waitSeconds`: it may answer that much later, if it knows of a change only then. */
  retrieve(id: string, signal?: AbortSignal, waitSeconds?: number): Promise<Polled>
  list(query: Narrowed & { limit: number; after?: string }, signal?: AbortSignal): Promise<TaskPage>
  remove(id: string, signal?: AbortSignal): Promise<unknown>
  content(id: string, variant: Variant, signal?: AbortSignal): Promise<Response>
  /** The time on the server's own clock, as far as its answers have told it. */
  serverNow(): number
}

const answerMs = 60_000
// Ours may take a minute to look at an image; a slow line may take another to send it.
const submitMs = 180_000

export function openClient({ baseUrl, token, tokenSource }: Connection, { now }: Pick<Terminal, 'now'>): Client {
  let skewMs = 0

  async function request(path: string, init: RequestInit, timeoutMs: number): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout
    const headers = { authorization: `Bearer ${token}`, ...init.headers }
    let answer: Response
    try {
      answer = await fetch(`${baseUrl}${path}`, { ...init, headers, signal })
    } catch (error) {
      init.signal?.throwIfAborted()
      throw networkFailure(error, { baseUrl, timedOut: timeout.aborted })
    }
    const date = Date.parse(answer.headers.get('date') ?? '')
    if (!Number.isNaN(date)) skewMs = date - now()
    if (answer.status >= 300 && answer.status < 400) throw redirected(answer, baseUrl)
    if (!answer.ok) throw await readFailure(answer, { baseUrl, tokenSource })
    return answer
  }

  async function json(path: string, init: RequestInit, timeoutMs = answerMs) {
    const answer = await request(path, init, timeoutMs)
    try {
      return { answer, body: JSON.parse(await readText(answer)) as unknown }
    } catch (error) {
      init.signal?.throwIfAborted()
      if (error instanceof Failure) throw error
      if (error instanceof SyntaxError) throw notTheApi(baseUrl, path)
      throw networkFailure(error, { baseUrl, timedOut: false })
    }
  }

  return {
    baseUrl,
    async models(signal) {
      const { body } = await json('/models', withSignal(signal))
      const models = readModels(body)
      if (!models) throw notTheApi(baseUrl, '/models')
      return { models, raw: body }
    },
    async submit(film, { key, again }, signal) {
      const { path, body, headers } = encode(film)
      // Filmgate gives a repeat the task of the first try, by the header of OpenAI's SDKs; others may know the key.
      const known = { 'idempotency-key': key, ...(again ? { 'x-stainless-retry-count': '1' } : {}) }
      const init = { method: 'POST', body, headers: { ...headers, ...known } }
      try {
        // A redirected POST would arrive as a GET.
        const answer = await json(path, { ...init, ...withSignal(signal), redirect: 'manual' }, submitMs)
        const task = readTask(answer.body)
        if (task) return task
        throw notTheApi(baseUrl, path)
      } catch (error) {
        throw certainty(error, signal)
      }
    },
    async retrieve(id, signal, waitSeconds = 0) {
      // A preference (RFC 7240): a server that does not know it leaves it alone.
      const headers = { prefer: `wait=${waitSeconds}` }
      const { answer, body } = await json(pathOf(id), { headers, ...withSignal(signal) })
      const task = readTask(body)
      if (!task) throw notTheApi(baseUrl, pathOf(id))
      const after = Number(answer.headers.get('openai-poll-after-ms') ?? Number.NaN)
      const waits = /\bwait=/.test(answer.headers.get('preference-applied') ?? '')
      return { task, pollAfterMs: Number.isFinite(after) && after > 0 ? after : null, waits }
    },
    async list({ limit, ...others }, signal) {
      const query = new URLSearchParams({ limit: String(limit), order: 'desc', ...others })
      const { body } = await json(`/videos?${query}`, withSignal(signal))
      const page = readPage(body)
      if (!page) throw notTheApi(baseUrl, '/videos')
      return page
    },
    async remove(id, signal) {
      return (await json(pathOf(id), { method: 'DELETE', ...withSignal(signal) })).body
    },
    content: (id, variant, signal) =>
      // Compressed on the way, its length could not be checked.
      request(
        `${pathOf(id)}/content${variant === 'video' ? '' : `?variant=${variant}`}`,
        { headers: { 'accept-encoding': 'identity' }, ...withSignal(signal) },
        86_400_000,
      ),
    serverNow: () => now() + skewMs,
  }
}

function pathOf(id: string): string {
  return `/videos/${encodeURIComponent(id)}`
}

function withSignal(signal: AbortSignal | undefined): RequestInit {
  return signal ? { signal } : {}
}

/** Tells a submit that certainly made nothing from one that may have. */
function certainty(error: unknown, signal: AbortSignal | undefined): unknown {
  const status = error instanceof Failure && 'status' in error ? Number(error.status) : null
  const refused = status !== null && status < 500 && status !== 408
  if (refused || (error instanceof NetworkFailure && !error.sent)) return error
  const reason = signal?.aborted ? 'interrupted' : error instanceof Error ? error.message : String(error)
  return new UnknownOutcome(`it is not known whether the server took the film: ${reason}`, {
    cause: error,
    hint: 'It was not sent again, so that it is not made twice. Look first:\n  filmgate list',
  })
}

function notTheApi(baseUrl: string, path: string): Failure {
  return new Failure(`${baseUrl}${path} answered, but not as a Videos API does`, {
    hint: 'Is the base URL right? It usually ends in /v1.',
  })
}

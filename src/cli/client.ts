import { messageOf } from '../core/problem.ts'
import { idInSecret } from '../core/token.ts'
import { fits, isObject, type Read, type Schema } from '../wire/schema.ts'
import type { Variant } from '../wire/videos.ts'
import { type Connection, findConnection } from './connection.ts'
import { Failure, NetworkFailure, UnknownOutcome, UsageFailure } from './failure.ts'
import { networkFailure, readFailure, readText, redirected } from './response.ts'
import type { Terminal } from './terminal.ts'
import { type Model, readModels, readPage, readTask, type Task, type TaskPage } from './video.ts'

/** What a submit sends. */
export interface VideoRequest {
  prompt: string
  /** Empty only with `source`: then it is the model of the source. */
  model: string
  seconds?: string
  size?: string
  seed?: number
  caption?: false
  image?: { url: string } | { name: string; type: string; bytes: Uint8Array<ArrayBuffer> }
  /** Its size, length and model are the defaults. */
  source?: Source
}

/** The video that a remix, an edit or an extension starts from. */
export type Source =
  | { kind: 'remix'; video: { id: string } }
  | { kind: 'edit' | 'extension'; video: { id: string } | { name: string; bytes: Uint8Array<ArrayBuffer> } }

/** How a server recognises a repeated submit. */
interface SubmitKey {
  /** The Idempotency-Key. */
  key: string
  /** An earlier try may have reached the server. */
  again: boolean
}

export interface Polled {
  task: Task
  /** When the server wants the next poll. */
  pollAfterMs: number | null
  /** Whether the server waits for a change before it responds, if the request prefers that. */
  waits: boolean
}

/** Servers that don't know these filters list every video. */
export interface ListFilter {
  status?: string
  model?: string
}

/** A client of OpenAI's Videos API. Each call is one request; callers repeat it. */
export interface Client {
  readonly baseUrl: string
  models(signal?: AbortSignal): Promise<{ models: Model[]; raw: unknown }>
  /** Throws `UnknownOutcome` if a task may exist now. After any other failure no task exists. */
  submit(request: VideoRequest, key: SubmitKey, signal?: AbortSignal): Promise<Task>
  /** `waitSeconds`: how much later the server may respond while nothing changes. */
  retrieve(id: string, signal?: AbortSignal, waitSeconds?: number): Promise<Polled>
  list(query: ListFilter & { limit: number; after?: string }, signal?: AbortSignal): Promise<TaskPage>
  remove(id: string, signal?: AbortSignal): Promise<unknown>
  content(id: string, variant: Variant, signal?: AbortSignal): Promise<Response>
  /** The time of the server's clock, by the Date of its last response. */
  serverNow(): number
}

const responseMs = 60_000
// The server may take a minute to check an image, and a slow line another minute to send it.
const submitMs = 180_000

export function openClient({ baseUrl, token, tokenSource }: Connection, { now }: Pick<Terminal, 'now'>): Client {
  let skewMs = 0

  async function request(path: string, init: RequestInit, timeoutMs: number): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout
    const headers = { authorization: `Bearer ${token}`, ...init.headers }
    let response: Response
    try {
      response = await fetch(`${baseUrl}${path}`, { ...init, headers, signal })
    } catch (error) {
      init.signal?.throwIfAborted()
      throw networkFailure(error, baseUrl)
    }
    const date = Date.parse(response.headers.get('date') ?? '')
    if (!Number.isNaN(date)) skewMs = date - now()
    if (response.status >= 300 && response.status < 400) throw redirected(response, baseUrl)
    if (!response.ok) throw await readFailure(response, { baseUrl, tokenSource })
    return response
  }

  async function json(path: string, init: RequestInit, timeoutMs = responseMs) {
    const response = await request(path, init, timeoutMs)
    try {
      return { response, body: JSON.parse(await readText(response)) as unknown }
    } catch (error) {
      init.signal?.throwIfAborted()
      if (error instanceof Failure) throw error
      if (error instanceof SyntaxError) throw notTheApi(baseUrl, path)
      throw networkFailure(error, baseUrl)
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
    async submit(video, { key, again }, signal) {
      const { path, body, headers } = encode(video)
      // Filmgate recognises a repeat by the header of OpenAI's SDKs. Other servers may know the key.
      const known = { 'idempotency-key': key, ...(again ? { 'x-stainless-retry-count': '1' } : {}) }
      const init = { method: 'POST', body, headers: { ...headers, ...known } }
      try {
        // A redirected POST would arrive as a GET.
        const { body: created } = await json(path, { ...init, ...withSignal(signal), redirect: 'manual' }, submitMs)
        const task = readTask(created)
        if (task) return task
        throw notTheApi(baseUrl, path)
      } catch (error) {
        throw certainty(error, signal)
      }
    },
    async retrieve(id, signal, waitSeconds = 0) {
      // A preference (RFC 7240): servers that don't know it ignore it.
      const headers = { prefer: `wait=${waitSeconds}` }
      const { response, body } = await json(pathOf(id), { headers, ...withSignal(signal) })
      const task = readTask(body)
      if (!task) throw notTheApi(baseUrl, pathOf(id))
      const after = Number(response.headers.get('openai-poll-after-ms') ?? Number.NaN)
      const waits = /\bwait=/.test(response.headers.get('preference-applied') ?? '')
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
      const { body } = await json(pathOf(id), { method: 'DELETE', ...withSignal(signal) })
      // SGLang sends the video with the status `deleted`.
      const isDeleted = isObject(body) && (body.deleted === true || body.status === 'deleted')
      if (!isDeleted) throw new Failure('the server did not say that it deleted the video')
      return body
    },
    content: (id, variant, signal) =>
      // The length of a compressed response could not be checked.
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

/** A submit that certainly created nothing keeps its error. Any other becomes an `UnknownOutcome`. */
function certainty(error: unknown, signal: AbortSignal | undefined): unknown {
  const status = error instanceof Failure && 'status' in error ? Number(error.status) : null
  const refused = status !== null && status < 500 && status !== 408
  if (refused || (error instanceof NetworkFailure && !error.sent)) return error
  const reason = signal?.aborted ? 'interrupted' : messageOf(error)
  return new UnknownOutcome(`it is unknown whether the server accepted the video: ${reason}`, {
    cause: error,
    hint: 'It was not sent again, because that could create it twice. Check first:\n  filmgate list',
  })
}

function notTheApi(baseUrl: string, path: string): Failure {
  return new Failure(`${baseUrl}${path} did not respond like a Videos API`, {
    hint: 'Is the base URL right? It usually ends in /v1.',
  })
}

interface Encoded {
  path: string
  body: string | FormData
  headers: Record<string, string>
}

/** JSON, or a form if the request has bytes, as OpenAI's SDKs send it. */
function encode({ image, source, ...fields }: VideoRequest): Encoded {
  if (source) return encodeDerived(fields, source)
  const path = '/videos'
  if (image && 'bytes' in image) {
    const file = new File([image.bytes], image.name, { type: image.type })
    return { path, body: formOf({ ...fields, input_reference: file }), headers: {} }
  }
  return { path, ...jsonOf(image ? { ...fields, input_reference: { image_url: image.url } } : fields) }
}

const paths = { edit: '/videos/edits', extension: '/videos/extensions' }

function encodeDerived(request: Omit<VideoRequest, 'image' | 'source'>, { kind, video }: Source): Encoded {
  const { model, ...others } = request
  const fields = model === '' ? others : request
  if (kind === 'remix') return { path: `/videos/${encodeURIComponent(video.id)}/remix`, ...jsonOf(fields) }
  const path = paths[kind]
  if ('id' in video) return { path, ...jsonOf({ ...fields, video }) }
  const file = new File([video.bytes], video.name, { type: 'video/mp4' })
  return { path, body: formOf({ ...fields, video: file }), headers: {} }
}

function jsonOf(fields: object): Omit<Encoded, 'path'> {
  return { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } }
}

function formOf(fields: Record<string, unknown>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof File) form.set(name, value)
    else form.set(name, String(value))
  }
  return form
}

/**
 * The routes that only Filmgate has. Any program may listen at a base URL, so a response that does not fit the schema
 * fails the request.
 */
export interface Filmgate {
  readonly baseUrl: string
  /** The id of the token that it uses; null if its secret does not have it. */
  readonly tokenId: string | null
  get<const S extends Schema>(path: string, schema: S): Promise<Read<S>>
  getCsv(path: string): Promise<string>
  post<const S extends Schema>(path: string, schema: S, body?: unknown): Promise<Read<S>>
  remove<const S extends Schema>(path: string, schema: S): Promise<Read<S>>
}

export function openFilmgate({ baseUrl, token, tokenSource }: Connection): Filmgate {
  /** `read` throws a `SyntaxError` if the response is not one of Filmgate's. */
  async function request<T>(path: string, init: RequestInit, read: (response: Response) => Promise<T>): Promise<T> {
    // `fetch` would resolve it, and send the request to another route.
    const dots = path.split('/').find((part) => part === '.' || part === '..')
    if (dots !== undefined) throw new UsageFailure(`'${dots}' is not an id`)
    const headers = { authorization: `Bearer ${token}`, ...init.headers }
    const signal = AbortSignal.timeout(responseMs)
    try {
      // A redirected POST would arrive as a GET.
      const response = await fetch(`${baseUrl}${path}`, { ...init, headers, signal, redirect: 'manual' })
      if (response.status >= 300 && response.status < 400) throw redirected(response, baseUrl)
      if (!response.ok) throw await readFailure(response, { baseUrl, tokenSource })
      return await read(response)
    } catch (error) {
      if (error instanceof Failure) throw error
      if (!(error instanceof SyntaxError)) throw networkFailure(error, baseUrl)
      throw new Failure(`${baseUrl}${path} did not respond like Filmgate`, { hint: 'Is the base URL right?' })
    }
  }

  return {
    baseUrl,
    tokenId: idInSecret(token),
    get: (path, schema) => request(path, {}, (response) => readFitting(response, schema)),
    getCsv: (path) => request(path, {}, readCsv),
    post: (path, schema, body) =>
      request(
        path,
        {
          method: 'POST',
          ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
        },
        (response) => readFitting(response, schema),
      ),
    remove: (path, schema) => request(path, { method: 'DELETE' }, (response) => readFitting(response, schema)),
  }
}

async function readFitting<const S extends Schema>(response: Response, schema: S): Promise<Read<S>> {
  const body: unknown = JSON.parse(await readText(response))
  if (fits(schema, body)) return body
  throw new SyntaxError('it does not fit the schema')
}

async function readCsv(response: Response): Promise<string> {
  const text = await readText(response)
  if (response.headers.get('content-type')?.startsWith('text/csv')) return text
  throw new SyntaxError('it is not CSV')
}

export const operatorHelp = `Connection:
  --base-url URL      else FILMGATE_BASE_URL, else http://127.0.0.1:8484/v1
  --token TOKEN       else FILMGATE_OPERATOR_TOKEN
`

export function openOperator(flags: { 'base-url'?: string; token?: string }, { env }: Pick<Terminal, 'env'>): Filmgate {
  return openFilmgate(findOperator(flags, env))
}

/** Derived from the base URL of the Videos API, so that one variable serves all commands. */
function findOperator(flags: { 'base-url'?: string; token?: string }, env: Terminal['env']) {
  const tokenSource = flags.token ? '--token' : 'FILMGATE_OPERATOR_TOKEN'
  const token = flags.token || env.FILMGATE_OPERATOR_TOKEN
  if (!token) {
    throw new UsageFailure(
      "the operator's token is not set",
      'Set the token that the server printed at its first start:\n  export FILMGATE_OPERATOR_TOKEN=fg_…\nor use --token. (Lost it? Start the server with a token of your own in that variable.)',
    )
  }
  const found = findConnection({ ...flags, token }, { FILMGATE_BASE_URL: env.FILMGATE_BASE_URL })
  return { ...found, tokenSource, baseUrl: `${found.baseUrl.replace(/(\/operator)?\/v1$/, '')}/operator/v1` }
}

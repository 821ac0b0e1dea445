import { QueryClient } from '@tanstack/react-query'
import type { ConsoleState } from '../../src/wire/console.ts'
import type { ErrorResponse } from '../../src/wire/service.ts'

/* The one client of the public API and of the operator API. The browser sends the session; the header shows that a page did. */

/** A response that is an error, in the words of the service. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | null
  /** The field at fault, if there is one. */
  readonly param: string | null

  constructor(status: number, { error }: ErrorResponse) {
    super(error.message)
    this.name = 'ApiError'
    this.status = status
    this.code = error.code
    this.param = error.param
  }
}

/** The service did not respond, or said that it can't now. The same request may succeed later. */
export class Unavailable extends Error {
  /** In the words of the service; null if it did not respond. */
  readonly reason: string | null

  constructor(reason: string | null, options?: ErrorOptions) {
    super(reason ?? 'no response', options)
    this.reason = reason
  }
}

/** Somebody stopped a request that was tried again. The service may have accepted it. */
export class Stopped extends Error {}

interface Sending {
  method?: 'GET' | 'POST' | 'DELETE'
  body?: unknown
  signal?: AbortSignal
  /** The same for each try: what the service has done already is not done again. */
  idempotencyKey?: string
  timeoutMs?: number
}

/** A long report is read within the first one. A test of an account waits for a provider. */
const [readTimeoutMs, changeTimeoutMs] = [30_000, 180_000]

/** The JSON of a response. Throws `ApiError`, or `Unavailable`. */
export async function call<Answer>(path: string, sending: Sending = {}): Promise<Answer> {
  const { method = 'GET', body, signal, idempotencyKey } = sending
  const { timeoutMs = method === 'GET' ? readTimeoutMs : changeTimeoutMs } = sending
  const headers = {
    'x-filmgate-console': '1',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const { status, statusText, text } = await send(path, init, { signal, timeoutMs })
  const json = readJson(text)
  if (status >= 200 && status < 300) {
    // A proxy may respond with a page of its own.
    const isOwn =
      path === sessionPath ? (json as Partial<ConsoleState> | undefined)?.object === 'console' : json !== undefined
    if (!isOwn) throw new Unavailable(null, { cause: new Error('the response is not of the service') })
    return json as Answer
  }
  const known = (json as Partial<ErrorResponse> | undefined)?.error
  if (isElsewhere({ method, path, status, known }))
    throw new Unavailable(null, { cause: new Error(`status ${status}`) })
  if (status === 502 || status === 503 || status === 504) throw new Unavailable(known?.message ?? null)
  const message = `${status} ${statusText}`
  const error = new ApiError(status, { error: known ?? { message, type: 'server_error', param: null, code: null } })
  if (status !== 401 || path === sessionPath || !(await hasSessionEnded())) throw error
  // The frame shows the form above the page, which stays as it is: it reads on when someone has signed in.
  if (method !== 'GET') throw error
  await nextSession(signal)
  return call(path, sending)
}

export const sessionPath = '/console/session'

interface Refusal {
  method: string
  path: string
  status: number
  known: ErrorResponse['error'] | undefined
}

/**
 * Whether a refusal is not about the request: a proxy responds in place of the service, for example while that starts, or
 * the service has no console any more. A video is not deleted because of that.
 */
function isElsewhere({ method, path, status, known }: Refusal): boolean {
  if (status === 404) return known === undefined || path === sessionPath
  return known === undefined && method === 'GET' && (status === 401 || status === 403)
}

interface Received {
  status: number
  statusText: string
  text: string
}

/** A response with its body. Throws `Unavailable` if it takes longer than allowed. */
async function send(
  path: string,
  init: RequestInit,
  { signal, timeoutMs }: { signal?: AbortSignal | undefined; timeoutMs: number },
): Promise<Received> {
  const signals = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]
  try {
    const response = await fetch(path, { ...init, cache: 'no-store', signal: AbortSignal.any(signals) })
    return { status: response.status, statusText: response.statusText, text: await response.text() }
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw new Unavailable(null, { cause })
  }
}

/** The markup of this page, as the service sends it now. */
export async function readMarkup(): Promise<string> {
  const { status, text } = await send('/', { headers: { accept: 'text/html' } }, { timeoutMs: readTimeoutMs })
  if (status !== 200) throw new Unavailable(null)
  return text
}

/** Undefined if the text is not JSON. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function hasSessionEnded(): Promise<boolean> {
  const { session } = await queries.fetchQuery<ConsoleState>({ queryKey: [sessionPath], staleTime: 0 })
  return session === null
}

/** Reads who is signed in. If that is another person than before, what was sent for the first one ends. */
export async function readSession(): Promise<void> {
  try {
    await queries.fetchQuery({ queryKey: [sessionPath], staleTime: 0 })
  } catch (cause) {
    // It failed, or somebody is signing in.
    throw new Unavailable(null, { cause })
  }
}

let ofPerson = new AbortController()

/** Of requests that are sent more than once: it is aborted before the session of another person can send them. */
export function personSignal(): AbortSignal {
  return ofPerson.signal
}

export function endPerson(): void {
  ofPerson.abort(new Stopped())
  ofPerson = new AbortController()
}

/** Requests that wait until someone has signed in. */
const waiting = new Set<() => void>()

function nextSession(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.add(resolve)
    const leave = () => {
      waiting.delete(resolve)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
  })
}

export function resumeRequests(): void {
  for (const resume of waiting) resume()
  waiting.clear()
}

/** One page of a list, as both APIs have it. */
export interface ListPage<Row> {
  data: readonly Row[]
  has_more: boolean
  last_id: string | null
}

/** A path with parameters that are set. Each part of the path that is a value has to be encoded by the caller. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const set = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`
}

/** What is unavailable is tried again until it works; every other error is shown. */
export const tryAgain = {
  retry: (_count: number, error: Error) => error instanceof Unavailable,
  retryDelay: (count: number) => Math.min(5_000, 500 * 2 ** count),
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      queryFn: ({ queryKey: [path], signal }) => call(String(path), { signal }),
      ...tryAgain,
      refetchInterval: afterFailure,
      networkMode: 'always',
      staleTime: 2_000,
    },
    // A browser that calls itself offline may still reach a service on its own machine or network.
    mutations: { networkMode: 'always' },
  },
})

/** Whether the same request may succeed later. Others would be refused again. */
export function isPassing(error: unknown): boolean {
  return error instanceof Unavailable || (error instanceof ApiError && (error.status === 429 || error.status >= 500))
}

export function isNotFound(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404
}

const afterFailureMs = 10_000

/** When a query that is not read regularly is read again: after a failure that may pass. */
export function afterFailure({ state: { error } }: { state: { error: Error | null } }): number | false {
  return isPassing(error) ? afterFailureMs : false
}

/**
 * What a page was last able to read. Throws only if that is nothing: one failed read does not remove what is shown, and
 * the line above the page says why it may be old.
 */
export function dataOf<Data>({ data, error }: { data: Data | undefined; error: Error | null }): Data | undefined {
  if (data === undefined && error) throw error
  return data
}

/** Replaces what a query has. What is being read may be older, and would replace it again. */
export async function overtake<Data>(queryKey: readonly string[], data: Data): Promise<void> {
  await queries.cancelQueries({ queryKey, exact: true })
  queries.setQueryData<Data>(queryKey, data)
}

/** Whether it is a query of an API: its result depends on who is signed in. */
export function isOfApi({ queryKey: [key] }: { queryKey: readonly unknown[] }): boolean {
  return String(key).startsWith('/') && key !== sessionPath
}

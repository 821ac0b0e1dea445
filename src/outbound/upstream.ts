import type { Socket } from 'node:net'
import { Problem } from '../core/problem.ts'
import { type Base, readBase, readHeaders } from './base.ts'
import { certificateFaultOf, connect, type Network } from './connect.ts'
import { Exchange, type ExchangeDeadlines, type Head, type HttpRequest } from './exchange.ts'
import { IdleConnections, type IdleRoom } from './idle.ts'
import { bufferedResponse, responseByStatus, streamedResponse, truncatedResponse } from './response.ts'
import { type Rules, readTarget, type Target, trusting, UrlRefusal } from './target.ts'
import { isTimeout, openStop } from './watch.ts'

/**
 * HTTP client of one provider. A path is appended to the base URL. A path that could lead elsewhere and a header that
 * could break the request are our own mistakes and throw a plain Error. Other failures throw `provider_unavailable`
 * (retryable) unless stated otherwise. If the caller's signal aborts, its reason is thrown.
 */
export interface Upstream {
  /**
   * One request on a connection of its own, so that a stale keep-alive cannot fake an unknown outcome. Throws
   * `provider_unreachable` (retryable) only if certainly no byte of the request left this machine: resolve, connect or TLS
   * failed, the peer closed before the first byte, or the caller's signal aborted before. After any other error the
   * outcome is unknown. Redirects are returned, not followed. A response has up to 4 MiB, encoded and decoded. If the
   * status refuses the request (4xx except 408 and 409) and the body is longer or unreadable, the body is empty.
   */
  send(path: string, init: UpstreamRequest, signal: AbortSignal, departure?: Departure): Promise<Response>
  /**
   * A request that may be repeated, so it does not matter whether it left. A GET may use a connection again. Redirects are
   * returned here too.
   */
  fetch(path: string, init: UpstreamRequest, signal: AbortSignal): Promise<Response>
  /**
   * GETs a result as a stream, over at most 3 redirects, each checked: from the upstream itself, or from a host that is
   * public or that the operator allows. A `location` that starts with "/" is a path below the base URL, and a body may be
   * posted there. Only the upstream gets the headers. Another host gets at most Range, and so does the upstream after a
   * redirect to another host. The stream fails unless it is as long as announced, and
   * the `url` of the response is the address after redirects.
   * A response other than 2xx is returned with the first 64 KiB of its body. A refused URL or redirect throws
   * `output_unavailable`, not retryable. The caller reads the body to its end or cancels it.
   */
  download(location: string, init: DownloadRequest, signal: AbortSignal): Promise<Response>
}

/** Called before a request is sent. If one of them throws, the request is not sent. */
interface Departure {
  /** The connection is open, and no byte has been sent. `isOpen`: whether it still is. */
  ready(isOpen?: () => boolean): Promise<void>
  /** Called right before the write. Not called if the request was aborted before. */
  leave(): void
}

interface DownloadRequest {
  headers?: Record<string, string>
  /** The request body for an upstream that returns results inside its responses. */
  post?: string
  /** It has to end within `totalMs`, like any other request: it asks for a status, not for a result. */
  isPoll?: true
}

export interface UpstreamRequest {
  method: 'GET' | 'POST' | 'DELETE' | 'PUT'
  headers?: Record<string, string>
  body?: string | Uint8Array
}

/** `totalMs` limits `send` and `fetch`. A download may take any time if it keeps its pace. */
export interface UpstreamDeadlines {
  connectMs: number
  headersMs: number
  bodyIdleMs: number
  totalMs: number
  downloadHeadersMs: number
  downloadIdleMs: number
  downloadPaceMs: number
  downloadPaceBytes: number
  downloadCloseMs: number
}

export const UPSTREAM_DEADLINES: UpstreamDeadlines = {
  connectMs: 10_000,
  headersMs: 60_000,
  bodyIdleMs: 30_000,
  totalMs: 120_000,
  downloadHeadersMs: 30_000,
  downloadIdleMs: 30_000,
  downloadPaceMs: 60_000,
  downloadPaceBytes: 60 * 1024,
  downloadCloseMs: 1_000,
}

/** What a response, or a refused certificate, tells about a provider. */
export interface UpstreamSight {
  /** With the port. */
  host: string
  /** The time of its clock, if the response has one that is not from a cache. */
  date: number | null
  /** The code of the error, if its certificate was refused. */
  certificateFault?: string
}

/** What the Outbound passes to each of its upstreams. */
interface UpstreamContext {
  rules: Rules
  network: Network
  deadlines: UpstreamDeadlines
  closing: AbortSignal
  /** Receives each response to `send` and `fetch`, each connection of a download, and refused certificates. */
  see?: ((sight: UpstreamSight) => void) | undefined
  idleRoom: IdleRoom
  /** Closing the Outbound waits for this work. */
  track<T>(work: Promise<T>): Promise<T>
}

const MAX_RESPONSE_BYTES = 4 * 2 ** 20
const MAX_REFUSAL_BYTES = 64 * 2 ** 10
const MAX_REDIRECTS = 3
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Throws a plain Error for an invalid base URL. */
export function openUpstream(baseUrl: string, context: UpstreamContext): Upstream {
  const client = new GuardedUpstream(readBase(baseUrl), context)
  return {
    send: async (path, init, signal, departure) => context.track(client.request('send', path, init, signal, departure)),
    fetch: async (path, init, signal) => context.track(client.request('fetch', path, init, signal)),
    download: async (location, init, signal) => context.track(client.download(location, init, signal)),
  }
}

class GuardedUpstream {
  readonly #base: Base
  readonly #context: UpstreamContext
  readonly #idle: IdleConnections

  constructor(base: Base, context: UpstreamContext) {
    this.#base = base
    this.#context = context
    this.#idle = new IdleConnections(context)
  }

  async request(
    kind: 'send' | 'fetch',
    path: string,
    init: UpstreamRequest,
    signal: AbortSignal,
    departure?: Departure,
  ): Promise<Response> {
    const target = this.#base.below(path)
    const request = { method: init.method, url: target.url, headers: readHeaders(init.headers), body: init.body }
    // Disposed of: a running timer would keep the request and its image in memory for minutes.
    using stop = openStop([signal, this.#context.closing], this.#context.deadlines.totalMs, 'the request took too long')
    let socket: Socket | undefined
    try {
      if (kind === 'fetch' && init.method === 'GET') return await this.#get(target, request, stop.signal)
      const opened = await connect(target, this.#context, stop.signal)
      socket = opened
      // Prepared before the departure, so that only a write follows it.
      const exchange = new Exchange(opened, request, exchangeDeadlines(this.#context.deadlines), stop.signal)
      await departure?.ready(() => !opened.destroyed && !opened.readableEnded)
      exchange.send(() => departure?.leave())
      const head = await exchange.head()
      this.#see(head.headers)
      return kind === 'send' && refuses(head)
        ? await responseByStatus(exchange, head, MAX_RESPONSE_BYTES, signal)
        : await bufferedResponse(exchange, MAX_RESPONSE_BYTES)
    } catch (thrown) {
      this.#seeFailure(thrown, this.#host)
      // Without a socket TLS has not completed. Bytes that were only handed to the socket count as written.
      const isUnsent = kind === 'send' && (socket === undefined || socket.bytesWritten === 0)
      if (!isUnsent) signal.throwIfAborted()
      throw isUnsent ? unreachable(thrown) : unavailable(thrown)
    } finally {
      socket?.destroy()
    }
  }

  #see(headers: Headers): void {
    const date = headers.has('age') ? Number.NaN : Date.parse(headers.get('date') ?? '')
    this.#context.see?.({ host: this.#host, date: Number.isNaN(date) ? null : date })
  }

  #seeFailure(thrown: unknown, host: string): void {
    const certificateFault = certificateFaultOf(thrown)
    if (certificateFault !== undefined) this.#context.see?.({ host, date: null, certificateFault })
  }

  get #host(): string {
    return `${this.#base.host}:${this.#base.port}`
  }

  /** If a connection that was kept turns out to be closed, a new one is used. */
  async #get(target: Target, request: HttpRequest, stop: AbortSignal): Promise<Response> {
    const kept = this.#idle.take()
    const received = kept?.bytesRead
    if (kept)
      try {
        return await this.#getOn(kept, request, stop)
      } catch (thrown) {
        if (kept.bytesRead !== received || isTimeout(thrown) || stop.aborted) throw thrown
      }
    return this.#getOn(await connect(target, this.#context, stop), request, stop)
  }

  async #getOn(socket: Socket, request: HttpRequest, stop: AbortSignal): Promise<Response> {
    let exchange: Exchange | undefined
    try {
      exchange = new Exchange(socket, request, exchangeDeadlines(this.#context.deadlines), stop, true)
      exchange.send()
      const response = await bufferedResponse(exchange, MAX_RESPONSE_BYTES)
      this.#see(response.headers)
      return response
    } finally {
      if (exchange?.release()) this.#idle.put(socket)
      else socket.destroy()
    }
  }

  async download(location: string, init: DownloadRequest, signal: AbortSignal): Promise<Response> {
    const headers = readHeaders(init.headers)
    const isPath = location.startsWith('/')
    if (init.post !== undefined && !isPath) throw new Error('a body may be posted only to the upstream itself')
    const { deadlines, closing } = this.#context
    const limit = init.isPoll ? [AbortSignal.timeout(deadlines.totalMs)] : []
    const stop = AbortSignal.any([signal, closing, ...limit])
    const explain = (thrown: unknown) => (signal.aborted ? signal.reason : asProblem(thrown))
    let trusted = true
    let from: URL | undefined
    let next = isPath ? this.#base.below(location).url.href : location
    let body = init.post
    try {
      for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
        const { target, isOwn } = this.#check(next, from)
        trusted &&= isOwn
        const method = body === undefined ? 'GET' : 'POST'
        const request = { method, url: target.url, headers: trusted ? headers : withoutSecrets(headers), body }
        const response = await this.#open(target, request, stop, explain)
        if (response instanceof Response) return response
        body = undefined
        from = target.url
        next = response.location
      }
      throw new Problem('output_unavailable', `The result is behind more than ${MAX_REDIRECTS} redirects.`)
    } catch (thrown) {
      throw explain(thrown)
    }
  }

  /** The operator trusts this origin at any address. Every other URL is checked like a client's. */
  #check(text: string, from: URL | undefined): { target: Target; isOwn: boolean } {
    const { rules } = this.#context
    const { origin, host, port } = this.#base
    const isOwn = URL.parse(text, from?.href)?.origin === origin
    const target = readTarget(text, isOwn ? trusting({ host, port }, rules) : rules, from)
    return { target, isOwn }
  }

  async #open(
    target: Target,
    request: HttpRequest,
    stop: AbortSignal,
    explain: (thrown: unknown) => unknown,
  ): Promise<Response | { location: string }> {
    const { deadlines, track } = this.#context
    const host = `${target.host}:${target.port}`
    const socket = await connect(target, this.#context, stop).catch((thrown) => {
      this.#seeFailure(thrown, host)
      throw thrown
    })
    // Its clock does not count: a result may come from a cache.
    this.#context.see?.({ host, date: null })
    const exchange = new Exchange(socket, request, downloadDeadlines(deadlines), stop)
    exchange.send()
    void track(exchange.closed)
    try {
      const head = await exchange.head()
      const location = REDIRECTS.has(head.status) ? head.headers.get('location') : null
      if (location !== null) {
        exchange.end(new Error('the redirect is followed'))
        return { location }
      }
      if (!hasResult(head)) return await truncatedResponse(exchange, head, MAX_REFUSAL_BYTES, stop)
      return streamedResponse(exchange, head, { url: target.url, closeMs: deadlines.downloadCloseMs }, explain)
    } catch (thrown) {
      exchange.end(thrown)
      throw thrown
    }
  }
}

/** Not 409: the conflict may be with this same request. Not 408: the server may have received all of it. */
function refuses({ status }: Head): boolean {
  return status >= 400 && status <= 499 && status !== 408 && status !== 409
}

function exchangeDeadlines({ headersMs, bodyIdleMs }: UpstreamDeadlines): ExchangeDeadlines {
  return { headersMs, idleMs: bodyIdleMs }
}

function downloadDeadlines(deadlines: UpstreamDeadlines): ExchangeDeadlines {
  return {
    headersMs: deadlines.downloadHeadersMs,
    idleMs: deadlines.downloadIdleMs,
    pace: { bytes: deadlines.downloadPaceBytes, overMs: deadlines.downloadPaceMs },
  }
}

function hasResult({ status, headers }: Head): boolean {
  if (status < 200 || status > 299 || status === 204 || status === 205) return false
  const encoding = (headers.get('content-encoding') ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return true
  throw new Problem('output_unavailable', 'The provider served the result compressed, which was not requested.')
}

function withoutSecrets({ range }: Record<string, string>): Record<string, string> {
  return readHeaders(range === undefined ? {} : { range })
}

function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown
  if (!(thrown instanceof UrlRefusal)) return unavailable(thrown)
  const message = `The URL of the result was refused: ${thrown.message}.`
  return new Problem('output_unavailable', message, { cause: thrown })
}

function unreachable(cause: unknown): Problem {
  return new Problem('provider_unreachable', 'The provider cannot be reached right now.', { cause, retryable: true })
}

function unavailable(cause: unknown): Problem {
  const message = isTimeout(cause)
    ? 'The provider did not respond in time.'
    : 'The provider closed the connection early, or returned a response that cannot be read.'
  return new Problem('provider_unavailable', message, { cause, retryable: true })
}

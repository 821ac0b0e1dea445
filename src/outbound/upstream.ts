import type { Socket } from 'node:net'
import { Problem } from '../core/problem.ts'
import { answerByStatus, liveAnswer, startOfAnswer, wholeAnswer } from './answer.ts'
import { type Base, readBase, readHeaders } from './base.ts'
import { connect, type Network } from './connect.ts'
import { Exchange, type ExchangePatience, type Head, type Question } from './exchange.ts'
import { Refusal, type Rules, readTarget, type Target } from './target.ts'
import { after, isTimeout } from './watch.ts'

/**
 * The way to one provider. A path is appended to the base URL; one that could lead elsewhere, and a header that could
 * break the request, are mistakes of ours and throw a plain Error. What fails on the way throws `provider_unavailable`
 * (retryable) where nothing else is said, and what the caller's signal ends throws the reason of that signal.
 */
export interface Upstream {
  /**
   * One request on a connection of its own, so that a stale keep-alive can't fake an unknown outcome. Throws
   * `provider_unreachable` (retryable) only if surely no byte of the request left this machine: resolve, connect or TLS
   * failed, the peer closed before the first byte, or the caller's signal ended it before. Whatever else is thrown leaves
   * the outcome open. Redirects are not followed: they are answers. An answer has up to 4 MiB, also when decoded; one whose
   * status refuses the request (4xx, but neither 408 nor 409) stays an answer where its body is longer or can't be read,
   * with an empty one.
   */
  send(path: string, init: UpstreamRequest, signal: AbortSignal, departure?: Departure): Promise<Response>
  /** Any other request, which may be repeated: whether it left is no matter. Redirects are answers here too. */
  fetch(path: string, init: UpstreamRequest, signal: AbortSignal): Promise<Response>
  /**
   * GETs a result as a stream, over at most 3 redirects, each judged: from the upstream itself, or from any host that is
   * public or that the operator allows. What begins with "/" is a path below the base URL, where a body may be posted.
   * Only the upstream itself gets the headers; another host gets a Range at most, and so does the upstream once a
   * redirect has led away from it. The stream fails unless it is as long as announced.
   * An answer other than 2xx is returned as it is, with the first 64 KiB of its body. Throws `output_unavailable`, not
   * retryable, for a URL or a redirect that is refused. Whoever does not read the body to its end has to cancel it.
   */
  download(place: string, init: DownloadRequest, signal: AbortSignal): Promise<Response>
}

/** Called before a request leaves. Where one of them throws, it never does. */
export interface Departure {
  /** The connection is open, and no byte has left. */
  ready(): Promise<void>
  /** The next thing that happens is the write. Not called where the request was given up meanwhile. */
  leave(): void
}

interface DownloadRequest {
  headers?: Record<string, string>
  /** The question of an upstream whose results are inside its answers. */
  post?: string
  /** It has to end in the time of any other request: a question, not a result. */
  isQuestion?: true
}

export interface UpstreamRequest {
  method: 'GET' | 'POST' | 'DELETE' | 'PUT'
  headers?: Record<string, string>
  body?: string | Uint8Array
}

/** `totalMs` bounds `send` and `fetch`; a download may take as long as it keeps its pace. */
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

/** What an upstream has from the Outbound that it belongs to. */
interface Surroundings {
  rules: Rules
  network: Network
  deadlines: UpstreamDeadlines
  closing: AbortSignal
  /** The Outbound is not closed before this has ended. */
  track<T>(work: Promise<T>): Promise<T>
}

const MAX_ANSWER_BYTES = 4 * 2 ** 20
const MAX_REFUSAL_BYTES = 64 * 2 ** 10
const MAX_REDIRECTS = 3
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Throws a plain Error for a base URL that can't be one. */
export function openUpstream(baseUrl: string, around: Surroundings): Upstream {
  const way = new Way(readBase(baseUrl), around)
  return {
    send: async (path, init, signal, departure) => around.track(way.request('send', path, init, signal, departure)),
    fetch: async (path, init, signal) => around.track(way.request('fetch', path, init, signal)),
    download: async (place, init, signal) => around.track(way.download(place, init, signal)),
  }
}

class Way {
  readonly #base: Base
  readonly #around: Surroundings

  constructor(base: Base, around: Surroundings) {
    this.#base = base
    this.#around = around
  }

  async request(
    kind: 'send' | 'fetch',
    path: string,
    init: UpstreamRequest,
    signal: AbortSignal,
    departure?: Departure,
  ): Promise<Response> {
    const { headersMs, bodyIdleMs, totalMs } = this.#around.deadlines
    const target = this.#base.below(path)
    const question = { method: init.method, url: target.url, headers: readHeaders(init.headers), body: init.body }
    const over = new AbortController()
    const undo = after(totalMs, () => over.abort(new DOMException('the request took too long', 'TimeoutError')))
    const stop = AbortSignal.any([signal, this.#around.closing, over.signal])
    let socket: Socket | undefined
    try {
      socket = await this.#connect(target, stop)
      // Before the departure, so that nothing but a write lies between the two.
      const exchange = new Exchange(socket, question, { headersMs, idleMs: bodyIdleMs }, stop)
      await departure?.ready()
      exchange.send(() => departure?.leave())
      const head = await exchange.head()
      return kind === 'send' && refuses(head)
        ? await answerByStatus(exchange, head, MAX_ANSWER_BYTES, signal)
        : await wholeAnswer(exchange, MAX_ANSWER_BYTES)
    } catch (thrown) {
      // Before TLS is up there is no socket to send on; and what was only handed to the socket counts as written.
      const unsent = kind === 'send' && (socket === undefined || socket.bytesWritten === 0)
      if (!unsent) signal.throwIfAborted()
      throw unsent ? unreachable(thrown) : unavailable(thrown)
    } finally {
      socket?.destroy()
      // A time that still runs would keep the request, and the image in it, for minutes after its end.
      undo()
      over.abort()
    }
  }

  async download(place: string, init: DownloadRequest, signal: AbortSignal): Promise<Response> {
    const headers = readHeaders(init.headers)
    const isBelow = place.startsWith('/')
    if (init.post !== undefined && !isBelow) throw new Error('only the upstream itself may be sent anything')
    const { deadlines, closing } = this.#around
    const limit = init.isQuestion ? [AbortSignal.timeout(deadlines.totalMs)] : []
    const stop = AbortSignal.any([signal, closing, ...limit])
    const explain = (thrown: unknown) => (signal.aborted ? signal.reason : asProblem(thrown))
    let trusted = true
    let from: URL | undefined
    let next = isBelow ? this.#base.below(place).url.href : place
    let body = init.post
    try {
      for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
        const { target, own } = this.#judge(next, from)
        trusted &&= own
        const asked = trusted ? headers : withoutSecrets(headers)
        const question = { method: body === undefined ? 'GET' : 'POST', url: target.url, headers: asked, body }
        const answer = await this.#open(target, question, stop, explain)
        if (answer instanceof Response) return answer
        body = undefined
        from = target.url
        next = answer.location
      }
      throw new Problem('output_unavailable', `The result is behind more than ${MAX_REDIRECTS} redirects.`)
    } catch (thrown) {
      throw explain(thrown)
    }
  }

  /** The operator trusts this origin, whatever its address; every other has to pass as if a client had named it. */
  #judge(text: string, from: URL | undefined): { target: Target; own: boolean } {
    const { rules } = this.#around
    const { origin, host, port } = this.#base
    const own = URL.parse(text, from?.href)?.origin === origin
    const target = readTarget(text, own ? { ...rules, allow: [...rules.allow, { host, port }] } : rules, from)
    return { target, own }
  }

  async #open(
    target: Target,
    question: Question,
    stop: AbortSignal,
    explain: (thrown: unknown) => unknown,
  ): Promise<Response | { location: string }> {
    const { deadlines, track } = this.#around
    const socket = await this.#connect(target, stop)
    const exchange = new Exchange(socket, question, patienceOf(deadlines), stop)
    exchange.send()
    void track(exchange.closed)
    try {
      const head = await exchange.head()
      const location = REDIRECTS.has(head.status) ? head.headers.get('location') : null
      if (location !== null) {
        exchange.end(new Error('it was left for where it redirects to'))
        return { location }
      }
      if (!hasResult(head)) return await startOfAnswer(exchange, head, MAX_REFUSAL_BYTES, stop)
      return liveAnswer(exchange, head, deadlines.downloadCloseMs, explain)
    } catch (thrown) {
      exchange.end(thrown)
      throw thrown
    }
  }

  #connect(target: Target, stop: AbortSignal): Promise<Socket> {
    const { rules, network, deadlines } = this.#around
    return connect(target, rules, network, AbortSignal.any([stop, AbortSignal.timeout(deadlines.connectMs)]))
  }
}

/** A conflict may be with the very same request, and who waited in vain for our bytes may have all of them. */
function refuses({ status }: Head): boolean {
  return status >= 400 && status <= 499 && status !== 408 && status !== 409
}

function patienceOf(deadlines: UpstreamDeadlines): ExchangePatience {
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
  throw new Problem('output_unavailable', 'The result is served compressed, which we did not ask for.')
}

function withoutSecrets({ range }: Record<string, string>): Record<string, string> {
  return readHeaders(range === undefined ? {} : { range })
}

function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown
  if (!(thrown instanceof Refusal)) return unavailable(thrown)
  const message = `The result lies at a URL that was refused: ${thrown.message}.`
  return new Problem('output_unavailable', message, { cause: thrown })
}

function unreachable(cause: unknown): Problem {
  return new Problem('provider_unreachable', 'The provider can not be reached right now.', { cause, retryable: true })
}

function unavailable(cause: unknown): Problem {
  const message = isTimeout(cause)
    ? 'The provider did not answer in time.'
    : 'The provider broke off, or gave an answer that can not be read.'
  return new Problem('provider_unavailable', message, { cause, retryable: true })
}

import { lookup } from 'node:dns/promises'
import { connect as dial } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Client } from 'undici'
import { Problem } from './core/problem.ts'
import { type Allow, isPrivate, parseAllow } from './outbound/address.ts'
import { readBase } from './outbound/base.ts'
import { connect, type Network, onlyOnce, type Resolver } from './outbound/connect.ts'
import { content, type Download, type DownloadLimits, redirection, unusable } from './outbound/content.ts'
import { judge } from './outbound/judge.ts'
import { type Posted, type PostRequest, post } from './outbound/post.ts'
import { PrivateRefusal, Refusal, type Rules, readTarget, type Target } from './outbound/target.ts'
import {
  type Departure,
  openUpstream,
  UPSTREAM_DEADLINES,
  type Upstream,
  type UpstreamDeadlines,
  type UpstreamRequest,
} from './outbound/upstream.ts'
import { isTimeout } from './outbound/watch.ts'

export {
  type Allow,
  type Departure,
  type Download,
  type DownloadLimits,
  isPrivate,
  type Network,
  type Posted,
  type PostRequest,
  parseAllow,
  type Resolver,
  readBase,
  type Upstream,
  type UpstreamDeadlines,
  type UpstreamRequest,
}

/**
 * The only caller of the network. URLs that clients give lead wherever the client likes, so each is judged by its text
 * and by all the addresses of its host, at each redirect again, and the connection can only go to what was judged.
 * What the caller's signal ends is thrown as the reason of that signal, not as a Problem.
 */
export interface Outbound extends AsyncDisposable {
  /**
   * Judges a URL as far as that is possible before it is fetched. Throws `invalid_image_url` with that param. A host
   * that does not resolve now is no error: it may by the time of the download, which judges again.
   */
  check(url: string, param: string, signal: AbortSignal): Promise<void>
  /** The same for a URL that webhooks are to go to: throws `invalid_webhook_url`, and says how an operator permits it. */
  checkReceiver(url: string, param: string, signal: AbortSignal): Promise<void>
  /** POSTs to such a URL, once, and follows no redirect. What keeps it from an answer is told, not thrown. */
  post(url: string, request: PostRequest, signal: AbortSignal): Promise<Posted>
  /**
   * GETs a URL into memory, over at most 3 redirects. Throws `image_unavailable`: retryable after a failed transport,
   * a timeout, 408, 429 and 5xx; not after another answer, too many bytes or a refused URL, address or redirect.
   */
  download(url: string, limits: DownloadLimits, signal: AbortSignal): Promise<Download>
  /**
   * The way to one provider, at the origin (and path prefix) that the operator configured: it may be a private address,
   * and nothing sent through it can go anywhere else. Throws a plain Error for a base URL that can't be one.
   */
  upstream(baseUrl: string): Upstream
}

export interface OutboundOptions extends Partial<Network> {
  /** The operator's exceptions, each one that `parseAllow` can read. */
  allow: string[]
  ownAddresses?: () => string[]
  deadlines?: Partial<Deadlines>
  upstreamDeadlines?: Partial<UpstreamDeadlines>
}

/** Each phase has its own, so that a hang is told apart; the total bounds a body that drips, and all redirects together. */
export interface Deadlines {
  checkMs: number
  connectMs: number
  headersMs: number
  bodyIdleMs: number
  /** The fewest bytes of a body that have to come in each such time: a slot is not for hosts that drip. */
  bodyPaceMs: number
  bodyPaceBytes: number
  totalMs: number
  /** All of a POST, but for the body of its answer. */
  postMs: number
}

const DEADLINES: Deadlines = {
  checkMs: 2_000,
  connectMs: 5_000,
  headersMs: 10_000,
  bodyIdleMs: 10_000,
  bodyPaceMs: 10_000,
  bodyPaceBytes: 10 * 1024,
  totalMs: 60_000,
  postMs: 15_000,
}
const MAX_REDIRECTS = 3
const MAX_HEADER_BYTES = 16_384
/** For who runs a receiver inside. */
const HOW_TO_ALLOW =
  'An operator lets webhooks go there by naming it under outbound: allow in filmgate.yaml, as host, host:port or range.'
const REDIRECTS = new Set([301, 302, 303, 307, 308])

export function openOutbound(options: OutboundOptions): Outbound {
  const allow = options.allow.map((entry) => {
    const parsed = parseAllow(entry)
    if (parsed === undefined) throw new Error(`not an address, a range or a host name: ${JSON.stringify(entry)}`)
    return parsed
  })
  const rules = { allow, ownAddresses: options.ownAddresses ?? interfaceAddresses }
  const network = { resolve: options.resolve ?? systemResolver, dial: options.dial ?? dial }
  const deadlines = { ...DEADLINES, ...options.deadlines }
  return new GuardedOutbound(rules, network, deadlines, { ...UPSTREAM_DEADLINES, ...options.upstreamDeadlines })
}

class GuardedOutbound implements Outbound {
  readonly #rules: Rules
  readonly #network: Network
  readonly #deadlines: Deadlines
  readonly #upstreamDeadlines: UpstreamDeadlines
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()

  constructor(rules: Rules, network: Network, deadlines: Deadlines, upstreamDeadlines: UpstreamDeadlines) {
    this.#rules = rules
    this.#network = network
    this.#deadlines = deadlines
    this.#upstreamDeadlines = upstreamDeadlines
  }

  async check(url: string, param: string, signal: AbortSignal): Promise<void> {
    const refusal = await this.#judge(url, signal)
    if (!refusal) return
    const message = `The image URL was refused: ${refusal.message}. ${refusal.fix}`
    throw new Problem('invalid_image_url', message, { param, cause: refusal })
  }

  async checkReceiver(url: string, param: string, signal: AbortSignal): Promise<void> {
    const refusal = await this.#judge(url, signal)
    if (!refusal) return
    const way = refusal instanceof PrivateRefusal ? ` ${HOW_TO_ALLOW}` : ''
    const message = `The webhook URL was refused: ${refusal.message}. ${refusal.fix}${way}`
    throw new Problem('invalid_webhook_url', message, { param, cause: refusal })
  }

  async post(url: string, request: PostRequest, signal: AbortSignal): Promise<Posted> {
    const { connectMs, postMs: totalMs } = this.#deadlines
    const way = { rules: this.#rules, network: this.#network, connectMs, totalMs, closing: this.#closing.signal }
    return this.#track(post(url, request, way, signal))
  }

  async download(url: string, limits: DownloadLimits, signal: AbortSignal): Promise<Download> {
    return this.#track(this.#follow(url, limits, signal))
  }

  upstream(baseUrl: string): Upstream {
    return openUpstream(baseUrl, {
      rules: this.#rules,
      network: this.#network,
      deadlines: this.#upstreamDeadlines,
      closing: this.#closing.signal,
      track: (work) => this.#track(work),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('outbound is closing'))
    await Promise.allSettled(this.#running)
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  #judge(url: string, signal: AbortSignal): Promise<Refusal | undefined> {
    const by = { rules: this.#rules, resolve: this.#network.resolve, withinMs: this.#deadlines.checkMs }
    return judge(url, by, signal)
  }

  async #follow(url: string, limits: DownloadLimits, signal: AbortSignal): Promise<Download> {
    const stop = AbortSignal.any([signal, this.#closing.signal, AbortSignal.timeout(this.#deadlines.totalMs)])
    let redirects = 0
    try {
      let target = readTarget(url, this.#rules)
      for (;;) {
        const answer = await this.#get(target, limits, stop)
        if ('bytes' in answer) return answer
        redirects += 1
        if (redirects > MAX_REDIRECTS) throw unusable(`redirects more than ${MAX_REDIRECTS} times`)
        target = readTarget(answer.location, this.#rules, target.url)
      }
    } catch (thrown) {
      signal.throwIfAborted()
      throw asProblem(thrown, redirects > 0)
    }
  }

  /** One request on a connection of its own, which is gone when this returns. */
  async #get(target: Target, limits: DownloadLimits, signal: AbortSignal): Promise<Download | { location: string }> {
    const opening = AbortSignal.any([signal, AbortSignal.timeout(this.#deadlines.connectMs)])
    const socket = await connect(target, this.#rules, this.#network, opening)
    const client = new Client(target.url.origin, {
      connect: onlyOnce(socket),
      headersTimeout: this.#deadlines.headersMs,
      bodyTimeout: this.#deadlines.bodyIdleMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      useMilo: false, // else the environment would choose the parser
    })
    try {
      const response = await client.request({
        method: 'GET',
        path: target.url.pathname + target.url.search,
        headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'filmgate' },
        reset: true,
        signal,
      })
      if (REDIRECTS.has(response.statusCode)) return redirection(response)
      const { bodyIdleMs: idleMs, bodyPaceMs: overMs, bodyPaceBytes: bytes } = this.#deadlines
      return await content(response, limits, { idleMs, pace: { bytes, overMs } })
    } finally {
      await client.destroy()
      socket.destroy()
    }
  }
}

/** The message tells the client nothing that was learnt on the way: neither an address nor a word of an answer. */
function asProblem(thrown: unknown, redirected: boolean): Problem {
  if (thrown instanceof Problem) return thrown
  if (thrown instanceof Refusal) {
    const what = redirected ? 'The image URL redirects to a URL that was refused' : 'The image URL was refused'
    return new Problem('image_unavailable', `${what}: ${thrown.message}. ${thrown.fix}`, { cause: thrown })
  }
  // This machine can't open another connection, which is no fault of the image.
  const own = Problem.from(thrown)
  if (own.code === 'storage_unavailable') return own
  const message = isTimeout(thrown)
    ? 'The server of the image URL did not answer in time. Check the URL, or use a faster server.'
    : 'The image URL could not be fetched: the connection failed. Check the URL, its certificate, and that its server is up.'
  return new Problem('image_unavailable', message, { retryable: true, cause: thrown })
}

async function systemResolver(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? [])
}

import { lookup } from 'node:dns/promises'
import { connect as dial } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Problem } from './core/problem.ts'
import { type Allow, isPrivate, parseAllow } from './outbound/address.ts'
import { readBase } from './outbound/base.ts'
import type { Network } from './outbound/connect.ts'
import { type Download, type DownloadLimits, downloadImage, type ImageDeadlines } from './outbound/image.ts'
import { judge } from './outbound/judge.ts'
import { type Lookups, openLookups } from './outbound/lookups.ts'
import { openNameServers } from './outbound/name-servers.ts'
import { type Posted, type PostRequest, post } from './outbound/post.ts'
import { PrivateRefusal, type Refusal, type Rules } from './outbound/target.ts'
import {
  type Departure,
  openUpstream,
  UPSTREAM_DEADLINES,
  type Upstream,
  type UpstreamDeadlines,
  type UpstreamRequest,
} from './outbound/upstream.ts'

export {
  type Allow,
  type Departure,
  type Download,
  type DownloadLimits,
  isPrivate,
  type Posted,
  type PostRequest,
  parseAllow,
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
  /** The network for URLs that clients of this token name. Tokens have equal shares of what they use in common. */
  of(owner: string): ClientOutbound
  /**
   * The way to one provider, at the origin (and path prefix) that the operator configured: it may be a private address,
   * and nothing sent through it can go anywhere else. Throws a plain Error for a base URL that can't be one.
   */
  upstream(baseUrl: string): Upstream
}

export interface ClientOutbound {
  /**
   * Judges a URL as far as that is possible before it is fetched. Throws `invalid_image_url` with that param, also for
   * a host name that does not exist. A name that can't be resolved now is not an error: the download judges again.
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
}

export interface OutboundOptions {
  /** The operator's exceptions, each one that `parseAllow` can read. */
  allow: string[]
  /** All addresses of a host name, for every lookup; throws if there are none. */
  resolve?: (host: string) => Promise<string[]>
  /** Who is asked for the names in URLs of clients, as `address:port`; those of the system if it is left out. */
  nameServers?: string[]
  dial?: Network['dial']
  ownAddresses?: () => string[]
  deadlines?: Partial<Deadlines>
  upstreamDeadlines?: Partial<UpstreamDeadlines>
}

/** Each phase has its own, so that a hang is told apart; the total bounds a body that drips, and all redirects together. */
export interface Deadlines extends ImageDeadlines {
  checkMs: number
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
/** For who runs a receiver inside. */
const HOW_TO_ALLOW =
  'An operator lets webhooks go there by naming it under outbound: allow in filmgate.yaml, as host, host:port or range.'
export function openOutbound(options: OutboundOptions): Outbound {
  const allow = options.allow.map((entry) => {
    const parsed = parseAllow(entry)
    if (parsed === undefined) throw new Error(`not an address, a range or a host name: ${JSON.stringify(entry)}`)
    return parsed
  })
  const { ownAddresses = interfaceAddresses, resolve, nameServers: servers } = options
  const lookups = openLookups({
    system: resolve ?? systemResolver,
    nameServers: resolve ?? openNameServers({ servers, ownAddresses }),
  })
  return new GuardedOutbound({
    rules: { allow, ownAddresses },
    lookups,
    dial: options.dial ?? dial,
    deadlines: { ...DEADLINES, ...options.deadlines },
    upstreamDeadlines: { ...UPSTREAM_DEADLINES, ...options.upstreamDeadlines },
  })
}

interface Parts {
  rules: Rules
  lookups: Lookups
  dial: Network['dial']
  deadlines: Deadlines
  upstreamDeadlines: UpstreamDeadlines
}

class GuardedOutbound implements Outbound {
  readonly #parts: Parts
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  of(owner: string): ClientOutbound {
    const { rules, lookups, dial, deadlines } = this.#parts
    const network = { lookup: lookups.ofToken(owner), dial }
    const way = { rules, network, deadlines, closing: this.#closing.signal }
    const judged = { rules, lookup: network.lookup, withinMs: deadlines.checkMs }
    return {
      async check(url, param, signal) {
        const refusal = await judge(url, judged, signal)
        if (refusal) throw refusedImage(refusal, param)
      },
      async checkReceiver(url, param, signal) {
        const refusal = await judge(url, judged, signal)
        if (refusal) throw refusedReceiver(refusal, param)
      },
      post: async (url, request, signal) => this.#track(post(url, request, way, signal)),
      download: async (url, limits, signal) => this.#track(downloadImage(url, limits, way, signal)),
    }
  }

  upstream(baseUrl: string): Upstream {
    const { rules, lookups, dial, upstreamDeadlines: deadlines } = this.#parts
    return openUpstream(baseUrl, {
      rules,
      network: { lookup: lookups.ofProvider(readBase(baseUrl).host), dial },
      deadlines,
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
}

function refusedImage(refusal: Refusal, param: string): Problem {
  const message = `The image URL was refused: ${refusal.message}. ${refusal.fix}`
  return new Problem('invalid_image_url', message, { param, cause: refusal })
}

function refusedReceiver(refusal: Refusal, param: string): Problem {
  const way = refusal instanceof PrivateRefusal ? ` ${HOW_TO_ALLOW}` : ''
  const message = `The webhook URL was refused: ${refusal.message}. ${refusal.fix}${way}`
  return new Problem('invalid_webhook_url', message, { param, cause: refusal })
}

async function systemResolver(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? [])
}

import { lookup } from 'node:dns/promises'
import { connect as dial } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Problem } from './core/problem.ts'
import { isPrivate, parseAllow } from './outbound/address.ts'
import { readBase } from './outbound/base.ts'
import { addressesOf, type Lookup, type Network } from './outbound/connect.ts'
import { type Download, type DownloadLimits, downloadImage, type ImageDeadlines } from './outbound/image.ts'
import { type Lookups, openLookups, openNameServers } from './outbound/lookups.ts'
import { type Posted, type PostRequest, post } from './outbound/post.ts'
import {
  checkAddresses,
  endOf,
  isNotFound,
  PrivateUrlRefusal,
  type Rules,
  readTarget,
  type Target,
  trusting,
  UrlRefusal,
} from './outbound/target.ts'
import {
  openUpstream,
  UPSTREAM_DEADLINES,
  type Upstream,
  type UpstreamDeadlines,
  type UpstreamRequest,
  type UpstreamSight,
} from './outbound/upstream.ts'

export {
  isPrivate,
  type Posted,
  parseAllow,
  readBase,
  type Upstream,
  type UpstreamDeadlines,
  type UpstreamRequest,
  type UpstreamSight,
}

/**
 * The only caller of the network. A client's URL may lead anywhere, so its text and all addresses of its host are
 * checked, again at each redirect, and the connection can only go to a checked address.
 * If the caller's signal aborts, its reason is thrown instead of a Problem.
 */
export interface Outbound extends AsyncDisposable {
  /** The network for URLs from clients of this token. Tokens have equal shares of the lookups. */
  of(owner: string): ClientOutbound
  /**
   * HTTP client of one provider, at the origin (and path prefix) that the operator configured: it may be a private
   * address, and no request can go anywhere else. Throws a plain Error for an invalid base URL.
   */
  upstream(baseUrl: string): Upstream
  /**
   * POSTs once to a URL of the operator, which may be at a private address, and follows no redirect. A failure is returned,
   * not thrown.
   */
  postTrusted(url: string, request: PostRequest, signal: AbortSignal): Promise<Posted>
}

export interface ClientOutbound {
  /**
   * Checks an image URL before it is fetched. Throws `invalid_image_url` with that param, also for a host name that does
   * not exist. A name that cannot be resolved now is not an error: the download checks again.
   */
  check(url: string, param: string, signal: AbortSignal): Promise<void>
  /** The same for a webhook URL: throws `invalid_webhook_url`, and the message says how an operator allows it. */
  checkReceiver(url: string, param: string, signal: AbortSignal): Promise<void>
  /** POSTs to a webhook URL once and follows no redirect. A failure is returned, not thrown. */
  post(url: string, request: PostRequest, signal: AbortSignal): Promise<Posted>
  /**
   * GETs a URL into memory, over at most 3 redirects. Throws `image_unavailable`: retryable after a failed transport,
   * a timeout, 408, 429 and 5xx; not after another status, too many bytes or a refused URL, address or redirect.
   */
  download(url: string, limits: DownloadLimits, signal: AbortSignal): Promise<Download>
}

export interface OutboundOptions {
  /** The operator's exceptions, in the syntax of `parseAllow`. */
  allow: string[]
  /** Replaces every lookup: returns all addresses of a host name, or throws if it has no address. */
  resolve?: (host: string) => Promise<string[]>
  /** Name servers for the hosts in clients' URLs, as `address:port`. Default: those of the system. */
  nameServers?: string[]
  dial?: Network['dial']
  ownAddresses?: () => string[]
  deadlines?: Partial<Deadlines>
  upstreamDeadlines?: Partial<UpstreamDeadlines>
  /** Receives the responses of providers, and refused certificates. */
  see?: (sight: UpstreamSight) => void
}

/** Each phase has its own deadline. The total limits a slow body, and all redirects together. */
export interface Deadlines extends ImageDeadlines {
  checkMs: number
  /** A whole POST, except for the body of the response. */
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
/** Connections that wait for another poll, to all providers together: each is an open file. */
const mostIdle = 64
const HOW_TO_ALLOW =
  'Or ask your operator to add it to outbound.allow in filmgate.yaml, as a host, a host:port or a range.'

export function openOutbound(options: OutboundOptions): Outbound {
  const allow = options.allow.map((entry) => {
    const parsed = parseAllow(entry)
    if (parsed === undefined)
      throw new Error(`outbound.allow: ${JSON.stringify(entry)} is not an address, a range or a host name`)
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
    see: options.see,
  })
}

interface Parts {
  rules: Rules
  lookups: Lookups
  dial: Network['dial']
  deadlines: Deadlines
  upstreamDeadlines: UpstreamDeadlines
  see: OutboundOptions['see']
}

class GuardedOutbound implements Outbound {
  readonly #parts: Parts
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  readonly #idleRoom = { left: mostIdle }

  constructor(parts: Parts) {
    this.#parts = parts
  }

  of(owner: string): ClientOutbound {
    const { rules, lookups, dial, deadlines } = this.#parts
    const network = { lookup: lookups.ofToken(owner), dial }
    const context = { rules, network, deadlines, closing: this.#closing.signal }
    const options = { rules, lookup: network.lookup, lookupMs: deadlines.checkMs }
    return {
      async check(url, param, signal) {
        const refusal = await findRefusal(url, options, signal)
        if (refusal) throw refusedImage(refusal, param)
      },
      async checkReceiver(url, param, signal) {
        const refusal = await findRefusal(url, options, signal)
        if (refusal) throw refusedReceiver(refusal, param)
      },
      post: async (url, request, signal) => this.#track(post(url, request, context, signal)),
      download: async (url, limits, signal) => this.#track(downloadImage(url, limits, context, signal)),
    }
  }

  async postTrusted(url: string, request: PostRequest, signal: AbortSignal): Promise<Posted> {
    const { rules, lookups, dial, deadlines } = this.#parts
    const parsed = URL.parse(url)
    const network = { lookup: lookups.ofProvider(parsed?.hostname ?? ''), dial }
    const context = {
      rules: parsed ? trusting(endOf(parsed), rules) : rules,
      network,
      deadlines,
      closing: this.#closing.signal,
    }
    return this.#track(post(url, request, context, signal))
  }

  upstream(baseUrl: string): Upstream {
    const { rules, lookups, dial, upstreamDeadlines: deadlines, see } = this.#parts
    return openUpstream(baseUrl, {
      rules,
      network: { lookup: lookups.ofProvider(readBase(baseUrl).host), dial },
      deadlines,
      closing: this.#closing.signal,
      see,
      idleRoom: this.#idleRoom,
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

interface CheckOptions {
  rules: Rules
  lookup: Lookup
  lookupMs: number
}

/** Why a URL is refused, by its text and its current addresses. Undefined if it is accepted. */
async function findRefusal(url: string, options: CheckOptions, signal: AbortSignal): Promise<UrlRefusal | undefined> {
  try {
    const target = readTarget(url, options.rules)
    checkAddresses(target, await currentAddresses(target, options, signal), options.rules)
    return undefined
  } catch (thrown) {
    if (thrown instanceof UrlRefusal) return thrown
    throw thrown
  }
}

/** Empty if the name cannot be resolved now: that may change until the request, which checks again. */
async function currentAddresses(
  target: Target,
  { lookup, lookupMs }: CheckOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(lookupMs)])
  try {
    return await addressesOf(target, lookup, stop)
  } catch (thrown) {
    signal.throwIfAborted()
    // A host that the operator allows may be down, and have no name meanwhile.
    if (!target.trusted && isNotFound(thrown)) throw hostNotFound()
    return []
  }
}

function hostNotFound(): UrlRefusal {
  return new UrlRefusal(
    'its host name does not exist in the DNS',
    'Check its spelling. A name from a hosts file or a search domain works only if the operator adds it to outbound.allow.',
  )
}

function refusedImage(refusal: UrlRefusal, param: string): Problem {
  const message = `The image URL was refused: ${refusal.message}. ${refusal.fix}`
  return new Problem('invalid_image_url', message, { param, cause: refusal })
}

function refusedReceiver(refusal: UrlRefusal, param: string): Problem {
  const howToAllow = refusal instanceof PrivateUrlRefusal ? ` ${HOW_TO_ALLOW}` : ''
  const message = `The webhook URL was refused: ${refusal.message}. ${refusal.fix}${howToAllow}`
  return new Problem('invalid_webhook_url', message, { param, cause: refusal })
}

async function systemResolver(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? [])
}

import { Problem } from '../core/problem.ts'
import { collect } from './answer.ts'
import { connect, type Network } from './connect.ts'
import { Exchange, type Head, InterimFlood } from './exchange.ts'
import { isLookupFailure, isNotFound, Refusal, type Rules, readTarget, type Target } from './target.ts'
import { isTimeout } from './watch.ts'

export interface DownloadLimits {
  maxBytes: number
  /** Ends it before its own total deadline. */
  withinMs?: number
}

export interface Download {
  bytes: Uint8Array
  /** What the server says it is: a claim, to be checked against the bytes. */
  contentType: string | null
}

export interface ImageDeadlines {
  connectMs: number
  headersMs: number
  bodyIdleMs: number
  /** The fewest bytes of a body that have to come in each such time: a slot is not for hosts that drip. */
  bodyPaceMs: number
  bodyPaceBytes: number
  totalMs: number
}

interface DownloadWay {
  rules: Rules
  network: Network
  deadlines: ImageDeadlines
  closing: AbortSignal
}

const MAX_REDIRECTS = 3
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** GETs an image that a client named, over redirects. Throws `image_unavailable`, or the reason of the signal. */
export async function downloadImage(
  url: string,
  limits: DownloadLimits,
  way: DownloadWay,
  signal: AbortSignal,
): Promise<Download> {
  const { totalMs } = way.deadlines
  const over = AbortSignal.timeout(Math.min(totalMs, limits.withinMs ?? totalMs))
  const stop = AbortSignal.any([signal, way.closing, over])
  let redirects = 0
  try {
    let target = readTarget(url, way.rules)
    for (;;) {
      const answer = await get(target, limits, way, stop)
      if ('bytes' in answer) return answer
      redirects += 1
      if (redirects > MAX_REDIRECTS) throw unusable(`redirects more than ${MAX_REDIRECTS} times`)
      target = readTarget(answer.location, way.rules, target.url)
    }
  } catch (thrown) {
    signal.throwIfAborted()
    throw asProblem(thrown, redirects > 0)
  }
}

/** One request on a connection of its own, which is gone when this returns. */
async function get(
  target: Target,
  limits: DownloadLimits,
  { rules, network, deadlines }: DownloadWay,
  signal: AbortSignal,
): Promise<Download | { location: string }> {
  const opening = AbortSignal.any([signal, AbortSignal.timeout(deadlines.connectMs)])
  const socket = await connect(target, rules, network, opening)
  const { headersMs, bodyIdleMs: idleMs, bodyPaceMs: overMs, bodyPaceBytes: bytes } = deadlines
  const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'filmgate', connection: 'close' }
  const question = { method: 'GET', url: target.url, headers }
  const exchange = new Exchange(socket, question, { headersMs, idleMs, pace: { bytes, overMs } }, signal)
  try {
    exchange.send()
    const head = await exchange.head()
    return REDIRECTS.has(head.status) ? redirection(head) : await content(exchange, head, limits)
  } finally {
    exchange.end(new Error('the exchange is over'))
    await exchange.closed
  }
}

function redirection({ headers }: Head): { location: string } {
  const location = headers.get('location')
  if (!location) throw unusable('redirects to nowhere')
  return { location }
}

async function content(exchange: Exchange, { status, headers }: Head, limits: DownloadLimits): Promise<Download> {
  if (status !== 200) {
    const retryable = status >= 500 || status === 408 || status === 429
    throw unusable(`was answered with status ${status} instead of 200`, retryable)
  }
  const encoding = (headers.get('content-encoding') ?? '').trim()
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw unusable('is served compressed (content-encoding), which we did not ask for')
  }
  if (Number(headers.get('content-length') ?? 0) > limits.maxBytes) throw tooLarge(limits)
  // A body that is shorter than its Content-Length fails; a longer one ends where the length says.
  const { bytes, whole } = await collect(exchange.body(), limits.maxBytes)
  if (!whole) throw tooLarge(limits)
  return { bytes, contentType: headers.get('content-type') }
}

function tooLarge(limits: DownloadLimits): Problem {
  const message = `The image is larger than ${limits.maxBytes} bytes. Use a smaller one.`
  return new Problem('image_unavailable', message)
}

function unusable(what: string, retryable = false): Problem {
  const message = `The image URL ${what}. Use a URL that answers everybody with the image itself.`
  return new Problem('image_unavailable', message, { retryable })
}

/** The message tells the client nothing that was learnt on the way: neither an address nor a word of an answer. */
function asProblem(thrown: unknown, redirected: boolean): Problem {
  if (thrown instanceof Problem) return thrown
  if (thrown instanceof InterimFlood) return unusable('is answered with too many interim responses (1xx)')
  if (thrown instanceof Refusal) {
    const what = redirected ? 'The image URL redirects to a URL that was refused' : 'The image URL was refused'
    return new Problem('image_unavailable', `${what}: ${thrown.message}. ${thrown.fix}`, { cause: thrown })
  }
  // This machine can't open another connection, which is no fault of the image.
  const own = Problem.from(thrown)
  if (own.code === 'storage_unavailable') return own
  return new Problem('image_unavailable', messageFor(thrown), { retryable: true, cause: thrown })
}

function messageFor(thrown: unknown): string {
  if (isNotFound(thrown)) return 'The host name of the image URL does not exist in the DNS. Check the URL.'
  if (isLookupFailure(thrown)) return 'The host name of the image URL could not be resolved. Check the URL.'
  return isTimeout(thrown)
    ? 'The server of the image URL did not answer in time. Check the URL, or use a faster server.'
    : 'The image URL could not be fetched: the connection failed. Check the URL, its certificate, and that its server is up.'
}

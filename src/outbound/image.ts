import { Problem } from '../core/problem.ts'
import { connect, type Network } from './connect.ts'
import { Exchange, type Head, InterimFlood } from './exchange.ts'
import { collect } from './response.ts'
import { isLookupFailure, isNotFound, type Rules, readTarget, type Target, UrlRefusal } from './target.ts'
import { isTimeout } from './watch.ts'

export interface DownloadLimits {
  maxBytes: number
  /** A deadline that is shorter than the usual total. */
  withinMs?: number
}

export interface Download {
  bytes: Uint8Array
  /** What the server claims. The caller checks it against the bytes. */
  contentType: string | null
}

export interface ImageDeadlines {
  connectMs: number
  headersMs: number
  bodyIdleMs: number
  /** At least `bodyPaceBytes` of a body have to arrive within each `bodyPaceMs`: a slow host must not hold a slot. */
  bodyPaceMs: number
  bodyPaceBytes: number
  totalMs: number
}

interface DownloadContext {
  rules: Rules
  network: Network
  deadlines: ImageDeadlines
  closing: AbortSignal
}

const MAX_REDIRECTS = 3
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** GETs an image from a client's URL and follows redirects. Throws `image_unavailable`, or the reason of the signal. */
export async function downloadImage(
  url: string,
  limits: DownloadLimits,
  context: DownloadContext,
  signal: AbortSignal,
): Promise<Download> {
  const { totalMs } = context.deadlines
  const over = AbortSignal.timeout(Math.min(totalMs, limits.withinMs ?? totalMs))
  const stop = AbortSignal.any([signal, context.closing, over])
  let redirects = 0
  try {
    let target = readTarget(url, context.rules)
    for (;;) {
      const response = await get(target, limits, context, stop)
      if ('bytes' in response) return response
      redirects += 1
      if (redirects > MAX_REDIRECTS) throw unusable(`redirects more than ${MAX_REDIRECTS} times`)
      target = readTarget(response.location, context.rules, target.url)
    }
  } catch (thrown) {
    signal.throwIfAborted()
    throw asProblem(thrown, redirects > 0)
  }
}

/** One request on a connection of its own, which is closed when this returns. */
async function get(
  target: Target,
  limits: DownloadLimits,
  context: DownloadContext,
  signal: AbortSignal,
): Promise<Download | { location: string }> {
  const socket = await connect(target, context, signal)
  const { headersMs, bodyIdleMs: idleMs, bodyPaceMs: overMs, bodyPaceBytes: bytes } = context.deadlines
  const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'filmgate', connection: 'close' }
  const request = { method: 'GET', url: target.url, headers }
  const exchange = new Exchange(socket, request, { headersMs, idleMs, pace: { bytes, overMs } }, signal)
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
  if (!location) throw unusable('redirects without a Location header')
  return { location }
}

async function content(exchange: Exchange, { status, headers }: Head, limits: DownloadLimits): Promise<Download> {
  if (status !== 200) {
    const retryable = status >= 500 || status === 408 || status === 429
    throw unusable(`returned status ${status} instead of 200`, retryable)
  }
  const encoding = (headers.get('content-encoding') ?? '').trim()
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw unusable('returned a compressed body (content-encoding), which was not requested')
  }
  if (Number(headers.get('content-length') ?? 0) > limits.maxBytes) throw tooLarge(limits)
  // A body that is shorter than its Content-Length fails. A longer one is cut there.
  const { bytes, whole } = await collect(exchange.body(), limits.maxBytes)
  if (!whole) throw tooLarge(limits)
  return { bytes, contentType: headers.get('content-type') }
}

function tooLarge(limits: DownloadLimits): Problem {
  const message = `The image is larger than ${limits.maxBytes} bytes. Use a smaller image.`
  return new Problem('image_unavailable', message)
}

function unusable(fault: string, retryable = false): Problem {
  const message = `The image URL ${fault}. Use a URL that returns the image itself to anyone.`
  return new Problem('image_unavailable', message, { retryable })
}

/** The message shows the client neither an address nor any text of a response. */
function asProblem(thrown: unknown, isRedirected: boolean): Problem {
  if (thrown instanceof Problem) return thrown
  if (thrown instanceof InterimFlood) return unusable('returned too many interim responses (1xx)')
  if (thrown instanceof UrlRefusal) {
    const subject = isRedirected ? 'The image URL redirects to a URL that was refused' : 'The image URL was refused'
    return new Problem('image_unavailable', `${subject}: ${thrown.message}. ${thrown.fix}`, { cause: thrown })
  }
  // This machine cannot open another connection: not the fault of the image.
  const own = Problem.from(thrown)
  if (own.code === 'storage_unavailable') return own
  return new Problem('image_unavailable', messageFor(thrown), { retryable: true, cause: thrown })
}

function messageFor(thrown: unknown): string {
  if (isNotFound(thrown)) return 'The host name of the image URL does not exist in the DNS. Check the URL.'
  if (isLookupFailure(thrown)) return 'The host name of the image URL could not be resolved. Check the URL.'
  return isTimeout(thrown)
    ? 'The server of the image URL did not respond in time. Check the URL, or use a faster server.'
    : 'The image URL could not be fetched: the connection failed. Check the URL, its certificate, and that its server is up.'
}

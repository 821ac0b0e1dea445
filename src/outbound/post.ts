import { codeOf } from '../core/problem.ts'
import { certificateFaultOf, connect, type Network } from './connect.ts'
import { Exchange } from './exchange.ts'
import { collect } from './response.ts'
import { isLookupFailure, isNotFound, type Rules, readTarget, UrlRefusal } from './target.ts'
import { after, isTimeout } from './watch.ts'

export interface PostRequest {
  headers: Readonly<Record<string, string>>
  body: string
}

/** The status, or an error code if there is no response. Neither shows a client more than it could see itself. */
export type Posted = { status: number; retryAfter: string | null } | { error: PostError }

type PostError =
  | 'url_refused'
  | 'name_not_found'
  | 'name_lookup_failed'
  | 'connection_failed'
  | 'certificate_refused'
  | 'timed_out'
  | 'answer_unreadable'

interface PostContext {
  rules: Rules
  network: Network
  deadlines: { connectMs: number; postMs: number }
  closing: AbortSignal
}

/** Only the status counts. This much of the body is read, for this long, so that the sender can finish normally. */
const BODY_BYTES = 4_096
const BODY_MS = 1_000

/** One request on a connection of its own. Throws only if it was aborted. */
export async function post(
  url: string,
  request: PostRequest,
  context: PostContext,
  signal: AbortSignal,
): Promise<Posted> {
  const aborted = AbortSignal.any([signal, context.closing])
  const stop = AbortSignal.any([aborted, AbortSignal.timeout(context.deadlines.postMs)])
  try {
    return await send(url, request, context, stop)
  } catch (thrown) {
    aborted.throwIfAborted()
    return { error: errorCodeOf(thrown) }
  }
}

async function send(
  url: string,
  { headers, body }: PostRequest,
  context: PostContext,
  signal: AbortSignal,
): Promise<Posted> {
  const { rules, deadlines } = context
  const target = readTarget(url, rules)
  const socket = await connect(target, context, signal)
  const usual = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'filmgate', connection: 'close' }
  const request = { method: 'POST', url: target.url, headers: { ...usual, ...headers }, body }
  const exchange = new Exchange(socket, request, { headersMs: deadlines.postMs, idleMs: BODY_MS }, signal)
  try {
    exchange.send()
    const head = await exchange.head()
    await drain(exchange.body())
    return { status: head.status, retryAfter: head.headers.get('retry-after') }
  } finally {
    exchange.end(new Error('the exchange is over'))
  }
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const cancelTimer = after(BODY_MS, late.resolve)
  const read = collect(body, BODY_BYTES).then(
    () => {},
    () => {},
  )
  await Promise.race([read, late.promise])
  cancelTimer()
}

function errorCodeOf(thrown: unknown): PostError {
  if (thrown instanceof UrlRefusal) return 'url_refused'
  if (isTimeout(thrown)) return 'timed_out'
  if (isNotFound(thrown)) return 'name_not_found'
  if (isLookupFailure(thrown)) return 'name_lookup_failed'
  if (certificateFaultOf(thrown) !== undefined) return 'certificate_refused'
  return codeOf(thrown)?.startsWith('HPE_') ? 'answer_unreadable' : 'connection_failed'
}

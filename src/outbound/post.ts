import { collect } from './answer.ts'
import { connect, type Network } from './connect.ts'
import { Exchange } from './exchange.ts'
import { isLookupFailure, isNotFound, Refusal, type Rules, readTarget } from './target.ts'
import { after, isTimeout } from './watch.ts'

export interface PostRequest {
  headers: Readonly<Record<string, string>>
  body: string
}

/** What the other side said, or a word for why it said nothing. Neither shows a client what it could not see itself. */
export type Posted = { status: number; retryAfter: string | null } | { error: PostError }

type PostError =
  | 'url_refused'
  | 'name_not_found'
  | 'name_lookup_failed'
  | 'connection_failed'
  | 'certificate_refused'
  | 'timed_out'
  | 'answer_unreadable'

interface PostWay {
  rules: Rules
  network: Network
  deadlines: { connectMs: number; postMs: number }
  closing: AbortSignal
}

/** An answer is known by its status. So much of its body is taken, for so long, that its sender can finish in peace. */
const BODY_BYTES = 4_096
const BODY_MS = 1_000

/** One request on a connection of its own. Throws only where it was told to stop. */
export async function post(url: string, request: PostRequest, way: PostWay, signal: AbortSignal): Promise<Posted> {
  const given = AbortSignal.any([signal, way.closing])
  const stop = AbortSignal.any([given, AbortSignal.timeout(way.deadlines.postMs)])
  try {
    return await send(url, request, way, stop)
  } catch (thrown) {
    given.throwIfAborted()
    return { error: wordFor(thrown) }
  }
}

async function send(url: string, request: PostRequest, way: PostWay, signal: AbortSignal): Promise<Posted> {
  const target = readTarget(url, way.rules)
  const opening = AbortSignal.any([signal, AbortSignal.timeout(way.deadlines.connectMs)])
  const socket = await connect(target, way.rules, way.network, opening)
  const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'filmgate', connection: 'close' }
  const question = { method: 'POST', url: target.url, headers: { ...headers, ...request.headers }, body: request.body }
  const exchange = new Exchange(socket, question, { headersMs: way.deadlines.postMs, idleMs: BODY_MS }, signal)
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
  const undo = after(BODY_MS, late.resolve)
  const read = collect(body, BODY_BYTES).then(
    () => {},
    () => {},
  )
  await Promise.race([read, late.promise])
  undo()
}

function wordFor(thrown: unknown): PostError {
  if (thrown instanceof Refusal) return 'url_refused'
  if (isTimeout(thrown)) return 'timed_out'
  if (isNotFound(thrown)) return 'name_not_found'
  if (isLookupFailure(thrown)) return 'name_lookup_failed'
  const { code = '' } = thrown as { code?: string }
  if (/CERT|SSL|TLS|SELF_SIGNED|ISSUER/.test(code)) return 'certificate_refused'
  return code.startsWith('HPE_') ? 'answer_unreadable' : 'connection_failed'
}

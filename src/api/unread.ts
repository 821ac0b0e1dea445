import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConnectionLimit } from './crowding.ts'
import { openShare } from './share.ts'

/** Each is a connection. A body that comes in one piece has ended before the next request is read. */
const mostUnread = 2_000
/** Of the connections that the system allows: the others stay for requests without a body. */
const shareOfConnections = 0.5

/**
 * Bodies that have begun and not ended. A client that sends a byte now and then keeps its connection for 5 minutes, so
 * that each token has a share of them. Throws `rate_limit_exceeded` and `overloaded` before the body is read.
 */
export function limitUnread(connections?: Pick<ConnectionLimit, 'most'>) {
  const most = Math.max(2, Math.min(mostUnread, Math.floor((connections?.most ?? Infinity) * shareOfConnections)))
  const share = openShare({ most, mostOfOne: Math.ceil(most / 2), what: 'unfinished request bodies' })
  return ({ raw, token }: FastifyRequest, reply: FastifyReply): void => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers
    if (length === '0' && encoding === undefined) return
    try {
      const held = share.take(token.name)
      const { socket } = raw
      const giveBack = () => {
        held[Symbol.dispose]()
        socket.off('close', giveBack)
      }
      // A request that was answered before its body ended hears nothing of the end of its connection.
      raw.once('end', giveBack)
      socket.once('close', giveBack)
    } catch (error) {
      // Left open, the connection would stay for the body that is refused.
      reply.header('connection', 'close')
      throw error
    }
  }
}

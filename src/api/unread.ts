import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConnectionLimit } from './crowding.ts'
import { openShare } from './share.ts'

/** Each is a connection. A body that arrives in one piece has ended before the next request is read. */
const mostUnread = 2_000
/** The share of all connections: the others stay free for requests without a body. */
const shareOfConnections = 0.5

/**
 * Limits bodies that have begun and not ended. A client that sends a byte now and then keeps its connection for 5
 * minutes, so each token has a share of them. Throws `rate_limit_exceeded` and `overloaded` before the body is read.
 */
export function limitUnread(connections?: Pick<ConnectionLimit, 'most'>) {
  const most = Math.max(2, Math.min(mostUnread, Math.floor((connections?.most ?? Infinity) * shareOfConnections)))
  const share = openShare({ most, mostOfOne: Math.ceil(most / 2), items: 'unfinished request bodies' })
  const slots = new WeakMap<Socket, BodySlot>()
  return ({ raw, token }: FastifyRequest, reply: FastifyReply): void => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers
    if (length === '0' && encoding === undefined) return
    const slot = slots.get(raw.socket) ?? openBodySlot(raw.socket)
    slots.set(raw.socket, slot)
    // The previous body on this connection has ended, whether it was read or not.
    slot.giveBack()
    try {
      const held = share.take(token.name)
      slot.giveBack = held[Symbol.dispose]
      raw.once('end', held[Symbol.dispose])
    } catch (error) {
      // Otherwise the connection would stay open for the refused body.
      reply.header('connection', 'close')
      throw error
    }
  }
}

/** The slot of a connection for its current body. */
interface BodySlot {
  giveBack(): void
}

/** One listener for all requests of a connection: a body whose response was sent before its end emits no `end`. */
function openBodySlot(socket: Socket): BodySlot {
  const slot: BodySlot = { giveBack() {} }
  socket.once('close', () => slot.giveBack())
  return slot
}

import type { Socket } from 'node:net'
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
  const places = new WeakMap<Socket, Place>()
  return ({ raw, token }: FastifyRequest, reply: FastifyReply): void => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers
    if (length === '0' && encoding === undefined) return
    const place = places.get(raw.socket) ?? openPlace(raw.socket)
    places.set(raw.socket, place)
    // The body before this one has ended, whether it was read or not.
    place.giveBack()
    try {
      const held = share.take(token.name)
      place.giveBack = held[Symbol.dispose]
      raw.once('end', held[Symbol.dispose])
    } catch (error) {
      // Left open, the connection would stay for the body that is refused.
      reply.header('connection', 'close')
      throw error
    }
  }
}

/** What a connection holds. */
interface Place {
  giveBack(): void
}

/** Listens once for all requests of a connection: one that was answered before its body ended does not hear of its end. */
function openPlace(socket: Socket): Place {
  const place: Place = { giveBack() {} }
  socket.once('close', () => place.giveBack())
  return place
}

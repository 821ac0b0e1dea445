import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { ownerOf } from '../core/token.ts'
import { clientAddressOf, networkOf } from './addresses.ts'
import { openShare } from './share.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Among the bodies that have begun and not ended. */
    bodyPlace?: Disposable
  }
}

export interface ConnectionLimit {
  /** How many connections may be open at once. */
  most: number
  clock: Clock
}

/** The share of connections for health checks, and for clients that get `overloaded`. */
const spareShare = 1 / 8
const [fewestSpare, mostSpare] = [2, 16]
/** A client that connects and sends nothing for so long must not keep others out. */
const silentMs = 500

/**
 * Keeps clients from using up the files that this process may open: without files it could neither work nor respond. If
 * many clients are connected, each response closes its connection. At the limit idle connections are closed, and
 * further requests get `overloaded`.
 */
export function limitConnections(server: FastifyInstance['server'], { most, clock }: ConnectionLimit) {
  const spare = Math.max(fewestSpare, Math.min(mostSpare, Math.floor(most * spareShare)))
  const usual = most - spare
  const crowded = usual * 0.75
  let open = 0
  /** Connections without a request yet, the oldest first: Node does not count them as idle. */
  const silent = new Map<Socket, number>()
  const surplus = new WeakSet<Socket>()

  server.maxConnections = most
  server.on('connection', (socket: Socket) => {
    open += 1
    silent.set(socket, clock.now())
    socket.once('close', () => {
      open -= 1
      silent.delete(socket)
    })
    if (open <= usual) return
    surplus.add(socket)
    server.closeIdleConnections()
  })
  /** Closes the oldest connection without a request. False if there is no such connection. */
  const closeSilent = (): boolean => {
    const [[socket, since] = []] = silent
    if (!socket || since === undefined || Math.abs(clock.now() - since) < silentMs) return false
    silent.delete(socket)
    socket.destroy()
    return true
  }
  server.on('drop', closeSilent)

  /** False if `admit` has more to do for a request of this connection. */
  const admitAtOnce = (socket: Socket): boolean => {
    silent.delete(socket)
    return open <= crowded
  }
  return {
    admitAtOnce,
    admit(request: FastifyRequest, reply: FastifyReply): void {
      const { socket } = request.raw
      if (admitAtOnce(socket)) return
      reply.header('connection', 'close')
      if (open <= usual || !surplus.has(socket) || isHealth(request) || closeSilent()) return
      throw new Problem('overloaded', 'Too many clients are connected. Try again shortly.', { retryable: true })
    },
  }
}

function isHealth({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/livez' || routeOptions.url === '/readyz'
}

/** Each is a connection. A body that arrives in one piece has ended before the next request is read. */
const mostUnread = 2_000
/** The share of all connections: the others stay free for requests without a body. */
const shareOfConnections = 0.5

/** The same for bodies without a token. A sign-in is small, and arrives in one piece. */
const mostUnreadOfAnyone = 200
const anyonesShareOfConnections = 1 / 8
const mostOfNetwork = 16

export type AdmitBody = (request: FastifyRequest, reply: FastifyReply) => void

/**
 * Limits bodies that have begun and not ended. A client that sends a byte now and then keeps its connection for 5
 * minutes, so each token has a share of them. Throws `rate_limit_exceeded` and `overloaded` before the body is read.
 */
export function limitUnread(connections?: Pick<ConnectionLimit, 'most'>): AdmitBody {
  const most = Math.max(2, Math.min(mostUnread, Math.floor((connections?.most ?? Infinity) * shareOfConnections)))
  const share = openShare({ most, mostOfOne: Math.ceil(most / 2), items: unreadItems })
  return openUnread(({ token }) => share.take(ownerOf(token)))
}

/** The same for requests without a token: each network has a share. */
export function limitUnreadOfAnyone(connections?: Pick<ConnectionLimit, 'most'>): AdmitBody {
  const few = Math.floor((connections?.most ?? Infinity) * anyonesShareOfConnections)
  const most = Math.max(2, Math.min(mostUnreadOfAnyone, few))
  const mostOfOne = Math.min(mostOfNetwork, Math.ceil(most / 2))
  const share = openShare({ most, mostOfOne, items: unreadItems, holder: 'This address' })
  return openUnread((request) => share.take(networkOf(clientAddressOf(request))))
}

const unreadItems = 'unfinished request bodies'

function openUnread(take: (request: FastifyRequest) => Disposable): AdmitBody {
  const bodies = new WeakMap<Socket, LastBody>()
  return (request, reply) => {
    const { raw } = request
    const { 'content-length': length = '0', 'transfer-encoding': encoding, 'content-type': type = '' } = raw.headers
    if (length === '0' && encoding === undefined) return
    const last = bodies.get(raw.socket) ?? watchSocket(raw.socket, bodies)
    // The previous body on this connection has ended, whether it was read or not.
    last.place?.[Symbol.dispose]()
    try {
      const place = take(request)
      last.place = place
      request.bodyPlace = place
      // The parser of JSON gives it back: another listener for each submit would cost more than the rest.
      if (!type.startsWith('application/json')) raw.on('end', () => place[Symbol.dispose]())
    } catch (error) {
      // Otherwise the connection would stay open for the refused body.
      reply.header('connection', 'close')
      throw error
    }
  }
}

/** The place of the last body of a connection. */
interface LastBody {
  place: Disposable | null
}

/** One listener for all requests of a connection: a body whose response was sent before its end emits no `end`. */
function watchSocket(socket: Socket, bodies: WeakMap<Socket, LastBody>): LastBody {
  const last: LastBody = { place: null }
  bodies.set(socket, last)
  socket.once('close', () => last.place?.[Symbol.dispose]())
  return last
}

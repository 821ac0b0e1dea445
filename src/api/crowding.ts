import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'

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
  /** Closes the oldest connection without a request. False if there is none to close. */
  const closeSilent = (): boolean => {
    const [[socket, since] = []] = silent
    if (!socket || since === undefined || Math.abs(clock.now() - since) < silentMs) return false
    silent.delete(socket)
    socket.destroy()
    return true
  }
  server.on('drop', closeSilent)

  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { socket } = request.raw
    silent.delete(socket)
    if (open <= crowded) return
    reply.header('connection', 'close')
    if (open <= usual || !surplus.has(socket) || isHealth(request) || closeSilent()) return
    throw new Problem('overloaded', 'Too many clients are connected. Try again shortly.', { retryable: true })
  }
}

function isHealth({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/livez' || routeOptions.url === '/readyz'
}

import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'

export interface ConnectionLimit {
  /** How many may be open at once. */
  most: number
  clock: Clock
}

/** Some of them are for clients that are told to come back, and for health checks. */
const spareShare = 1 / 8
const [fewestSpare, mostSpare] = [2, 16]
/** A client that connects and says nothing for so long must not keep out the others. */
const silentMs = 500

/**
 * Keeps clients from using up the files that this process may have open: without one it could neither work nor answer.
 * Where many are connected each is let go with its response; at the limit idle ones are closed, and who comes then is
 * told to come back.
 */
export function limitConnections(server: FastifyInstance['server'], { most, clock }: ConnectionLimit) {
  const spare = Math.max(fewestSpare, Math.min(mostSpare, Math.floor(most * spareShare)))
  const usual = most - spare
  const crowded = usual * 0.75
  let open = 0
  /** Those on which nothing was asked yet, the longest first: Node does not count them as idle. */
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
  /** Makes room for one, if that costs nobody anything. */
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

import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../core/clock.ts'

/** A client that reads slower than that is cut off. */
const finishMs = 15_000
/** A request may be on its way on a connection that looks idle: for so long each is still answered. */
const graceMs = 100

/** How a server ends without cutting off anybody who has asked for something. */
export function openClosing(app: Pick<FastifyInstance, 'server' | 'close'>, clock: Clock): () => Promise<void> {
  const { server } = app
  const all = new Set<Socket>()
  // Those on which nobody has asked for anything yet: Node counts them as busy when it closes.
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    all.add(socket)
    silent.add(socket)
    socket.once('close', () => {
      all.delete(socket)
      silent.delete(socket)
    })
  })
  server.on('request', ({ socket }) => silent.delete(socket))

  return async () => {
    // Who is answered from now on is told to ask elsewhere next time.
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    if (all.size > silent.size) await clock.sleep(graceMs)
    const closed = new AbortController()
    // A connection whose answer ends only now would be kept for the next request.
    server.keepAliveTimeout = 1
    const closing = app.close().finally(() => closed.abort())
    // The first request of a new connection may be on its way as well.
    if (silent.size > 0) await clock.sleep(graceMs, closed.signal)
    for (const socket of silent) socket.destroy()
    await Promise.race([closing, clock.sleep(finishMs, closed.signal)])
    server.closeAllConnections()
    await closing
  }
}

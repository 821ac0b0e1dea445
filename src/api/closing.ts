import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../core/clock.ts'

/** A client that takes longer to read its response is disconnected. */
const finishMs = 15_000
/** A request may be on its way on a connection that looks idle. It is still served for this long. */
const graceMs = 100

/** Closes a server without disconnecting clients that have sent a request. */
export function openClosing(app: Pick<FastifyInstance, 'server' | 'close'>, clock: Clock): () => Promise<void> {
  const { server } = app
  const all = new Set<Socket>()
  // Connections without a request yet: Node counts them as busy when it closes.
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
    // From now on each response tells its client to use another connection next time.
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    if (all.size > silent.size) await clock.sleep(graceMs)
    const closed = new AbortController()
    // A connection whose response ends only now would be kept open for the next request.
    server.keepAliveTimeout = 1
    const closing = app.close().finally(() => closed.abort())
    // The first request of a new connection may also be on its way.
    if (silent.size > 0) await clock.sleep(graceMs, closed.signal)
    for (const socket of silent) socket.destroy()
    await Promise.race([closing, clock.sleep(finishMs, closed.signal)])
    server.closeAllConnections()
    await closing
  }
}

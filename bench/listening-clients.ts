import { connect, type Socket } from 'node:net'

/* Many clients in one process, each on a connection of its own, that wait to hear that their task is completed. */

export type Way = 'stream' | 'wait'
export interface ClientOrder {
  port: number
  ids: readonly string[]
  way: Way
}
/** First that all listen, then of each client when it knew. */
export type ClientAnswer = 'listening' | { id: string; at: number }

/** Not that of `servers.ts`, which is a process itself. */
export const token = 'bench'

/** Comparable between processes of one machine. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}

const ways: Record<Way, { path: string; done: string }> = {
  stream: { path: '/events', done: 'event: video.completed' },
  wait: { path: '?wait=60', done: '"status":"completed"' },
}

/** Resolves when it is connected and has asked. */
function listen(port: number, id: string, way: Way, tell: (answer: ClientAnswer) => void): Promise<void> {
  const { path, done } = ways[way]
  const request = `GET /v1/videos/${id}${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const asked = Promise.withResolvers<void>()
  const socket: Socket = connect(port, '127.0.0.1', () => {
    socket.write(request)
    if (way === 'wait') asked.resolve()
  })
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    if (text.includes(done)) {
      tell({ id, at: now() })
      socket.destroy()
    } else if (way === 'wait') socket.write(request)
    else asked.resolve()
  })
  socket.on('error', asked.reject)
  return asked.promise
}

async function listenAll({ port, ids, way }: ClientOrder, tell: (answer: ClientAnswer) => void): Promise<void> {
  // As many at once as a server takes before it has looked at any.
  for (let at = 0; at < ids.length; at += 100)
    await Promise.all(ids.slice(at, at + 100).map((id) => listen(port, id, way, tell)))
  tell('listening')
}

if (process.send && import.meta.main) {
  process.once('message', (order: ClientOrder) => void listenAll(order, (answer) => void process.send?.(answer)))
  process.once('disconnect', () => process.exit())
}

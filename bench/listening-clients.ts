import { connect, type Socket } from 'node:net'

/* Many clients in one process, each with a connection of its own, that wait until their task is completed. */

export type ListenMode = 'stream' | 'wait'
export interface ClientOrder {
  port: number
  ids: readonly string[]
  mode: ListenMode
}
/** First 'listening', once all do; then, for each client, when it was notified. */
export type ClientAnswer = 'listening' | { id: string; at: number }

/** Not imported from `servers.ts`: that file starts a server when it is loaded. */
export const token = 'bench'

/** Comparable between processes of one machine. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}

const modes: Record<ListenMode, { path: string; done: string }> = {
  stream: { path: '/events', done: 'event: video.completed' },
  wait: { path: '?wait=60', done: '"status":"completed"' },
}

/** Resolves when the client is connected and has sent its request. */
function listen(port: number, id: string, mode: ListenMode, report: (answer: ClientAnswer) => void): Promise<void> {
  const { path, done } = modes[mode]
  const request = `GET /v1/videos/${id}${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const asked = Promise.withResolvers<void>()
  const socket: Socket = connect(port, '127.0.0.1', () => {
    socket.write(request)
    if (mode === 'wait') asked.resolve()
  })
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    if (text.includes(done)) {
      report({ id, at: now() })
      socket.destroy()
    } else if (mode === 'wait') socket.write(request)
    else asked.resolve()
  })
  socket.on('error', asked.reject)
  return asked.promise
}

async function listenAll({ port, ids, mode }: ClientOrder, report: (answer: ClientAnswer) => void): Promise<void> {
  // No more at once than fit into the accept queue of a server.
  for (let at = 0; at < ids.length; at += 100)
    await Promise.all(ids.slice(at, at + 100).map((id) => listen(port, id, mode, report)))
  report('listening')
}

if (process.send && import.meta.main) {
  process.once('message', (order: ClientOrder) => void listenAll(order, (answer) => void process.send?.(answer)))
  process.once('disconnect', () => process.exit())
}

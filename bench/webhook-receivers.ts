import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/* Receivers of webhooks in a process of their own: one that answers, and one that takes connections and never does. */

export interface ReceiverPorts {
  answering: number
  silent: number
}

/** As long as one across the internet takes: what is measured are places, not this machine's processors. */
const latencyMs = 50

async function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as { port: number }).port
}

if (process.send) {
  const answering = createServer(async (request, response) => {
    request.resume()
    await setTimeout(latencyMs)
    response.end()
  })
  const silent = createTcpServer((socket) => void socket.on('error', () => {}).resume())
  const ports: ReceiverPorts = { answering: await listen(answering), silent: await listen(silent) }
  process.send(ports)
  process.once('disconnect', () => process.exit())
}

import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/* Receivers of webhooks in a process of their own: one responds, the other accepts connections and never responds. */

export interface ReceiverPorts {
  answering: number
  silent: number
}

/** A typical latency across the internet: the slots are measured, and not the CPU of this machine. */
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

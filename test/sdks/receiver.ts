import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

interface Delivery {
  headers: Record<string, string>
  body: string
}

export interface Receiver extends AsyncDisposable {
  url: string
}

/**
 * Receives webhooks. Each program has a path of its own: what is POSTed there is kept as it came, and GET returns all of
 * it, so that the program can pass it to its SDK.
 */
export async function startReceiver(): Promise<Receiver> {
  const deliveries = new Map<string, Delivery[]>()
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://receiver')
    const kept = deliveries.get(pathname) ?? []
    deliveries.set(pathname, kept)
    if (request.method === 'POST') kept.push(await receive(request))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(kept))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the receiver has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function receive(request: IncomingMessage): Promise<Delivery> {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
  return { headers: Object.fromEntries(headers), body: await text(request) }
}

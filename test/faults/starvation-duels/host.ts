import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createCanvas } from '@napi-rs/canvas'
import { moment } from './duel.ts'

/** A quick host of the working token: it has an image, and is notified by webhooks. */
export interface WorkingHost extends AsyncDisposable {
  /** As the operator's list of exceptions has it. */
  readonly allow: string
  readonly url: string
  /** When the webhook of each video arrived. */
  readonly arrivals: ReadonlyMap<string, number>
}

export async function startHost(): Promise<WorkingHost> {
  const arrivals = new Map<string, number>()
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return void response.setHeader('content-type', 'image/jpeg').end(smallJpeg)
    const { data } = JSON.parse(await text(request)) as { data: { id: string } }
    arrivals.set(data.id, moment())
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const allow = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    allow,
    url: `http://${allow}`,
    arrivals,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export const smallJpeg = createCanvas(64, 64).toBuffer('image/jpeg')

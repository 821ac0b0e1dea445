import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A proxy that can hold back a response. */
export interface Gate extends AsyncDisposable {
  readonly url: string
  /** Holds back the next response to a matching request until `release`. Resolves when there is one. */
  hold(request: RegExp): Promise<void>
  release(): void
}

export async function startGate(target: string): Promise<Gate> {
  let order: { pattern: RegExp; held: () => void } | undefined
  let [open, release] = [Promise.resolve(), () => {}]
  const server = createServer(async (incoming, answer) => {
    answer.on('error', () => {})
    const sending = request(`${target}${incoming.url}`, {
      method: incoming.method,
      headers: incoming.headers,
      setHost: false,
      agent: false,
    })
    sending.end(await buffer(incoming))
    const [real] = (await once(sending, 'response')) as [IncomingMessage]
    const isText = real.headers['content-type']?.includes('json')
    let body = await buffer(real)
    const name = `${incoming.method} ${incoming.url}`
    if (order?.pattern.test(name)) {
      order.held()
      order = undefined
      await open
    }
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = real.headers
    // Links in the body lead through this proxy, too.
    if (isText) body = Buffer.from(body.toString().replaceAll(target, url))
    const length = incoming.method === 'HEAD' ? _length : body.length
    answer.writeHead(real.statusCode ?? 500, { ...headers, ...(length !== undefined && { 'content-length': length }) })
    answer.end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    hold(pattern) {
      const opening = Promise.withResolvers<void>()
      ;[open, release] = [opening.promise, opening.resolve]
      const { promise, resolve } = Promise.withResolvers<void>()
      order = { pattern, held: resolve }
      return promise
    },
    release: () => release(),
    async [Symbol.asyncDispose]() {
      release()
      server.close()
      server.closeAllConnections()
    },
  }
}

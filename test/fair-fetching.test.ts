import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { startService, until } from './service.ts'

const attacks = 200
const attacker = 'the key of the attacker'
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Sends an image at once, except below /drip: there it sends one byte each second, without an end. */
async function startImageHost() {
  const dripping = new Set<string>()
  const begun = new Set<string>()
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    if (!path.startsWith('/drip')) return void response.end(png)
    begun.add(path)
    dripping.add(path)
    response.writeHead(200)
    const drip = setInterval(() => response.write('x'), 1_000)
    response.once('close', () => {
      clearInterval(drip)
      dripping.delete(path)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    dripping,
    begun,
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/*
 * Images were fetched oldest first: the image of one token waited until 200 of another had timed out, more than 100 s
 * instead of 4.5 s.
 */
it('one token’s 200 images that drip do not keep another token’s image waiting', async () => {
  const images = await startImageHost()
  const yaml = JSON.stringify({
    outbound: { allow: [images.host] },
    tokens: [{ name: 'attacker', secret: attacker }],
  })
  await using service = await startService({ yaml })
  // Closed before the service, which waits for its running actions.
  await using _closed = images
  const submit = async (path: string, headers: Record<string, string> = {}) => {
    const film = { model: 'studio', prompt: `x ${path}`, seconds: '1', size: '256x256' }
    const response = await service.submit({ ...film, image: `http://${images.host}${path}` }, headers)
    assert.equal(response.status, 200, await response.clone().text())
    return ((await response.json()) as { id: string }).id
  }
  for (let at = 0; at < attacks; at += 1) await submit(`/drip/${at}.png`, { authorization: `Bearer ${attacker}` })
  await until('images drip', () => images.dripping.size > 0)
  const id = await submit('/quick.png')
  await until('the other token’s video is completed', async () => {
    const video = (await (await service.fetch(`/v1/videos/${id}`)).json()) as { status: string }
    return video.status === 'completed'
  })
  assert.ok(images.dripping.size > 0, 'the attack is over')
  assert.ok(images.begun.size < attacks / 2, `${images.begun.size} of ${attacks} came first`)
})

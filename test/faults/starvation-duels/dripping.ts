import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Duel, models } from './duel.ts'
import { jsonBytes, send } from './senders.ts'
import { acceptMeasure } from './working.ts'

const submits = 200

/** Image URLs at a host that sends a byte each second. */
export const dripping: Duel = {
  title: `${submits} submits with images of a dripping host`,
  async openAttack({ answers }) {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': '100000' })
      const timer = setInterval(() => response.write('x'), 1_000)
      response.once('close', () => clearInterval(timer))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    return {
      allow: [host],
      async begin(target) {
        const next = (number: number) =>
          jsonBytes(target, '/v1/videos', {
            model: models.attacking,
            prompt: `dripping ${number}`,
            image: `http://${host}/${number}.png`,
          })
        await send({ target, senders: 20, count: submits, next }, answers)
      },
    }
  },
  async openMeasures(world) {
    const image = `${world.host.url}/image.jpg`
    return [acceptMeasure('submit with an image URL to accept', world, { image })]
  },
}

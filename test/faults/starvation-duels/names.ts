import { type Duel, models } from './duel.ts'
import { jsonBytes, send } from './senders.ts'
import { acceptMeasure, post } from './working.ts'

/** Images and webhook endpoints at names for which no DNS server answers, against an engine that has to be resolved, too. */
export const names: Duel = {
  title: 'names that no DNS server answers for',
  needsSilentNames: true,
  async openAttack({ answers }) {
    return {
      allow: [],
      async begin(target) {
        // A public address: it needs no name, and nothing is ever sent there.
        const fields = { name: 'hook', url: 'https://1.1.1.1/', event_types: ['video.failed'] }
        const { id } = await post<{ id: string }>(target, '/v1/webhook_endpoints', fields)
        const update = (number: number) =>
          jsonBytes(target, `/v1/webhook_endpoints/${id}`, { url: `https://w${number}.silent.test/` })
        const order = (number: number) =>
          jsonBytes(target, '/v1/videos', {
            model: models.attacking,
            prompt: `x ${number}`,
            image: `https://i${number}.silent.test/x.png`,
          })
        void send({ target, senders: 40, next: order }, answers)
        // Few senders: above 60 updates in a minute they only meet the limit for those.
        void send({ target, senders: 4, next: update }, answers)
      },
    }
  },
  async openMeasures(world) {
    const image = `${world.host.url}/image.jpg`
    return [
      acceptMeasure('submit to accept at an engine named localhost', world),
      acceptMeasure('the same with an image URL', world, { image }),
    ]
  },
}

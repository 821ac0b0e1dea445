import type { Duel } from './duel.ts'
import { jsonBytes, send } from './senders.ts'
import { acceptMeasure, post } from './working.ts'

/** Webhook endpoints at names for which no DNS server answers, against an engine that has to be resolved, too. */
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
        const next = (number: number) =>
          jsonBytes(target, `/v1/webhook_endpoints/${id}`, { url: `https://n${number}.silent.test/` })
        void send({ target, senders: 40, next }, answers)
      },
    }
  },
  async openMeasures(world) {
    return [acceptMeasure('submit to accept at an engine named localhost', world)]
  },
}

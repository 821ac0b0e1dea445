import { type Duel, models } from './duel.ts'
import { requestBytes, send } from './senders.ts'
import { pollAndSubmit } from './working.ts'

/** The longest text that can be an image of 20 MiB. */
const imageCharacters = 28_000_000

/** Images in JSON as large as they may be, with a space after every third character of the base64. */
export const bodies: Duel = {
  title: '4 senders of 28 MB of base64 with spaces',
  async openAttack({ answers }) {
    return {
      allow: [],
      async begin(target) {
        const body = Buffer.concat([
          Buffer.from(`{"model":"${models.attacking}","prompt":"x","image":"`),
          Buffer.alloc(imageCharacters, 'AAA '),
          Buffer.from('"}'),
        ])
        const request = requestBytes(target, { path: '/v1/videos', type: 'application/json', body })
        void send({ target, senders: 4, next: () => request }, answers)
      },
    }
  },
  openMeasures: ({ target }) => pollAndSubmit(target),
}

import { type Duel, models } from './duel.ts'
import { jsonBytes, requestBytes, send } from './senders.ts'
import { ask, newPrompt, requestMeasure, submit } from './working.ts'

/** As many as a page has at most, and as long as a prompt may be. Each character takes three bytes. */
const tasks = 100
const longPrompt = '霧'.repeat(32_000)

/** Pages and streams of events that are as long as they can be. */
export const pages: Duel = {
  title: `pages and event streams of ${tasks} prompts of 32 000 characters`,
  async openAttack({ answers }) {
    return {
      allow: [],
      async prepare(target) {
        const next = () => jsonBytes(target, '/v1/videos', { model: models.attacking, prompt: longPrompt })
        await send({ target, senders: 8, count: tasks, next }, new Map())
      },
      async begin(target) {
        const get = (path: string) => requestBytes(target, { method: 'GET', path })
        const [list, events] = [get(`/v1/videos?limit=${tasks}`), get('/v1/videos/events?last_event_id=0')]
        void send({ target, senders: 8, next: () => list }, answers)
        // A stream has no end of its own: the client leaves, and comes back for the same again.
        void send({ target, senders: 8, next: () => events, hangUpMs: 1_000 }, answers)
      },
    }
  },
  async openMeasures({ target }) {
    const { id } = await submit(target, { prompt: newPrompt() })
    return [
      requestMeasure('poll', (signal) => ask(target, `/v1/videos/${id}`, { signal })),
      requestMeasure('list', (signal) => ask(target, '/v1/videos', { signal })),
    ]
  },
}

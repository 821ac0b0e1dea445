import { setTimeout as pause } from 'node:timers/promises'
import { type Duel, models, type Target } from './duel.ts'
import { jsonBytes, requestBytes, send } from './senders.ts'
import { ask, newPrompt, requestMeasure, submit, type Video } from './working.ts'

/** Each gives a thumbnail and a spritesheet, which are kept once they are made. */
const finished = 60
/** Those that a list with a filter has to look through. */
const waiting = 3_000

/** Pictures of videos, and lists that look through thousands of tasks. */
export const pictures: Duel = {
  title: `pictures, and filtered lists of ${waiting} tasks`,
  async openAttack({ answers, upstream }) {
    let ids: string[] = []
    return {
      allow: [],
      async prepare(target) {
        upstream.setFaults({ speed: 50 })
        await submitMany(target, finished)
        ids = await completed(target)
        upstream.setFaults({ speed: 3_600_000 })
        await submitMany(target, waiting)
      },
      async begin(target) {
        const get = (path: string) => requestBytes(target, { method: 'GET', path })
        const variants = ['thumbnail', 'spritesheet'].flatMap((variant) =>
          ids.map((id) => get(`/v1/videos/${id}/content?variant=${variant}`)),
        )
        const list = get('/v1/videos?status=failed&limit=100')
        void send({ target, senders: 8, next: (number) => variants[number % variants.length] ?? list }, answers)
        void send({ target, senders: 16, next: () => list }, answers)
      },
    }
  },
  async openMeasures({ target }) {
    const { id } = await submit(target, { prompt: newPrompt() })
    return [
      requestMeasure('poll', (signal) => ask(target, `/v1/videos/${id}`, { signal })),
      requestMeasure('filtered list', (signal) => ask(target, '/v1/videos?status=failed&limit=20', { signal })),
    ]
  },
}

/** Not counted: it is no attack yet. */
function submitMany(target: Target, count: number): Promise<void> {
  const next = (number: number) => jsonBytes(target, '/v1/videos', { model: models.attacking, prompt: `x ${number}` })
  return send({ target, senders: 64, count, next }, new Map())
}

async function completed(target: Target): Promise<string[]> {
  for (;;) {
    const { data } = await ask<{ data: Video[] }>(target, '/v1/videos?status=completed&limit=100')
    if (data.length >= finished) return data.map(({ id }) => id)
    await pause(200)
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import { type Duel, type Measure, models, type Target } from './duel.ts'
import { jsonBytes, requestBytes, send } from './senders.ts'
import { ask, requestMeasure, type Video } from './working.ts'

/** Each gives a thumbnail and a spritesheet, which are kept once they are made. */
const finished = 60
/** Videos of the working token: for three warm-ups and two phases. */
const count = 30
const fresh = 3 + 2 * count
/** Those that a list with a filter has to look through. */
const waiting = 3_000

/** Pictures of videos, and lists that look through thousands of tasks. */
export const pictures: Duel = {
  title: `pictures, and filtered lists of ${waiting} tasks`,
  count,
  jobMs: 50,
  // Large enough that a picture of it takes a while.
  film: { width: 1_280, height: 720, frames: 120 },
  async openAttack({ answers, upstream }) {
    let ids: string[] = []
    return {
      allow: [],
      async prepare(target) {
        upstream.setFaults({ speed: 50 })
        await submitMany({ target, model: models.attacking, count: finished })
        ids = await completed(target, finished)
        upstream.setFaults({ speed: 3_600_000 })
        await submitMany({ target, model: models.attacking, count: waiting })
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
    await submitMany({ target, model: models.working, count: fresh })
    const ids = await completed(target, fresh)
    return [
      requestMeasure('poll', (signal) => ask(target, `/v1/videos/${ids[0]}`, { signal })),
      requestMeasure('filtered list', (signal) => ask(target, '/v1/videos?status=failed&limit=20', { signal })),
      pictureMeasure('thumbnail', target, ids),
      pictureMeasure('spritesheet', target, ids),
    ]
  },
}

/** Each of another video, since a picture that was asked for before is kept. */
function pictureMeasure(variant: string, target: Target, ids: readonly string[]): Measure {
  const left = [...ids]
  return requestMeasure(`${variant} of a video, the first time`, (signal) => {
    const id = left.pop()
    if (id === undefined) throw new Error('no video is left without a picture')
    return ask(target, `/v1/videos/${id}/content?variant=${variant}`, { signal })
  })
}

/** Not counted: it is no attack yet. */
function submitMany({ target, model, count }: { target: Target; model: string; count: number }): Promise<void> {
  const next = (number: number) => jsonBytes(target, '/v1/videos', { model, prompt: `x ${number}` })
  return send({ target, senders: 64, count, next }, new Map())
}

async function completed(target: Target, count: number): Promise<string[]> {
  for (;;) {
    const { data } = await ask<{ data: Video[] }>(target, '/v1/videos?status=completed&limit=100')
    if (data.length >= count) return data.map(({ id }) => id)
    await pause(200)
  }
}

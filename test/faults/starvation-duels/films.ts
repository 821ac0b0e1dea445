import { type Duel, type Measure, moment, type Target } from './duel.ts'
import { jsonBytes, send } from './senders.ts'
import { ask, newPrompt, submit, type Video } from './working.ts'

const submits = 8

/** Films of the studio, which are drawn on the cores of the service. */
export const films: Duel = {
  title: `${submits} studio films of 20 s and 1920x1920`,
  count: 6,
  async openAttack({ answers }) {
    return {
      allow: [],
      async begin(target) {
        const fields = { model: 'studio', seconds: '20', size: '1920x1920' }
        const next = (number: number) => jsonBytes(target, '/v1/videos', { ...fields, prompt: `a storm ${number}` })
        await send({ target, senders: submits, count: submits, next }, answers)
      },
    }
  },
  async openMeasures({ target }) {
    return [filmMeasure(target)]
  },
}

function filmMeasure(target: Target): Measure {
  return {
    name: 'studio film of 1 s and 256x256, submit to completed',
    async run(_watch, signal) {
      const fields = { model: 'studio', seconds: '1', size: '256x256', prompt: newPrompt() }
      let video = await submit(target, fields, signal)
      while (video.status === 'queued' || video.status === 'in_progress')
        video = await ask<Video>(target, `/v1/videos/${video.id}?wait=10`, { signal })
      if (video.status !== 'completed') throw new Error(`the film is ${video.status}`)
      return moment()
    },
  }
}

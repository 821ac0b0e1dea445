import { nestedTracks } from '../../../src/media/boxes.fixture.ts'
import { type Duel, moment, type Watch } from './duel.ts'
import { greyMp4 } from './mp4.ts'
import { fileHead, formBytes, send, textPart } from './senders.ts'
import { ask, type Video } from './working.ts'

/** Videos that take a verifier many seconds, though they are small. */
export const uploads: Duel = {
  title: 'uploads of 8192x8192, of nested boxes and of 1920x1920',
  async openAttack({ answers }) {
    return {
      allow: [],
      async begin(target) {
        const videos = [
          greyMp4({ width: 8_192, height: 8_192, frames: 240 }),
          nestedTracks(400_000),
          // Within every limit: 20 s of the largest size that a model here takes.
          greyMp4({ width: 1_920, height: 1_920, frames: 480 }),
        ]
        const requests = videos.map((video) =>
          formBytes(target, '/v1/videos/edits', [
            textPart('model', 'studio'),
            textPart('prompt', 'x'),
            { head: fileHead('video', 'video/mp4'), body: video },
          ]),
        )
        const next = (number: number) => requests[number % requests.length] ?? Buffer.alloc(0)
        void send({ target, senders: 8, next }, answers)
      },
    }
  },
  async openMeasures({ target }) {
    const video = new File([greyMp4({ width: 256, height: 256, frames: 24 })], 'small.mp4', { type: 'video/mp4' })
    const run = async (_watch: Watch, signal: AbortSignal) => {
      const body = new FormData()
      for (const [name, value] of Object.entries({ model: 'studio', prompt: 'snow' })) body.set(name, value)
      body.set('video', video)
      const { id } = await ask<Video>(target, '/v1/videos/edits', { method: 'POST', body, signal })
      const end = moment()
      // Deleted before it is drawn: the upload is measured, and drawing would take the cores from it.
      await ask(target, `/v1/videos/${id}`, { method: 'DELETE' })
      return end
    }
    return [{ name: 'edit of a small upload', run }]
  },
}

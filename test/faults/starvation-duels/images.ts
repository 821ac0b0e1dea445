import { blankPng, type PngKind } from '../../../src/media/png.fixture.ts'
import { type Duel, models, type Target } from './duel.ts'
import { smallJpeg } from './host.ts'
import { fileHead, formBytes, send, sendOnce, textPart } from './senders.ts'
import { submitMeasure } from './working.ts'

/** Just below 40 megapixels, and what a lower limit may leave of them. */
const sides = [6_324, 4_472, 3_162, 2_236, 1_581, 1_118]
const kinds: readonly PngKind[] = [
  { depth: 1, colours: 'grey', interlaced: true },
  { depth: 8, colours: 'rgba', interlaced: true },
  { depth: 8, colours: 'rgba', interlaced: false },
]

/** Small images that take the inspection as long as any that it accepts. */
export const images: Duel = {
  title: '40 senders of expensive PNGs',
  async openAttack({ answers }) {
    return {
      allow: [],
      async begin(target) {
        const request = await slowestAccepted(target)
        void send({ target, senders: 40, next: () => request }, answers)
      },
    }
  },
  async openMeasures({ target }) {
    const image = smallJpeg.toString('base64')
    return [submitMeasure('submit with a small JPEG', target, { image })]
  },
}

function submitOf(target: Target, png: Buffer): Buffer {
  const fields = [textPart('model', models.attacking), textPart('prompt', 'x')]
  return formBytes(target, '/v1/videos', [...fields, { head: fileHead('image', 'image/png'), body: png }])
}

/** Of the largest image of each kind. */
async function slowestAccepted(target: Target): Promise<Buffer> {
  let slowest: { request: Buffer; ms: number } = { request: Buffer.alloc(0), ms: 0 }
  for (const kind of kinds) {
    for (const side of sides) {
      const request = submitOf(target, blankPng({ width: side, height: side }, kind))
      const begun = performance.now()
      if ((await sendOnce(target, request)) !== '200') continue
      const ms = performance.now() - begun
      if (ms > slowest.ms) slowest = { request, ms }
      break
    }
  }
  return slowest.request
}

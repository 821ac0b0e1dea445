import assert from 'node:assert/strict'
import { it } from 'node:test'
import { blankPng } from '../src/media/png.fixture.ts'
import { startService } from './service.ts'

/* One token sends many images that are slow to decode, another sends few: the few do not wait for the many. */

const other = 'the key of the other token'
const senders = 40
const order = { model: 'studio', prompt: 'a heron', seconds: '1', size: '256x256' }
const base64 = (width: number, height: number, interlaced: boolean) =>
  blankPng({ width, height }, { depth: 1, colours: 'grey', interlaced }).toString('base64')

it('a token that sends 40 slow images delays a submit of another token by no more than what is running', async () => {
  const yaml = JSON.stringify({ tokens: [{ name: 'other', secret: other }] })
  await using service = await startService({ yaml })
  const slow = base64(2_000, 1_500, true)
  let answered = 0
  const crowd = Array.from({ length: senders }, async (_, index) => {
    const response = await service.submit({ ...order, prompt: `heron ${index}`, image: slow })
    answered += 1
    return response.status
  })
  // Once the first image is done, the many images wait before the few.
  await Promise.any(crowd)
  const between: number[] = []
  for (const prompt of ['one', 'two', 'three']) {
    const before = answered
    const image = base64(64, 64, false)
    const response = await service.submit({ ...order, prompt, image }, { authorization: `Bearer ${other}` })
    assert.equal(response.status, 200)
    between.push(answered - before)
  }
  // One or two are running when it arrives. These, and some after them, finish before it.
  for (const passed of between) assert.ok(passed <= 8, `${between} images of the crowd came first`)
  assert.deepEqual(await Promise.all(crowd), Array(senders).fill(200))
})

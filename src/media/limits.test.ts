import assert from 'node:assert/strict'
import { readFile, truncate, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import {
  described,
  describedWave,
  hiddenFragment,
  manyTracks,
  nestedTracks,
  parameterSet,
  withNames,
} from './boxes.fixture.ts'
import { film, never, temporaryFolder } from './fixtures.ts'
import type { Media } from './media.ts'
import { checkMovie } from './movie.ts'
import { openMedia } from './pool.ts'
import { filmShades } from './shades.fixture.ts'
import { codedSize } from './sps.ts'

/* Limits of a video, by its header and during decoding. Each of these files once blocked a verifier for up to a minute. */

const clock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {}),
}
const limits = { side: 1920, seconds: 120, frames: 7200 }

let media: Media
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let good: Buffer

before(async () => {
  folder = await temporaryFolder()
  media = openMedia({ clock, renderers: 1 })
  await media.render(film(folder.file('good.mp4'), { seconds: 2 }), () => {}, never)
  good = await readFile(folder.file('good.mp4'))
})

after(async () => {
  await media[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

async function check(bytes: Uint8Array, others: Partial<typeof limits> = {}) {
  await writeFile(folder.file('upload.mp4'), bytes)
  return await media.check(folder.file('upload.mp4'), { ...limits, ...others }, 'alice', never)
}

async function verify(bytes: Uint8Array) {
  await writeFile(folder.file('result.mp4'), bytes)
  return await media.verify(folder.file('result.mp4'), 'alice', never)
}

test('an upload within the limits is decoded, of any size up to them', async () => {
  const { size, seconds } = await check(good, { side: 320, seconds: 2, frames: 48 })
  assert.deepEqual([size, seconds], [{ width: 320, height: 180 }, 2])
  // 1080 lines are coded as 1088.
  const path = folder.file('full.mp4')
  await filmShades(path, { frames: 2, perSecond: 24, size: { width: 1920, height: 1080 } })
  assert.equal((await check(await readFile(path), { side: 1920 })).size.height, 1080)
})

test('a real H.264 video of 8192x8192 pixels is refused by its header, and one of 3840x2160 is a result', async () => {
  const path = folder.file('large.mp4')
  await filmShades(path, { frames: 2, perSecond: 24, size: { width: 8192, height: 8192 } })
  const large = await readFile(path)
  assert.ok(large.length < 2 ** 20)
  const message = /It has 8192x8192 pixels: up to 1920 a side and 3 megapixels are accepted\./
  await assert.rejects(check(large), { code: 'invalid_value', message })
  await assert.rejects(verify(large), { code: 'unsupported_output', message: /8192 a side and 35 megapixels/ })
  await filmShades(path, { frames: 2, perSecond: 24, size: { width: 3840, height: 2160 } })
  assert.equal((await media.verify(path, 'alice', never)).size.width, 3840)
})

test('the size in the stream itself counts, not the one in the box around it', async () => {
  const large = { width: 8192, height: 8192 }
  for (const lying of [described({ size: { width: 320, height: 180 }, coded: large }), described({ size: large })])
    await assert.rejects(check(lying), { code: 'invalid_value', message: /It has 8192x8192 pixels/ })
  assert.deepEqual(codedSize(parameterSet({ width: 4096, height: 2048 })), { width: 4096, height: 2048 })
  for (const nonsense of [Buffer.alloc(0), Buffer.alloc(40), Buffer.alloc(40, 0xff), Buffer.from([0x67, 100, 0])])
    assert.ok((codedSize(nonsense)?.width ?? 0) <= 16)
})

test('too many seconds or frames are refused by the header, and frames by their number', async () => {
  const size = { width: 320, height: 180 }
  const coded = { width: 320, height: 192 }
  for (const [bytes, message] of [
    [described({ size, coded, seconds: 3600 }), /It has 3600 seconds: up to 120 are accepted\./],
    [described({ size, coded, frames: 100_000 }), /It has 100000 frames or more: up to 7200 are accepted\./],
  ] as const)
    await assert.rejects(check(bytes), { code: 'invalid_value', message })
  await assert.rejects(check(good, { seconds: 1 }), { code: 'invalid_value', message: /It has 2 seconds/ })
  await assert.rejects(check(good, { frames: 47 }), { code: 'invalid_value', message: /It has 48 frames/ })
})

test('too many tracks, nested or not, are refused before the rest is read', async () => {
  for (const look of [check, verify]) {
    await assert.rejects(look(nestedTracks(100_000)), { code: 'unsupported_output', message: /in the wrong place/ })
    await assert.rejects(look(manyTracks(100_000)), { code: 'unsupported_output', message: /more than 16 tracks/ })
  }
  const boxes = Buffer.concat([good, ...Array.from({ length: 10_000 }, () => Buffer.from('0000000866726565', 'hex'))])
  await assert.rejects(check(boxes), { code: 'unsupported_output', message: /more than 10000 boxes/ })
})

test('a child that takes too much memory is killed, its job is not tried again, and the next one is done', async () => {
  // A few kilobytes for which a demuxer allocates 2 GB, in a box that should have no header.
  const bomb = hiddenFragment(good, 80_000_000)
  await assert.rejects(check(bomb), {
    code: 'invalid_value',
    retryable: false,
    message: /takes too much memory to check/,
    cause: /the media child took \d+ bytes of memory, and may take 536870912/,
  })
  assert.equal((await check(good)).seconds, 2)
})

test('a header that takes the demuxer a minute is refused, and the child with it is gone before the next job', async () => {
  const message = /Its header takes too long to read/
  await assert.rejects(check(withNames(good, 30_000)), { code: 'unsupported_output', retryable: false, message })
  assert.equal((await check(good)).seconds, 2)
})

test('two minutes of sound without compression have millions of samples, which a demuxer reads in blocks', async () => {
  const noLimits = { ...limits, pixels: 1920 ** 2, boxes: 100, cpuMs: 1_000, code: 'invalid_value' } as const
  const path = folder.file('wave.mp4')
  const { head, bytes } = describedWave(120 * 48_000)
  await writeFile(path, head)
  await truncate(path, bytes)
  await checkMovie(path, noLimits)
  // With times of their own, they would be as many entries.
  head.writeUInt32BE(2, head.indexOf('stts') + 4 + 12)
  await writeFile(path, head)
  await truncate(path, bytes)
  await assert.rejects(checkMovie(path, noLimits), { message: /It claims to have 5760000 frames and audio samples/ })
})

test('a system that is out of memory kills a child, and not the service', async () => {
  await using pool = openMedia({ clock, renderers: 1 })
  await pool.verify(folder.file('good.mp4'), 'alice', never)
  const scores = await Promise.all(
    [pool.children()[0]?.pid, 'self'].map((pid) => readFile(`/proc/${pid}/oom_score_adj`, 'utf8')),
  )
  assert.ok(Number(scores[0]) > Number(scores[1]), String(scores))
})

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { film, manualClock, never, temporaryFolder } from './fixtures.ts'
import { type MediaPool, openMedia } from './pool.ts'

let media: MediaPool
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let good: Buffer

before(async () => {
  folder = await temporaryFolder()
  media = openMedia({ clock: manualClock(), renderers: 1 })
  await media.render(film(folder.file('good.mp4'), { seconds: 2 }), () => {}, never)
  good = await readFile(folder.file('good.mp4'))
})

after(async () => {
  await media[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

async function verify(bytes: Uint8Array) {
  const path = folder.file('video.mp4')
  await writeFile(path, bytes)
  return await media.verify(path, 'alice', never)
}

test('a whole film passes', async () => {
  const facts = { seconds: 2, size: { width: 320, height: 180 }, frameRate: 24, codec: 'h264' }
  assert.deepEqual(await verify(good), facts)
})

test('length and frame rate are those of the pictures, whatever was requested', async () => {
  // The first entry of the table of times: each of the 48 pictures is shown an eighth longer, and so the track is.
  const longer = (good.readUInt32BE(good.indexOf('stts') + 4 + 12) * 9) / 8
  const slower = claiming('stts', 12, longer)
  slower.writeUInt32BE(48 * longer, good.indexOf('mdhd') + 4 + 16)
  const { seconds, frameRate } = await verify(slower)
  assert.deepEqual([seconds, frameRate], [2.25, 21.333])
})

test('a film that a player rotates has the size in which it is shown', async () => {
  const matrices = {
    quarter: [0, 1, 0, -1, 0, 0, 320, 0, 1],
    half: [-1, 0, 0, 0, -1, 0, 320, 180, 1],
  }
  const turned = (matrix: readonly number[]) => {
    const changed = Buffer.from(good)
    const place = good.indexOf('tkhd') + 4 + 40
    for (const [at, value] of matrix.entries())
      changed.writeInt32BE(value * (at % 3 === 2 ? 2 ** 30 : 2 ** 16), place + 4 * at)
    return changed
  }
  const { size, turned: quarter } = await verify(turned(matrices.quarter))
  assert.deepEqual([size, quarter], [{ width: 180, height: 320 }, true])
  const upsideDown = await verify(turned(matrices.half))
  assert.deepEqual([upsideDown.size, upsideDown.turned], [{ width: 320, height: 180 }, true])
})

test('a film that is cut anywhere is refused', async () => {
  for (const share of [0.999, 0.9, 0.5, 0.05, 0.01]) {
    await assert.rejects(verify(good.subarray(0, Math.floor(good.length * share))), { code: 'unsupported_output' })
  }
  await assert.rejects(verify(good.subarray(0, -1)), { code: 'unsupported_output' })
})

test('a cut in a header at the end is noticed', async () => {
  // The decoder accepts such a header. The tail here is a box that claims more bytes than the file has.
  const tail = Buffer.from('00000010756474610000', 'hex')
  await assert.rejects(verify(Buffer.concat([good, tail])), { code: 'unsupported_output' })
  const whole = Buffer.concat([good, Buffer.from('0000000866726565', 'hex')])
  assert.equal((await verify(whole)).seconds, 2)
})

test('pictures that were damaged on the way are refused', async () => {
  const pixels = good.indexOf('mdat') + 8
  for (const share of [0.2, 0.5, 0.8]) {
    const damaged = Buffer.from(good)
    const at = pixels + Math.floor((good.length - pixels) * share)
    damaged.fill(0x55, at, at + 200)
    await assert.rejects(verify(damaged), { code: 'unsupported_output' })
  }
})

/** The film with one number changed, `after` bytes after the name of a box. */
function claiming(box: string, after: number, value: number): Buffer {
  const changed = Buffer.from(good)
  changed.writeUInt32BE(value, good.indexOf(box) + 4 + after)
  return changed
}

test('a film that claims more frames than it has bytes for is refused before it is decoded', async () => {
  const constant = claiming('stsz', 4, 1)
  constant.writeUInt32BE(60_000_000, good.indexOf('stsz') + 4 + 8)
  for (const claim of [constant, claiming('stsz', 8, 60_000_000), claiming('stsz', 12, 0x7fffffff)])
    await assert.rejects(verify(claim), { code: 'unsupported_output', message: /It claims to have/ })
})

test('a film whose frames are hours apart is refused', async () => {
  // The first entry of the table of times: how long each picture is shown.
  await assert.rejects(verify(claiming('stts', 12, 0x7fffffff)), { code: 'unsupported_output' })
})

test('a video whose header promises more frames than it has is refused, though each frame that it has decodes', async () => {
  const counted = good.readUInt32BE(good.indexOf('stts') + 4 + 8)
  assert.equal(counted, 48, 'the first entry of the time table counts every frame')
  const message = /Only 48 of 72 frames are in it/
  await assert.rejects(verify(claiming('stts', 8, 72)), { code: 'unsupported_output', message })
})

test('a file that is not a video is refused', async () => {
  const page = '<!doctype html><html><body>502 Bad Gateway</body></html>'
  const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n${folder.file('good.mp4')}\n#EXT-X-ENDLIST\n`
  for (const text of ['', 'no', page.repeat(100), playlist]) {
    await assert.rejects(verify(Buffer.from(text)), { code: 'unsupported_output', retryable: false })
  }
})

test('a file that is not there is our mistake, not the video’s', async () => {
  await assert.rejects(media.verify(folder.file('missing.mp4'), 'alice', never), { code: 'ENOENT' })
})

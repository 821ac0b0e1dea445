import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { createCanvas, loadImage } from '@napi-rs/canvas'
import type { Size } from '../core/task.ts'
import { manualClock, never, temporaryFolder } from './fixtures.ts'
import type { Still } from './media.ts'
import { type MediaPool, openMedia } from './pool.ts'
import { filmShades } from './shades.fixture.ts'

let media: MediaPool
let folder: Awaited<ReturnType<typeof temporaryFolder>>

before(async () => {
  folder = await temporaryFolder()
  media = openMedia({ clock: manualClock(), renderers: 1 })
})
after(async () => {
  await media[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

interface Picture extends Size {
  type: 'webp' | 'jpeg' | 'unknown'
  /** The brightness in the middle of one tile, 0 to 255. */
  shade(column?: number, row?: number, columns?: number, rows?: number): number
}

async function still(kind: Still, film: { frames: number; perSecond: number; size: Size }): Promise<Picture> {
  const path = folder.file(`${film.frames}-${film.perSecond}-${film.size.width}x${film.size.height}.mp4`)
  await filmShades(path, film)
  const bytes = Buffer.from(await media.still(path, kind, never))
  assert.ok(bytes.equals(await media.still(path, kind, never)), 'the same video gives the same picture')
  const image = await loadImage(bytes)
  const { width, height } = image
  const canvas = createCanvas(width, height)
  canvas.getContext('2d').drawImage(image, 0, 0)
  const shade = (column = 0, row = 0, columns = 1, rows = 1) => {
    const [x, y] = [((column + 0.5) * width) / columns, ((row + 0.5) * height) / rows]
    return canvas.getContext('2d').getImageData(Math.floor(x), Math.floor(y), 1, 1).data[0] ?? Number.NaN
  }
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP'
  const type = isWebp ? 'webp' : bytes.readUInt16BE(0) === 0xffd8 ? 'jpeg' : 'unknown'
  return { type, width, height, shade }
}

function near(shade: number, share: number): void {
  assert.ok(Math.abs(shade - 255 * share) <= 4, `${shade} is not the shade of ${share} of the film`)
}

test('a thumbnail shows a third of the film, in its proportions and no larger than it is', async () => {
  for (const [size, expected] of [
    [{ width: 1280, height: 720 }, '640x360'],
    [{ width: 720, height: 1280 }, '360x640'],
    [{ width: 320, height: 180 }, '320x180'],
    [{ width: 1024, height: 16 }, '640x10'],
  ] as const) {
    const picture = await still('thumbnail', { frames: 31, perSecond: 10, size })
    assert.deepEqual([picture.type, `${picture.width}x${picture.height}`], ['webp', expected])
    near(picture.shade(), 10 / 30)
  }
})

test('a spritesheet is five by five, each from the middle of its part of the film', async () => {
  for (const [size, expected] of [
    [{ width: 640, height: 360 }, '800x450'],
    [{ width: 360, height: 640 }, '800x1420'],
    [{ width: 64, height: 32 }, '320x160'],
  ] as const) {
    const sheet = await still('spritesheet', { frames: 75, perSecond: 25, size })
    assert.deepEqual([sheet.type, `${sheet.width}x${sheet.height}`], ['jpeg', expected])
    for (let tile = 0; tile < 25; tile += 1)
      near(sheet.shade(tile % 5, Math.floor(tile / 5), 5, 5), Math.floor(((tile + 0.5) * 75) / 25) / 74)
  }
})

test('in a long film the frames are jumped to, and are the right ones', async () => {
  const long = { frames: 601, perSecond: 1, size: { width: 64, height: 64 } }
  near((await still('thumbnail', long)).shade(), 200 / 600)
  const sheet = await still('spritesheet', long)
  for (let tile = 0; tile < 25; tile += 1)
    near(sheet.shade(tile % 5, Math.floor(tile / 5), 5, 5), Math.floor(((tile + 0.5) * 601) / 25) / 600)
})

test('a film of one frame has pictures too', async () => {
  const one = { frames: 1, perSecond: 24, size: { width: 128, height: 72 } }
  assert.equal((await still('thumbnail', one)).width, 128)
  assert.equal((await still('spritesheet', one)).width, 640)
})

test('a file that is not a video, or half of one, is refused; the next one is not', async () => {
  const path = folder.file('half.mp4')
  await filmShades(folder.file('whole.mp4'), { frames: 50, perSecond: 25, size: { width: 320, height: 180 } })
  const whole = await readFile(folder.file('whole.mp4'))
  for (const bytes of [Buffer.from('#EXTM3U\n/etc/passwd'), whole.subarray(0, whole.length / 2), Buffer.alloc(0)]) {
    await writeFile(path, bytes)
    for (const kind of ['thumbnail', 'spritesheet'] as const)
      await assert.rejects(media.still(path, kind, never), { code: 'unsupported_output', retryable: false })
  }
  assert.ok((await media.still(folder.file('whole.mp4'), 'thumbnail', never)).length > 0)
})

test('a child that crashes or hangs on a video fails only the picture of that video', async () => {
  const clock = manualClock()
  await using pool = openMedia({ clock, renderers: 1 })
  const path = folder.file('crash.mp4')
  await filmShades(path, { frames: 50, perSecond: 25, size: { width: 320, height: 180 } })
  const busy = () => pool.children().find(({ job }) => job === 'thumbnail')?.pid
  for (const [signal, code] of [
    ['SIGSEGV', 'unsupported_output'],
    ['SIGSTOP', 'overloaded'],
    ['SIGKILL', 'overloaded'],
  ] as const) {
    const refused = assert.rejects(pool.still(path, 'thumbnail', never), { code, retryable: true })
    while (busy() === undefined) await new Promise((resolve) => setImmediate(resolve))
    process.kill(busy() ?? 0, signal)
    if (signal === 'SIGSTOP') clock.advance(3_600_000)
    await refused
    assert.ok((await pool.still(path, 'thumbnail', never)).length > 0)
  }
})

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import type { Verification } from '../core/verification.ts'
import { type FilmName, openFilm } from './corpus.fixture.ts'
import { changed, type EncodedFilm } from './damage.fixture.ts'
import { film, manualClock, never, temporaryFolder } from './fixtures.ts'
import { type MediaPool, openMedia } from './pool.ts'
import { filmShades } from './shades.fixture.ts'
import { verifySmart } from './smart.ts'
import { verify } from './verify.ts'

/* All kinds of broken videos are in corpus.slow.ts. */

let media: MediaPool
let folder: Awaited<ReturnType<typeof temporaryFolder>>
const noLimits = {
  side: 8192,
  pixels: 8192 ** 2,
  boxes: 1_000,
  seconds: 100,
  frames: 10_000,
  cpuMs: 0,
  code: 'unsupported_output',
} as const

before(async () => {
  folder = await temporaryFolder()
  media = openMedia({ clock: manualClock(), renderers: 1 })
})
after(async () => {
  await media[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const open = (name: FilmName): Promise<EncodedFilm> => openFilm(name, folder.file('whole.mp4'))

async function write(bytes: Uint8Array): Promise<string> {
  const path = folder.file('video.mp4')
  await writeFile(path, bytes)
  return path
}

describe('without decoding every frame', () => {
  const names: FilmName[] = ['H.264', 'H.264, fragmented', 'H.264 with sound', 'H.264, 4 slices a frame']
  for (const name of names)
    it(`a whole video has the same facts as decoded: ${name}`, async () => {
      const path = await write((await open(name)).bytes)
      const facts = await verifySmart(path, noLimits, new Map())
      assert.notEqual(facts, null)
      assert.deepEqual(facts, await verify(path, { mode: 'full' }))
    })

  it('a film of studio has the same facts as decoded, in a child', async () => {
    const path = folder.file('studio.mp4')
    await media.render(film(path, { seconds: 2 }), () => {}, never)
    assert.notEqual(await verifySmart(path, noLimits, new Map()), null)
    assert.deepEqual(await media.verify(path, 'alice', never, { mode: 'smart' }), {
      seconds: 2,
      size: { width: 320, height: 180 },
      frameRate: 24,
      codec: 'h264',
    })
  })

  it('a changed byte in a frame other than a key frame is not noticed, which is the price', async () => {
    const whole = await open('H.264, 4 slices a frame')
    const { at, size } = whole.samples.find(({ kind }) => kind === 'other') ?? assert.fail()
    let refused = 0
    for (let place = at + 100; place < at + size; place += 701) {
      const path = await write(changed(whole, (copy) => copy.writeUInt8(copy.readUInt8(place) ^ 0x7f, place)))
      assert.notEqual(await verifySmart(path, noLimits, new Map()), null)
      await verify(path, { mode: 'full' }).catch(() => {
        refused += 1
      })
    }
    assert.ok(refused > 0)
  })
})

describe('what looks wrong is left to a decoder of all frames', () => {
  it('zeros that no encoder writes, a wrong number of a frame, a wrong length, a broken key frame', async () => {
    const whole = await open('H.264')
    const { at, size } = whole.samples.findLast(({ kind }) => kind === 'other') ?? assert.fail()
    const next = whole.samples.findLast(({ kind }) => kind === 'key') ?? assert.fail()
    for (const damaged of [
      changed(whole, (copy) => copy.fill(0, at + 20, at + 23)),
      changed(whole, (copy) => copy.fill(0, at + size - 1, at + size)),
      changed(whole, (copy) => copy.writeUInt8(copy.readUInt8(at + 6) ^ 0x40, at + 6)),
      changed(whole, (copy) => copy.writeUInt8(copy.readUInt8(at + 3) ^ 1, at + 3)),
      changed(whole, (copy) => copy.fill(0x55, next.at + 100, next.at + 300)),
    ])
      assert.equal(await verifySmart(await write(damaged), noLimits, new Map()), null)
  })

  it('a video that is unusual, but sound, is accepted', async () => {
    const path = await write((await open('H.264, interlaced')).bytes)
    assert.equal(await verifySmart(path, noLimits, new Map()), null)
    assert.equal((await verify(path, { mode: 'smart' })).seconds, 2)
  })
})

it('a result far above the limits of its model is refused by its header, in both modes', async () => {
  const path = folder.file('large.mp4')
  await filmShades(path, { frames: 48, perSecond: 24, size: { width: 640, height: 640 } })
  const check = (mode: Verification['mode'], change: object) =>
    verify(path, { mode, limits: { pixels: 640 * 640, seconds: 2, frames: 48, ...change } })
  for (const mode of ['full', 'smart'] as const) {
    assert.equal((await check(mode, {})).size.width, 640)
    for (const change of [{ pixels: 640 * 320 }, { seconds: 1 }, { frames: 47 }])
      await assert.rejects(check(mode, change), { code: 'unsupported_output', message: /accepted/ })
  }
})

it('a video whose frames are all black, or all the same, is reported', async () => {
  const looksOf = async (name: FilmName, mode: Verification['mode']) =>
    (await verify(await write((await open(name)).bytes), { mode })).looks
  for (const mode of ['full', 'smart'] as const) {
    assert.equal(await looksOf('H.264', mode), undefined)
    assert.equal(await looksOf('H.264, black', mode), 'black')
    assert.equal(await looksOf('H.264, frozen', mode), 'frozen')
  }
  assert.equal(await looksOf('H.264, frozen, one key frame', 'smart'), undefined)
})

it('the same broken video is refused in every run', async () => {
  const whole = await open('H.264, 4 slices a frame')
  const { at, size } = whole.samples.find(({ kind }) => kind === 'other') ?? assert.fail()
  const outcomes = async (place: number) => {
    const path = await write(changed(whole, (copy) => copy.writeUInt8(copy.readUInt8(place) ^ 0x7f, place)))
    const runs: string[] = []
    for (let run = 0; run < 4; run += 1)
      runs.push(
        await verify(path, { mode: 'full' }).then(
          () => 'accepted',
          () => 'refused',
        ),
      )
    return new Set(runs).size
  }
  for (let place = at + 100; place < at + size; place += 701) assert.equal(await outcomes(place), 1, String(place))
})

import assert from 'node:assert/strict'
import { createReadStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import type { Json } from '../core/task.ts'
import { never } from '../media/fixtures.ts'
import { difference, everyPicture } from '../media/footage.fixture.ts'
import { openMedia } from '../media/pool.ts'
import { attemptIds, call, download, finish, submit } from './contract.ts'
import type { ProviderRequest, ProviderSource } from './provider.ts'
import { createStudio } from './studio.ts'

/* Films that the studio draws from other films. */

const prompt = 'a red fox running through a snowy forest'
const base = { model: 'studio', size: { width: 256, height: 256 }, parameters: { caption: false }, image: null }
const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 20))

async function makeWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-studio-'))
  const world = {
    folder,
    file: (name: string) => join(folder, name),
    media: openMedia({ clock: manualClock(), renderers: 2 }),
    /** As after a restart, which ends the children too. */
    async open() {
      await world.media[Symbol.asyncDispose]()
      world.media = openMedia({ clock: manualClock(), renderers: 2 })
      return createStudio({ folder: join(folder, 'studio'), media: world.media })
    },
    /** Draws the film and returns the path of a copy. */
    async make(request: ProviderRequest, name: string): Promise<string> {
      const provider = await world.open()
      const bytes = await download(provider, await finish(provider, await submit(provider, request), { pause }))
      await provider.forget?.({ film: attemptIds[0] }, call())
      await writeFile(world.file(name), bytes)
      return world.file(name)
    },
    async [Symbol.asyncDispose]() {
      await world.media[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
  return world
}

function sourceOf(kind: ProviderSource['kind'], seconds: number, path: string | null): ProviderSource {
  return { kind, prompt, seconds, video: path === null ? null : async () => createReadStream(path) }
}

it('an extension begins with its source, whole, and goes on from its last picture', async () => {
  await using world = await makeWorld()
  const path = await world.make({ ...base, prompt, seconds: 4 }, 'source.mp4')
  const source = sourceOf('extension', 4, path)
  const longer = await world.make({ ...base, prompt: 'night falls', seconds: 8, source }, 'longer.mp4')
  const facts = { seconds: 8, size: base.size, frameRate: 24, codec: 'h264' }
  assert.deepEqual(await world.media.verify(longer, 'alice', never), facts)
  const [before, after] = [await everyPicture(path), await everyPicture(longer)]
  assert.deepEqual([before.length, after.length], [96, 192])
  for (const index of [0, 47, 95])
    assert.ok(difference(before[index], after[index]) < 3, `picture ${index} is not that of the source`)
  assert.ok(difference(after[95], after[96]) < 3, 'it jumps at the joint')
  assert.ok(difference(after[95], after[191]) > 10, 'nothing new is shown')
})

it('an extension is the same film every time, also when its first drawing was killed', async () => {
  await using world = await makeWorld()
  const path = await world.make({ ...base, prompt, seconds: 1 }, 'source.mp4')
  const request = { ...base, prompt: 'night falls', seconds: 2, source: sourceOf('extension', 1, path) }
  const operation = await submit(await world.open(), request)
  // The source itself may be gone by now: the studio has a copy in its own folder.
  const whole = await world.make(request, 'whole.mp4')
  const killed = await submit(await world.open(), request, attemptIds[1])
  rmSync(path)
  const provider = await world.open()
  const stored = JSON.parse(JSON.stringify(killed)) as Json
  assert.equal(provider.operations?.fits(stored, attemptIds[1]), true)
  const again = await download(provider, await finish(provider, stored, { pause }))
  assert.ok(again.equals(readFileSync(whole)))
  assert.equal((await everyPicture(whole)).length, 48)
  await provider.forget?.(stored, call())
  await provider.forget?.(operation, call())
  assert.deepEqual(readdirSync(world.file('studio')), [])
})

it('an extension goes on at the pace of its source', async () => {
  await using world = await makeWorld()
  const path = await world.make({ ...base, prompt, seconds: 1 }, 'source.mp4')
  const bytes = readFileSync(path)
  // The units of time in a second: its 24 pictures are those of 0.8 s then.
  const scale = bytes.indexOf('mdhd') + 16
  bytes.writeUInt32BE((bytes.readUInt32BE(scale) * 30) / 24, scale)
  await writeFile(path, bytes)
  const source = sourceOf('extension', 1, path)
  const longer = await world.make({ ...base, prompt: 'night falls', seconds: 2, source }, 'longer.mp4')
  assert.equal((await everyPicture(longer)).length, 24 + 30)
  const { seconds } = await world.media.verify(longer, 'alice', never)
  assert.ok(Math.abs(seconds - 1.8) < 0.01, String(seconds))
})

it('a remix shows the scene of its source, changed by its own prompt, in the same composition', async () => {
  await using world = await makeWorld()
  const picturesOf = async (request: ProviderRequest, name: string) =>
    everyPicture(await world.make({ ...request, seconds: 1 }, `${name}.mp4`))
  const [original] = await picturesOf({ ...base, prompt, seconds: 1 }, 'original')
  const source = sourceOf('remix', 1, null)
  const [changed] = await picturesOf({ ...base, prompt: 'at night', seconds: 1, source }, 'changed')
  const [alone] = await picturesOf({ ...base, prompt: 'at night', seconds: 1 }, 'alone')
  const [same] = await picturesOf({ ...base, prompt, seconds: 1, source }, 'same')
  const [kept] = await picturesOf({ ...base, prompt: 'as it is', seconds: 1, source }, 'kept')
  assert.ok(difference(original, changed) > 10, 'it is as it was')
  assert.ok(difference(alone, changed) > 10, 'its source does not count')
  assert.ok(difference(original, same) < 1, 'the same words again make another picture')
  assert.ok(difference(original, kept) < 1, 'words that say nothing make another picture')
})

it('an edit of an uploaded video shows a picture of it', async () => {
  await using world = await makeWorld()
  const upload = await world.make({ ...base, prompt: 'an orange balloon over a desert', seconds: 1 }, 'upload.mp4')
  const source = { ...sourceOf('edit', 1, upload), prompt: null }
  const [shown] = await everyPicture(
    await world.make({ ...base, prompt: 'slow motion', seconds: 1, source }, 'edit.mp4'),
  )
  const [without] = await everyPicture(await world.make({ ...base, prompt: 'slow motion', seconds: 1 }, 'none.mp4'))
  const middle = (await everyPicture(upload))[12]
  assert.ok(difference(middle, shown) < difference(middle, without) / 2)
})

it('an unreadable source fails the film for good; half of a source that breaks off is not kept', async () => {
  await using world = await makeWorld()
  await writeFile(world.file('none.mp4'), 'no film')
  const bad = { ...base, prompt, seconds: 2, source: sourceOf('extension', 1, world.file('none.mp4')) }
  await assert.rejects(world.make(bad, 'bad.mp4'), { code: 'generation_failed', retryable: false })
  const provider = await world.open()
  const broken = { ...bad, source: sourceOf('extension', 1, world.file('missing.mp4')) }
  await assert.rejects(submit(provider, broken, attemptIds[1]))
  assert.equal(existsSync(join(world.folder, 'studio', `${attemptIds[1]}.source`)), false)
})

it('an operation of an older version has no source, and is still valid', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  const film = {
    film: attemptIds[0],
    prompt,
    seconds: 1,
    width: 256,
    height: 256,
    image: false,
    seed: 7,
    caption: true,
  }
  assert.equal(provider.operations?.fits(film, attemptIds[0]), true)
  for (const change of [{ source: 'end' }, { source: 7 }, { earlier: 7 }, { seconds: 21 }])
    assert.equal(provider.operations?.fits({ ...film, ...change } as Json, attemptIds[0]), false)
  assert.ok(await finish(provider, film, { pause }))
})

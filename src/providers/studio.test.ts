import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { Problem } from '../core/problem.ts'
import type { Json } from '../core/task.ts'
import { openMedia } from '../media/pool.ts'
import { attemptIds, call, download, finish, type ProviderWorld, submit, testProvider } from './contract.ts'
import { createStudio } from './studio.ts'

const request = {
  model: 'studio',
  prompt: 'a fox',
  seconds: 1,
  size: { width: 256, height: 256 },
  parameters: {},
  image: null,
}

interface StudioWorld extends ProviderWorld, AsyncDisposable {
  folder: string
  media: ReturnType<typeof openMedia>
}

async function makeWorld(): Promise<StudioWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-studio-'))
  const world: StudioWorld = {
    folder,
    media: openMedia({ clock: manualClock(), renderers: 2 }),
    request,
    async open() {
      // A restart ends the children too.
      await world.media[Symbol.asyncDispose]()
      world.media = openMedia({ clock: manualClock(), renderers: 2 })
      return createStudio({ folder, media: world.media })
    },
    pause: () => new Promise((resolve) => setTimeout(resolve, 20)),
    async [Symbol.asyncDispose]() {
      await world.media[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
  return world
}

testProvider('studio', makeWorld)

it('the same request makes the same film, before and after a restart', async () => {
  await using world = await makeWorld()
  const films: Buffer[] = []
  for (let round = 0; round < 2; round += 1) {
    const provider = await world.open()
    const operation = await submit(provider, request, attemptIds[round])
    films.push(await download(provider, await finish(provider, operation, world)))
  }
  assert.ok(films[0] && films[1]?.equals(films[0]))
})

it('unknown words of a prompt are noted in the timeline; a prompt without them has no note', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  const noteOf = async (prompt: string, attempt: string) => {
    const operation = await submit(provider, { ...request, prompt }, attempt)
    await finish(provider, operation, world)
    const progress = await provider.poll(operation, call())
    return progress.status === 'succeeded' ? progress.note : assert.fail(progress.status)
  }
  const note = await noteOf('a fox with a clarinet, no trombones', attemptIds[0])
  assert.deepEqual(note, ['words not understood', { words: 'clarinet, trombones' }])
  assert.equal(await noteOf('a red fox in the snow, no dogs', attemptIds[1]), undefined)
})

it('a film that is gone when it is fetched can be drawn again', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  const operation = await submit(provider, request)
  const output = await finish(provider, operation, world)
  rmSync(join(world.folder, `${attemptIds[0]}.mp4`))
  await assert.rejects(provider.download(output, call()), { code: 'output_unavailable', retryable: true })
  assert.ok((await download(provider, await finish(provider, operation, world))).length > 0)
})

// A task that was being stored at each of three kills had failed: its film was thrown away at every start.
it('a finished film outlives the process, and is not drawn again', async () => {
  await using world = await makeWorld()
  const operation = await submit(await world.open(), request)
  const first = await world.open()
  const bytes = await download(first, await finish(first, operation, world))
  const second = await world.open()
  world.media.render = () => assert.fail('it was drawn again')
  const output = await finish(second, operation, world)
  assert.ok(bytes.equals(await download(second, output)))
  // The declared length, without which every frame would be decoded.
  const { headers } = await second.download(output, call())
  assert.equal(headers.get('content-length'), String(bytes.length))
})

it('a film whose child died or hung is drawn once more; then it fails, and the next poll starts over', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  const real = world.media.render
  let drawn = 0
  world.media.render = async () => {
    drawn += 1
    throw new Problem('generation_failed', 'the child died', { retryable: true })
  }
  const operation = await submit(provider, request)
  await assert.rejects(finish(provider, operation, world), { code: 'generation_failed' })
  assert.equal(drawn, 2)
  world.media.render = (...film) => (drawn++ === 2 ? Promise.reject(new Error('again')) : real(...film))
  assert.ok(await finish(provider, operation, world))
  assert.equal(drawn, 4)
})

// On a busy machine, films had failed whose child got no CPU time twice.
it('a film whose child starves or is killed is drawn again as often as that happens, and does not fail', async () => {
  await using world = await makeWorld()
  const clock = manualClock()
  await using media = openMedia({ clock, renderers: 1 })
  const provider = await createStudio({ folder: world.folder, media })
  const operation = await submit(provider, request)
  const busy = () => media.children().find(({ job }) => job === 'render')?.pid
  for (const signal of ['SIGSTOP', 'SIGKILL', 'SIGSTOP'] as const) {
    while (busy() === undefined) await world.pause()
    process.kill(busy() ?? 0, signal)
    clock.advance(3_600_000)
    await assert.rejects(finish(provider, operation, world), { code: 'overloaded', retryable: true })
    // The next poll starts over.
    assert.equal((await provider.poll(operation, call())).status, 'running')
  }
  assert.ok(await finish(provider, operation, world))
})

it('a film that can not be drawn fails at once, as data; a full disk is thrown', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  world.media.render = () => Promise.reject(new Problem('generation_failed', 'The reference image could not be read.'))
  const operation = await submit(provider, request)
  await world.pause()
  const answer = await provider.poll(operation, call())
  assert.equal(answer.status === 'failed' && answer.problem.code, 'generation_failed')
  world.media.render = () => Promise.reject(Problem.ofStorage('full'))
  await assert.rejects(finish(provider, operation, world), { code: 'storage_unavailable' })
})

it('forget removes all files of a finished film, and a start removes half films of a dead process', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  const operation = await submit(provider, request)
  await finish(provider, operation, world)
  await provider.forget?.(operation, call())
  assert.deepEqual(readdirSync(world.folder), [])
  for (const name of ['2.mp4.part', '2.image', '3.mp4']) writeFileSync(join(world.folder, name), 'x')
  await world.open()
  assert.deepEqual(readdirSync(world.folder).sort(), ['2.image', '3.mp4'])
})

// An operator's typing mistake had served a file of the machine to a client, and deleted it.
it('a name that is not the id of an attempt reaches no file, by any method', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  const own = (await submit(provider, request)) as Record<string, Json>
  const folder = join(world.folder, 'private')
  mkdirSync(folder)
  const names = ['private/home', '../private/home', `${attemptIds[0]}/../private/home`, `${folder}/home`]
  for (const ending of ['mp4', 'image']) writeFileSync(join(folder, `home.${ending}`), 'private')
  world.media.render = () => assert.fail('it was drawn')
  const odd: Json[] = [...names, '..', '', 7, null, `${attemptIds[1]}\n`].map((film) => ({ ...own, film }))
  for (const operation of [...odd, 'private/home', null, []]) {
    assert.deepEqual(await provider.poll(operation, call()), { status: 'missing' })
    await assert.rejects(provider.download(operation, call()), { code: 'output_unavailable' })
    await provider.cancel?.(operation, call())
    await provider.forget?.(operation, call())
    assert.equal(provider.operations?.fits(operation, attemptIds[0]), false)
  }
  for (const name of names) await assert.rejects(submit(provider, request, name))
  assert.deepEqual(
    ['mp4', 'image'].map((ending) => existsSync(join(folder, `home.${ending}`))),
    [true, true],
  )
})

it('an operation of another attempt, or with values that the card refuses, does not fit', async () => {
  await using world = await makeWorld()
  const provider = await world.open()
  const own = (await submit(provider, request)) as Record<string, Json>
  const fits = (change: Record<string, Json>) => provider.operations?.fits({ ...own, ...change }, attemptIds[0])
  assert.deepEqual([fits({}), fits({ seed: 7, prompt: 'x' }), fits({ film: attemptIds[1] })], [true, true, false])
  const odd = [{ seconds: 1e9 }, { seconds: '4' }, { width: 257 }, { height: 0 }, { prompt: 7 }, { image: 'x' }]
  for (const change of [...odd, { seed: -1 }, { caption: null }]) {
    assert.equal(fits(change), false)
    const damaged = { ...own, film: attemptIds[1], ...change }
    assert.deepEqual(await provider.poll(damaged, call()), { status: 'missing' }, 'nothing is drawn')
  }
})

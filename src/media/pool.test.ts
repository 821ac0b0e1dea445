import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { Problem } from '../core/problem.ts'
import { film, manualClock, never, picture, temporaryFolder } from './fixtures.ts'
import type { Film } from './media.ts'
import { type MediaPool, openMedia } from './pool.ts'

const silent = () => {}
const long = { seconds: 20, size: { width: 1280, height: 720 } }
const image = {
  bytes: picture({ width: 64, height: 48 }, 'image/png'),
  type: 'image/png',
  size: { width: 64, height: 48 },
} as const

/** Starts a film, and resolves with its child and its end at the first progress message. */
async function underway(media: MediaPool, wanted: Film, signal = never) {
  const busy = media.children().filter(({ job }) => job === 'render')
  const others = new Set(busy.map(({ pid }) => pid))
  const started = Promise.withResolvers<void>()
  const end = media.render(wanted, () => started.resolve(), signal)
  await Promise.race([started.promise, end])
  const child = media.children().find(({ pid, job }) => job === 'render' && !others.has(pid))
  assert.ok(child)
  // The caller awaits it later; until then a rejection must not count as unhandled.
  end.catch(silent)
  return { pid: child.pid, end }
}

async function isAlive(pid: number): Promise<boolean> {
  // An orphan that was not reaped yet is a zombie: state Z, after the name in brackets.
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z')
  return !/\) [ZX]/.test(status)
}

test('a crash costs only its own film, which may be tried again', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 2 })
  for (const [signal, code] of [
    ['SIGKILL', 'overloaded'],
    ['SIGSEGV', 'generation_failed'],
  ] as const) {
    const doomed = await underway(media, film(folder.file('doomed.mp4'), long))
    const spared = await underway(media, film(folder.file('spared.mp4'), { seconds: 2 }))
    process.kill(doomed.pid, signal)
    await assert.rejects(doomed.end, (problem: Problem) => {
      assert.match(String(problem.cause), new RegExp(signal))
      assert.deepEqual([problem.code, problem.retryable], [code, true])
      return true
    })
    await spared.end
    assert.equal((await media.verify(folder.file('spared.mp4'), 'alice', never)).seconds, 2)
    assert.deepEqual((await readdir(dirname(folder.file('x')))).sort(), ['spared.mp4'])
  }
})

test('as many videos are verified in parallel as there are cores', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1, cores: 2 })
  await media.render(film(folder.file('film.mp4'), { seconds: 2 }), silent, never)
  const looks = [1, 2, 3].map(() => media.verify(folder.file('film.mp4'), 'alice', never))
  let most = 0
  for (let left = looks.length; left > 0; await new Promise(setImmediate)) {
    most = Math.max(most, media.children().filter(({ job }) => job === 'verify').length)
    left = (await Promise.all(looks.map((look) => Promise.race([look, null])))).filter((facts) => !facts).length
  }
  assert.equal(most, 2)
})

test('the images of one owner leave a slot and a core to others', async () => {
  for (const [cores, expected] of [
    [2, 1],
    [4, 2],
  ] as const) {
    await using media = openMedia({ clock: manualClock(), renderers: 1, cores })
    const busy = () => media.children().filter(({ job }) => job === 'inspect').length
    const ends = [1, 2, 3].map(() => media.inspect(image, 'alice', never))
    await new Promise(setImmediate)
    assert.equal(busy(), expected)
    const other = media.inspect(image, 'bob', never)
    await new Promise(setImmediate)
    assert.equal(busy(), expected + 1)
    await Promise.all([...ends, other])
  }
})

test('a crash refuses a video and never an image; a kill by the machine is the fault of neither', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  await media.render(film(folder.file('film.mp4')), silent, never)
  const ended = new Set<number>()
  const verify = () => media.verify(folder.file('film.mp4'), 'alice', never)
  const inspect = () => media.inspect(image, 'alice', never)
  for (const [run, kind, deaths, signal, problem] of [
    [verify, 'verify', 1, 'SIGSEGV', { code: 'unsupported_output', retryable: true }],
    [verify, 'verify', 1, 'SIGKILL', { code: 'overloaded', retryable: true }],
    [inspect, 'inspect', 2, 'SIGABRT', { code: 'image_unavailable', retryable: true }],
    [inspect, 'inspect', 2, 'SIGKILL', { code: 'overloaded', retryable: true }],
  ] as const) {
    const refused = assert.rejects(run, (thrown: Problem) => {
      assert.match(String(thrown.cause), new RegExp(`ended with ${signal}`))
      assert.deepEqual({ code: thrown.code, retryable: thrown.retryable }, problem)
      return true
    })
    for (let death = 0; death < deaths; death += 1) {
      // The job takes its slot in the next turns of the event loop, long before its child has started.
      const victim = () => media.children().find(({ job, pid }) => job === kind && !ended.has(pid))?.pid
      while (victim() === undefined) await new Promise((resolve) => setImmediate(resolve))
      const pid = victim() ?? 0
      ended.add(pid)
      process.kill(pid, signal)
    }
    await refused
    await run()
  }
})

/** The child of a job, as soon as there is one. */
async function childOf(media: MediaPool, kind: string): Promise<number> {
  const busy = () => media.children().find(({ job }) => job === kind)?.pid
  while (busy() === undefined) await new Promise((resolve) => setImmediate(resolve))
  return busy() ?? 0
}

// A valid JPEG was `invalid_image` on a busy machine, and a film was `generation_failed`.
test('a job whose child gets no CPU time may be tried again later', async () => {
  await using folder = await temporaryFolder()
  const clock = manualClock()
  await using media = openMedia({ clock, renderers: 1 })
  await media.render(film(folder.file('film.mp4')), silent, never)
  for (const [kind, run] of [
    ['verify', () => media.verify(folder.file('film.mp4'), 'alice', never)],
    ['inspect', () => media.inspect(image, 'alice', never)],
    ['render', () => media.render(film(folder.file('other.mp4')), silent, never)],
  ] as const) {
    const refused = assert.rejects(run(), (problem: Problem) => {
      assert.deepEqual([problem.code, problem.retryable], ['overloaded', true])
      assert.match(String(problem.cause), /no progress for [\d.]+ s; the media child ended with SIGKILL/)
      return true
    })
    const pid = await childOf(media, kind)
    process.kill(pid, 'SIGSTOP')
    clock.advance(3_600_000)
    await refused
    assert.equal(await isAlive(pid), false)
    // It is not tried again at once: where one child starves, so does the next.
    assert.deepEqual(
      media.children().filter(({ job }) => job === kind),
      [],
    )
    await run()
  }
})

test('an image is not to blame for a child that died once', async () => {
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  const inspected = media.inspect(image, 'alice', never)
  process.kill(await childOf(media, 'inspect'), 'SIGKILL')
  await inspected
})

test('a long film yields to a short one, with all of its threads', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 2 })
  const stop = new AbortController()
  const priorities: number[] = []
  for (const seconds of [4, 5]) {
    const wanted = film(folder.file(`${seconds}.mp4`), { ...long, seconds })
    const { pid } = await underway(media, wanted, stop.signal)
    const threads = await readdir(`/proc/${pid}/task`)
    priorities.push(Math.min(...threads.map((thread) => getPriority(Number(thread)))))
  }
  assert.deepEqual(
    priorities,
    [10, 15].map((nice) => Math.min(19, getPriority() + nice)),
  )
  stop.abort(new Error('seen'))
})

test('films wait for their turn in order, and no other job waits for films', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  const ended: string[] = []
  const films = ['one', 'two', 'three'].map((name) =>
    media.render(film(folder.file(name)), silent, never).then(() => ended.push(name)),
  )
  await media.inspect(image, 'alice', never)
  assert.ok(ended.length < 3)
  await Promise.all(films)
  assert.deepEqual(ended, ['one', 'two', 'three'])
  assert.equal(media.children().length, 2)
})

test('an abort ends a film that is being made or waits, with its own reason, and leaves no file', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  const [first, second] = [new AbortController(), new AbortController()]
  const { pid, end } = await underway(media, film(folder.file('first.mp4'), long), first.signal)
  const waiting = media.render(film(folder.file('second.mp4')), silent, second.signal)
  const last = media.render(film(folder.file('last.mp4')), silent, never)
  second.abort(new Error('not wanted'))
  await assert.rejects(waiting, { message: 'not wanted' })
  first.abort(new Error('deleted'))
  await assert.rejects(end, { message: 'deleted' })
  assert.equal(await isAlive(pid), false)
  await last
  assert.deepEqual(await readdir(dirname(folder.file('x'))), ['last.mp4'])
  await assert.rejects(media.inspect(image, 'alice', AbortSignal.abort(new Error('too late'))), { message: 'too late' })
})

test('a listener that throws fails its own film only', async () => {
  await using folder = await temporaryFolder()
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  const broken = () => {
    throw new Error('the listener is broken')
  }
  await assert.rejects(media.render(film(folder.file('one.mp4')), broken, never), { message: 'the listener is broken' })
  await media.render(film(folder.file('two.mp4')), silent, never)
})

test('closing ends all films and leaves no child', async () => {
  await using folder = await temporaryFolder()
  const media = openMedia({ clock: manualClock(), renderers: 1 })
  await media.inspect(image, 'alice', never)
  const { end } = await underway(media, film(folder.file('one.mp4'), long))
  const waiting = assert.rejects(media.render(film(folder.file('two.mp4')), silent, never), { retryable: true })
  const pids = media.children().map((child) => child.pid)
  assert.equal(pids.length, 2)
  await media[Symbol.asyncDispose]()
  assert.deepEqual(await Promise.all(pids.map(isAlive)), [false, false])
  assert.deepEqual(media.children(), [])
  await assert.rejects(end, { retryable: true })
  await waiting
  await assert.rejects(media.inspect(image, 'alice', never), { retryable: true })
})

test('a child serves again and again, and goes when it was idle for 30 s', async () => {
  const clock = manualClock()
  await using media = openMedia({ clock, renderers: 1 })
  await media.inspect(image, 'alice', never)
  const [first] = media.children()
  clock.advance(29_000)
  await media.inspect(image, 'alice', never)
  assert.deepEqual(media.children(), [first])
  clock.advance(29_000)
  assert.equal(media.children().length, 1)
  clock.advance(1_000)
  while (media.children().length > 0) await new Promise((resolve) => setImmediate(resolve))
  await media.inspect(image, 'alice', never)
})

test('a child inherits nothing from the environment', async () => {
  process.env.FILMGATE_SECRET = 'never to be seen'
  await using media = openMedia({ clock: manualClock(), renderers: 1 })
  await media.inspect(image, 'alice', never)
  const environment = await readFile(`/proc/${media.children()[0]?.pid}/environ`, 'utf8')
  delete process.env.FILMGATE_SECRET
  assert.doesNotMatch(environment, /FILMGATE|SECRET|HOME|PATH=/)
})

test('a child goes when its parent is killed, even in the middle of a film', async () => {
  await using folder = await temporaryFolder()
  const script = `
    import { film, manualClock, never } from ${JSON.stringify(new URL('./fixtures.ts', import.meta.url).href)}
    import { openMedia } from ${JSON.stringify(new URL('./pool.ts', import.meta.url).href)}
    const media = openMedia({ clock: manualClock(), renderers: 1 })
    const report = () => console.log(media.children()[0].pid)
    await media.render(film(${JSON.stringify(folder.file('film.mp4'))}, ${JSON.stringify(long)}), report, never)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = await once(parent.stdout, 'data')
  const pid = Number.parseInt(String(text), 10)
  assert.equal(await isAlive(pid), true)
  parent.kill('SIGKILL')
  while (await isAlive(pid)) await new Promise((resolve) => setImmediate(resolve))
})

test('an idle pool keeps no process alive', async () => {
  const script = `
    import { manualClock, never } from ${JSON.stringify(new URL('./fixtures.ts', import.meta.url).href)}
    import { openMedia } from ${JSON.stringify(new URL('./pool.ts', import.meta.url).href)}
    const media = openMedia({ clock: manualClock(), renderers: 1 })
    const bytes = Buffer.from(${JSON.stringify(image.bytes.toString('base64'))}, 'base64')
    await media.inspect({ bytes, type: 'image/png', size: { width: 64, height: 48 } }, 'alice', never)
    console.log(media.children()[0].pid)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(parent, 'exit')
  const [text] = await once(parent.stdout, 'data')
  assert.deepEqual(await ended, [0, null])
  while (await isAlive(Number.parseInt(String(text), 10))) await new Promise((resolve) => setImmediate(resolve))
})

test('a package that is missing is named to the operator, and not to the client', async () => {
  await using folder = await temporaryFolder()
  // A copy outside of the project finds no packages.
  const source = join(import.meta.dirname, '..')
  await cp(join(source, 'core'), folder.file('src/core'), { recursive: true })
  await cp(join(source, 'media'), folder.file('src/media'), { recursive: true })
  await writeFile(folder.file('package.json'), '{"type":"module"}')
  const pool: typeof import('./pool.ts') = await import(folder.file('src/media/pool.ts'))
  await using media = pool.openMedia({ clock: manualClock(), renderers: 1 })
  await assert.rejects(media.render(film(folder.file('film.mp4')), silent, never), {
    code: 'internal',
    message: /on our side/,
    cause: /node-av could not be loaded: run "npm ci" without --omit=optional/,
  })
})

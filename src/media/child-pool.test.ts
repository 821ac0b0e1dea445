import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../core/problem.ts'
import { type Job, type Loss, openChildPool } from './child-pool.ts'
import { film, manualClock, never, picture, temporaryFolder } from './fixtures.ts'

const size = { width: 1_000, height: 1_000 }
const image = { bytes: picture(size, 'image/png'), type: 'image/png', size } as const

function inspection(owner: string, silence: Job['silence']): Job & { losses: Loss[] } {
  const losses: Loss[] = []
  const lost = (cause: string, loss: Loss) => {
    losses.push(loss)
    return new Problem('internal', cause)
  }
  return { request: { kind: 'inspect', image }, owner, silence, onProgress: () => {}, lost, losses }
}

const patient = { cpuMs: 60_000, wallMs: 600_000 }

test('a child that uses its CPU time without a message is killed as hung', async () => {
  const clock = manualClock()
  await using pool = openChildPool({ clock, width: 1 })
  const job = inspection('alice', { cpuMs: 20, wallMs: 1e9 })
  let isOver = false
  const refused = assert.rejects(pool.run(job, never), /no progress in 0.02 s of CPU time; .* SIGKILL/).finally(() => {
    isOver = true
  })
  for (; !isOver; await new Promise((resolve) => setImmediate(resolve))) clock.advance(1_000)
  await refused
  assert.deepEqual(job.losses, ['hung'])
})

// The limit was once 10 s of wall time, even if the machine gave the child no CPU time.
test('a child that got no CPU time for a while ends its job when it gets some', async () => {
  const clock = manualClock()
  await using pool = openChildPool({ clock, width: 1 })
  const job = inspection('alice', { cpuMs: 10_000, wallMs: 60_000 })
  const inspected = pool.run(job, never)
  while (pool.children().length === 0) await new Promise((resolve) => setImmediate(resolve))
  const pid = pool.children()[0]?.pid ?? 0
  process.kill(pid, 'SIGSTOP')
  for (let second = 0; second < 50; second += 1) {
    clock.advance(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  process.kill(pid, 'SIGCONT')
  await inspected
  assert.deepEqual(job.losses, [])
})

test('a child that sends messages is not killed, for any time and any CPU time', async () => {
  await using folder = await temporaryFolder()
  const clock = manualClock()
  await using pool = openChildPool({ clock, width: 1 })
  const wanted = film(folder.file('film.mp4'), { seconds: 4 })
  const onProgress = () => clock.advance(50_000)
  await pool.run({ ...inspection('alice', patient), request: { kind: 'render', film: wanted }, onProgress }, never)
  assert.ok(clock.now() > patient.wallMs)
})

test('owners take turns, and one that has too many waiting is refused at once', async () => {
  await using pool = openChildPool({
    clock: manualClock(),
    width: 1,
    queue: { mostHeld: 1, mostWaiting: 3, what: 'images' },
  })
  const ended: string[] = []
  const run = (owner: string) => pool.run(inspection(owner, patient), never).then(() => ended.push(owner))
  const crowd = Array.from({ length: 4 }, () => run('alice'))
  const other = run('bob')
  await assert.rejects(run('alice'), {
    code: 'rate_limit_exceeded',
    message: /This token has 3 images waiting already/,
  })
  await Promise.all([...crowd, other])
  assert.deepEqual(ended, ['alice', 'bob', 'alice', 'alice', 'alice'])
})

test('a child that has done its number of jobs is replaced', async () => {
  await using pool = openChildPool({ clock: manualClock(), width: 1, mostJobs: 2 })
  const busy = () => pool.children().find(({ job }) => job !== null)?.pid
  const pids: number[] = []
  for (let number = 0; number < 4; number += 1) {
    const done = pool.run(inspection('alice', patient), never)
    while (busy() === undefined) await new Promise((resolve) => setImmediate(resolve))
    pids.push(busy() ?? 0)
    await done
  }
  assert.deepEqual([pids[0] === pids[1], pids[2] === pids[3], pids[1] === pids[2]], [true, true, false])
})

test('a pool with a spare child has one ready as soon as a job begins', async () => {
  await using pool = openChildPool({ clock: manualClock(), width: 2, hasSpare: true })
  const run = pool.run(inspection('alice', patient), never)
  while (pool.children().length < 2) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    pool.children().map(({ job }) => job),
    ['inspect', null],
  )
  await run
})

test('the next job goes to a child that has worked, and not to one that is new', async () => {
  await using pool = openChildPool({ clock: manualClock(), width: 2, hasSpare: true })
  await pool.run(inspection('alice', patient), never)
  assert.equal(pool.children().length, 2)
  const next = pool.run(inspection('alice', patient), never)
  while (!pool.children().some(({ job }) => job)) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    pool.children().map(({ job }) => job),
    ['inspect', null],
  )
  await next
})

test('while jobs of one owner wait, a child is ready for the next owner, and only then', async () => {
  const clock = manualClock()
  await using pool = openChildPool({ clock, width: 3, queue: { mostHeld: 1, mostWaiting: 3, what: 'images' } })
  const run = (owner: string) => pool.run(inspection(owner, patient), never)
  const jobs = () => pool.children().map(({ job }) => job)
  await run('alice')
  assert.deepEqual(jobs(), [null])
  const crowd = [run('alice'), run('alice')]
  while (!jobs().includes('inspect')) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(jobs(), ['inspect', null])
  // An idle child goes after 30 s; this one stays, because jobs wait.
  clock.advance(30_000)
  await new Promise((resolve) => setImmediate(resolve))
  const spare = pool.children()[1]?.pid
  const other = run('bob')
  while (jobs().filter(Boolean).length < 2) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(pool.children()[1]?.pid, spare)
  assert.equal(jobs()[1], 'inspect')
  await Promise.all([...crowd, other])
})

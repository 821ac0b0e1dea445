import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Bell, openBell, sharedSpacing } from './bell.ts'
import { type ManualClock, manualClock } from './clock.fixture.ts'

const spacing = { leastMs: 50, usualMs: () => 50, longestMs: 250 }

it('ends waits at least as far apart as it is told, and the first one after a pause at once', async () => {
  const clock = manualClock(10_000)
  const bell = openBell(clock, spacing)
  const ends: number[] = []
  const loop = async () => {
    for (let at = 0; at < 4; at += 1) {
      bell.mute()
      await bell.wait(1_000, new AbortController().signal)
      ends.push(clock.now())
    }
  }
  const looping = loop()
  for (const ms of [0, 10, 10, 30, 200, 10, 40]) {
    clock.advance(ms)
    bell.ring()
    await turn()
  }
  await looping
  assert.deepEqual(ends, [10_000, 10_050, 10_250, 10_300])
})

it('loses no ring of a rest', async () => {
  const clock = manualClock(10_000)
  const bell = openBell(clock, spacing)
  const { signal } = new AbortController()
  bell.ring()
  await bell.wait(1_000, signal)
  bell.mute()
  bell.ring()
  const resting = bell.wait(1_000, signal)
  await turn()
  clock.advance(50)
  await resting
  assert.equal(clock.now(), 10_050)
})

it('ends a rest when its signal aborts', async () => {
  const bell = openBell(manualClock(10_000), spacing)
  const stop = new AbortController()
  bell.ring()
  await bell.wait(1_000, stop.signal)
  const resting = bell.wait(1_000, stop.signal)
  await turn()
  stop.abort()
  await resting
})

/** The time from the end of the last wait to the end of this one, with so much work between them. */
async function apartAfter(workedMs: number, bell: Bell, clock: ManualClock, isShort = false): Promise<number> {
  const begin = clock.now()
  clock.advance(workedMs)
  bell.ring()
  const waiting = bell.wait(1_000, new AbortController().signal, isShort)
  for (let isOver = false; !isOver; clock.advance(isOver ? 0 : 10)) {
    await turn()
    isOver = await Promise.race([waiting.then(() => true), turn().then(() => false)])
  }
  return clock.now() - begin
}

it('rests longer after long work, up to its limit', async () => {
  const clock = manualClock(10_000)
  const bell = openBell(clock, spacing)
  await apartAfter(0, bell, clock)
  const apart: number[] = []
  for (const workedMs of [0, 20, 100, 400]) apart.push(await apartAfter(workedMs, bell, clock))
  assert.deepEqual(apart, [50, 100, 250, 400])
})

it('rests for the time that is usual at the moment, up to its limit', async () => {
  const clock = manualClock(10_000)
  let usualMs = 0
  const bell = openBell(clock, { ...spacing, usualMs: () => usualMs })
  await apartAfter(0, bell, clock)
  const apart: number[] = []
  for (usualMs of [50, 200, 500]) apart.push(await apartAfter(0, bell, clock))
  assert.deepEqual(apart, [50, 200, 250])
  assert.equal(await apartAfter(0, bell, clock, true), 50, 'there is more to do')
})

it('lets processes that share a store look less often, the more there are, each at a time of its own', () => {
  let [processes, byte] = [1, 0]
  const { leastMs, longestMs, usualMs } = sharedSpacing(
    () => processes,
    (count) => new Uint8Array(count).fill(byte),
  )
  const range = (count: number) => {
    processes = count
    return [0, 255].map((each) => {
      byte = each
      return Math.round(usualMs())
    })
  }
  assert.deepEqual([1, 2, 3, 4, 20].map(range), [
    [50, 50],
    [50, 150],
    [50, 250],
    [150, 250],
    [150, 250],
  ])
  assert.deepEqual([leastMs, longestMs], [50, 250])
})

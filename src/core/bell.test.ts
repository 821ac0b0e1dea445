import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openBell } from './bell.ts'
import { manualClock } from './clock.fixture.ts'

const rests = { leastMs: () => 50, mostMs: 250 }

it('ends waits at least as far apart as it is told, and the first one after a pause at once', async () => {
  const clock = manualClock(10_000)
  const bell = openBell(clock, rests)
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
  const bell = openBell(clock, rests)
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
  const bell = openBell(manualClock(10_000), rests)
  const stop = new AbortController()
  bell.ring()
  await bell.wait(1_000, stop.signal)
  const resting = bell.wait(1_000, stop.signal)
  await turn()
  stop.abort()
  await resting
})

it('rests longer after long work, up to its limit', async () => {
  const clock = manualClock(10_000)
  const bell = openBell(clock, rests)
  const { signal } = new AbortController()
  bell.ring()
  await bell.wait(1_000, signal)
  const apart: number[] = []
  for (const workedMs of [0, 20, 100, 400]) {
    const begin = clock.now()
    clock.advance(workedMs)
    bell.ring()
    const resting = bell.wait(1_000, signal)
    for (let isOver = false; !isOver; clock.advance(isOver ? 0 : 10)) {
      await turn()
      isOver = await Promise.race([resting.then(() => true), turn().then(() => false)])
    }
    apart.push(clock.now() - begin)
  }
  assert.deepEqual(apart, [50, 100, 250, 400])
})

it('rests as long as it is told at the time', async () => {
  const clock = manualClock(10_000)
  let leastMs = 0
  const bell = openBell(clock, { leastMs: () => leastMs, mostMs: 250 })
  const { signal } = new AbortController()
  bell.ring()
  await bell.wait(1_000, signal)
  const apart: number[] = []
  for (leastMs of [50, 200, 500]) {
    const begin = clock.now()
    bell.ring()
    const resting = bell.wait(1_000, signal)
    for (let isOver = false; !isOver; clock.advance(isOver ? 0 : 10)) {
      await turn()
      isOver = await Promise.race([resting.then(() => true), turn().then(() => false)])
    }
    apart.push(clock.now() - begin)
  }
  assert.deepEqual(apart, [50, 200, 250])
})

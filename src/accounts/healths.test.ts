import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import type { AccountView } from '../core/account.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { type Health, healthy } from '../core/health.ts'
import { openSqlite } from '../stores/sqlite.ts'
import type { Store } from '../stores/store.ts'
import { goneMs, openHealths } from './healths.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-healths-'))
after(() => rmSync(folder, { recursive: true }))
const log = { info() {}, warn: assert.fail, error: assert.fail }
const busy: Health = { failures: 1, pausedUntil: 60_000, reason: 'busy' }
const second = 1_000

/** A store, and processes that share it. */
async function openWorld() {
  const data = mkdtempSync(join(folder, 'store-'))
  const store = await openSqlite({ folder: data, now: 0, onFatal: assert.ifError })
  const clock = manualClock(1_000_000)
  const enter = (names: string[], seen: Store = store, process = '') => {
    const accounts = new Map(names.map((name) => [name, { name, keyVersion: 'k', health: healthy } as AccountView]))
    return { accounts, ...openHealths({ store: seen, accounts, clock, log, process, since: 0 }) }
  }
  return { store, clock, enter, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() }
}
type Process = ReturnType<Awaited<ReturnType<typeof openWorld>>['enter']>

const accountOf = ({ accounts }: Process, name: string) => accounts.get(name) as AccountView

it('a process that just started, and finds an account healthy, ends no pause of another process', async () => {
  await using world = await openWorld()
  const [one, fresh, third] = [world.enter(['p']), world.enter(['p']), world.enter(['p'])]
  accountOf(one, 'p').health = busy
  await one.report('p')
  world.clock.advance(second)
  await fresh.report('p')
  for (const process of [fresh, third]) {
    await process.refresh()
    assert.deepEqual(accountOf(process, 'p').health, busy)
  }
  world.clock.advance(second)
  accountOf(third, 'p').health = healthy
  await third.report('p')
  await one.refresh()
  assert.deepEqual(accountOf(one, 'p').health, healthy, 'a process that knew of the pause ends it for all')
})

/** Lets the process read the store every second for so many seconds. */
async function learnFor(
  world: Awaited<ReturnType<typeof openWorld>>,
  process: Process,
  seconds: number,
  act = async () => {},
) {
  for (let at = 0; at < seconds; at += 1) {
    await act()
    await process.refresh()
    world.clock.advance(second)
  }
}

it('a process that reports is not gone; after 20 s without a report it is, and so is one that never reported', async () => {
  await using world = await openWorld()
  const [one, other] = [world.enter(['studio@a']), world.enter([])]
  const gone = () => ['studio@a', 'studio@never'].map(other.isGone)
  assert.deepEqual(gone(), [false, false], 'nothing was read yet')
  await learnFor(world, other, goneMs / second, one.beat)
  assert.deepEqual(gone(), [false, false])
  await learnFor(world, other, 100, one.beat)
  assert.deepEqual(gone(), [false, true])
  await learnFor(world, other, goneMs / second - 5)
  assert.deepEqual(gone(), [false, true])
  await learnFor(world, other, 10)
  assert.deepEqual(gone(), [true, true])
})

it('the processes that are not gone are counted, each once, and at least this one', async () => {
  await using world = await openWorld()
  // The other has no account that is local.
  const [one, other] = [world.enter(['studio@a', 'probe@a', 'p']), world.enter(['p'], world.store, 'b')]
  const counts = () => [one, other].map(({ processes }) => processes())
  assert.deepEqual(counts(), [1, 1], 'nothing was read yet')
  // Shared by all, so its health is no sign of a process.
  accountOf(one, 'p').health = busy
  await Promise.all([one.beat(), other.beat(), one.report('p')])
  await learnFor(world, one, 10, other.beat)
  assert.deepEqual(counts(), [2, 1])
  world.clock.advance(10 * goneMs)
  await one.refresh()
  assert.deepEqual(counts(), [2, 1], 'the database may have been away')
  await learnFor(world, one, goneMs / second + 5, one.beat)
  assert.deepEqual(counts(), [1, 1], 'the other is silent')
})

it('no process is gone whose reports could not be read: the store was away, or the reader stood still', async () => {
  await using world = await openWorld()
  const [one, other] = [world.enter(['studio@a']), world.enter([])]
  await one.beat()
  await learnFor(world, other, 10)
  world.clock.advance(10 * goneMs)
  assert.equal(other.isGone('studio@a'), false, 'it did not read yet')
  await learnFor(world, other, goneMs / second)
  assert.equal(other.isGone('studio@a'), false, 'the other may have stood still as well')
  await learnFor(world, other, 2)
  assert.equal(other.isGone('studio@a'), true)
  await one.beat()
  await learnFor(world, other, 1)
  assert.equal(other.isGone('studio@a'), false, 'it is back')
})

it('only a worker reports that it is alive, for its local accounts, whose saved health it ignores', async () => {
  await using world = await openWorld()
  const [alone, api, worker] = [world.enter(['p', 'studio']), world.enter(['studio@a']), world.enter(['studio@b', 'p'])]
  await alone.beat()
  // As a process does that only serves requests.
  await api.refresh()
  await api.report('studio@a')
  assert.deepEqual(await world.store.healths(), [])
  await worker.beat()
  assert.deepEqual(
    (await world.store.healths()).map(({ account }) => account),
    ['studio@b'],
  )
  accountOf(worker, 'studio@b').health = busy
  await worker.refresh()
  assert.deepEqual(accountOf(worker, 'studio@b').health, busy)
})

it('a report that can not be saved is an error, and the next one is saved as soon as possible', async () => {
  await using world = await openWorld()
  let away = true
  const worker = world.enter(['studio@a'], {
    ...world.store,
    saveHealth: (health) => (away ? Promise.reject(new Error('away')) : world.store.saveHealth(health)),
  })
  await assert.rejects(worker.beat(), /away/)
  away = false
  await worker.beat()
  assert.equal((await world.store.healths()).length, 1)
})

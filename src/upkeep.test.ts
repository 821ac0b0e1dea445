import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { until } from '../test/service.ts'
import { manualClock } from './core/clock.fixture.ts'
import { newTask } from './stores/contract/world.ts'
import { openSqlite } from './stores/index.ts'
import type { Store } from './stores/store.ts'
import { noticesKeptMs, startUpkeep } from './upkeep.ts'

const now = 1_700_000_000_000

/** A store with a notice of each of these times. */
async function openStore(folder: string, times: readonly number[]): Promise<Store> {
  const store = await openSqlite({ folder, now, onFatal: () => {} })
  await Promise.all(times.map((_, at) => store.insert(newTask(String(at)))))
  for (const [at, time] of times.entries()) await store.delete('alice', newTask(String(at)).id, time)
  return store
}

it('drops notices that are older than a day, page by page, and goes on while the service runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-test-'))
  const clock = manualClock(now)
  const log: string[] = []
  const write = (event: string) => void log.push(event)
  await using store = await openStore(folder, [now - noticesKeptMs - 2, now - noticesKeptMs - 1, now - 90_000, now])
  const left = async () => (await store.notices(0, [], 100)).length
  let isAway = true
  const trimNotices: Store['trimNotices'] = async (before) => {
    if (isAway) throw new Error('away')
    return store.trimNotices(before, 1_000)
  }
  {
    const logged = { info: write, warn: write, error: write }
    await using _upkeep = startUpkeep({ store: { ...store, trimNotices }, clock, log: logged })
    await until('it meets a store that is away', () => log.length === 1, 5)
    assert.equal(await left(), 4)
    isAway = false
    clock.advance(60_000)
    await until('it dropped what was too old', async () => (await left()) === 2, 5)
    clock.advance(noticesKeptMs)
    await until('it dropped what became too old, but the newest', async () => (await left()) === 1, 5)
  }
  rmSync(folder, { recursive: true })
})

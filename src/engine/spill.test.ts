import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { assertDurable, type DiskEvent, watchDisk } from '../buckets/disk-watch.fixture.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { factOf, newTask, sent } from '../stores/contract/world.ts'
import { openSqlite } from '../stores/sqlite.ts'
import { memoryUnsentNotes } from './memory.fixture.ts'
import { replay } from './replay.ts'
import { openSpill } from './spill.ts'

it('what one process could not record, the next one records', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-spill-'))
  try {
    await using store = await openSqlite({ folder, now: 0, onFatal: assert.ifError })
    await sent(store, '1', 'att_1')
    const lines: string[] = []
    const say = (event: string) => void lines.push(event)
    const log = { info: say, warn: say, error: say }
    const spill = openSpill(folder, () => say('a response is damaged'))
    spill.keep(factOf('att_1', 'accepted', { id: 'paid for' }))
    spill.keep(factOf('att_2', 'accepted', { id: 'of a lost row' }))
    // From a process that died while it wrote.
    writeFileSync(join(folder, 'att_3.json.part'), '{"id"')
    // From a disk that lost a part of it.
    writeFileSync(join(folder, 'att_4.json'), '{"id"')

    await replay({ store, spill, unsent: memoryUnsentNotes(), log, clock: manualClock() })
    const attempt = await store.attempt('att_1')
    assert.deepEqual([attempt?.state, attempt?.operation], ['accepted', { id: 'paid for' }])
    assert.equal((await store.find(newTask('1').id))?.state, 'held')
    assert.deepEqual(lines.sort(), [
      'a response has no matching attempt',
      'a response is damaged',
      'a spilled response was recorded',
    ])
    assert.deepEqual(
      spill.all().map(({ id }) => id),
      ['att_2'],
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('a result that is kept is on disk, and so is its name', () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-spill-'))
  try {
    const spill = openSpill(folder, assert.fail)
    const events: DiskEvent[] = []
    {
      using _ = watchDisk((event) => events.push(event))
      spill.keep(factOf('att_1', 'accepted', { id: 'paid for' }))
    }
    assertDurable(events, join(folder, 'att_1.json'), folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

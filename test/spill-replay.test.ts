import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { openSpill } from '../src/engine/spill.ts'
import { providers } from '../src/providers/index.ts'
import { factOf, sent } from '../src/stores/contract/world.ts'
import { openSqlite } from '../src/stores/index.ts'
import type { Shown } from './gateway.ts'
import { startService } from './service.ts'

it('a result that the last process could not store is stored by the time the service answers', async (test) => {
  const data = mkdtempSync(join(tmpdir(), 'filmgate-spill-'))
  test.after(() => rmSync(data, { recursive: true }))
  let id: string
  {
    await using store = await openSqlite({ folder: data, now: 0, onFatal: assert.ifError })
    id = (await sent(store, '1', 'att_1')).id
  }
  openSpill(join(data, 'spill'), assert.fail).keep(factOf('att_1', 'accepted', { id: 'paid for' }))
  await using service = await startService({ env: { FILMGATE_DATA: data }, members: providers })
  const { attempts } = await service.operator<Shown>(`/tasks/${id}`)
  assert.deepEqual(
    attempts.map(({ state, operation }) => ({ state, operation })),
    [{ state: 'accepted', operation: { id: 'paid for' } }],
  )
  assert.deepEqual(openSpill(join(data, 'spill'), assert.fail).all(), [], 'it would be told again at each start')
})

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { newTask, testStore } from './contract.ts'
import { openSqlite } from './sqlite.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-sqlite-'))
after(() => rmSync(folder, { recursive: true }))

const open = (now = 0) =>
  openSqlite({
    folder,
    now,
    onFatal: (error) => {
      throw error
    },
  })
const wipe = async () => {
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
}

testStore('sqlite', { open: () => open(), wipe })

it('a task that a dead process had under lease is due at once when the store is opened again', async () => {
  await wipe()
  {
    await using store = await open()
    await store.insert(newTask('1'))
    await store.claim({ state: 'queued', limit: 1, now: 10, leaseUntil: 1_000_000 })
  }
  await using store = await open(20)
  assert.equal(await store.nextDue({ state: 'queued' }), 20)
  const [task] = await store.claim({ state: 'queued', limit: 1, now: 20, leaseUntil: 1_000_000 })
  assert.equal(task?.fence, 2)
})

it('a database of a newer version is refused and left as it is', async () => {
  await wipe()
  {
    await using _ = await open()
  }
  const database = new DatabaseSync(join(folder, 'filmgate.db'))
  database.exec('PRAGMA user_version = 999')
  database.close()
  await assert.rejects(open(), /newer version of Filmgate/)
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { newTask } from '../contract.ts'
import { openSqlite } from '../sqlite.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-migrate-'))
after(() => rmSync(folder, { recursive: true }))
const open = () => openSqlite({ folder, now: 0, onFatal: assert.ifError })

/** The version of the schema, and every table in it. */
function schema(): { version: unknown; tables: unknown[] } {
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return {
    version: database.prepare('PRAGMA user_version').get()?.user_version,
    tables: tables.map(({ name }) => name),
  }
}

function execute(sql: string): void {
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  database.exec(sql)
}

it('a migration that fails leaves the database as it was, and succeeds once its cause is gone', async () => {
  // In the way of a later migration: those before it were applied when that one fails.
  execute('CREATE TABLE deliveries (id TEXT)')
  const before = schema()
  assert.deepEqual(before, { version: 0, tables: ['deliveries'] })
  await assert.rejects(open(), /deliveries already exists/)
  assert.deepEqual(schema(), before)
  execute('DROP TABLE deliveries')
  await using store = await open()
  await store.insert(newTask('1'))
  assert.equal((await store.find(newTask('1').id))?.state, 'queued')
})

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { isTokenId, ownerOf } from '../../core/token.ts'
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

it('a generated token of an earlier release stays valid, and owns the same videos', async () => {
  const older = mkdtempSync(join(tmpdir(), 'filmgate-migrate-'))
  after(() => rmSync(older, { recursive: true }))
  const migrations = new URL('../migrations/sqlite/', import.meta.url)
  const files = readdirSync(migrations).sort().slice(0, 8)
  {
    using database = new DatabaseSync(join(older, 'filmgate.db'))
    for (const name of files) database.exec(readFileSync(new URL(name, migrations), 'utf8'))
    database.exec(`PRAGMA user_version = ${files.length}`)
    const insert = database.prepare('INSERT INTO tokens VALUES (?, ?, ?, ?, ?)')
    insert.run('operator', 'operator', 'digest 2', '[]', 1_700_000_000_001)
    insert.run('default', 'client', 'digest 1', '["*"]', 1_700_000_000_000)
  }
  await using store = await openSqlite({ folder: older, now: 0, onFatal: assert.ifError })
  const tokens = await store.tokens()
  assert.deepEqual(
    tokens.map(({ name, kind, digest, models, revision }) => [name, kind, digest, models, revision]),
    [
      ['default', 'client', 'digest 1', ['*'], 1],
      ['operator', 'operator', 'digest 2', [], 2],
    ],
  )
  for (const token of tokens) {
    assert.ok(isTokenId(token.id), token.id)
    assert.deepEqual([ownerOf(token), token.enabled, token.revokedAt, token.older], [token.name, true, null, []])
  }
})

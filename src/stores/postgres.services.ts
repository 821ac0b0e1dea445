import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startPgBouncer } from '../../test/services/pgbouncer.ts'
import { startPostgres } from '../../test/services/postgres.ts'
import { testStore } from './contract.ts'
import { openDatabase } from './postgres/database.ts'
import { openPostgres } from './postgres.ts'

const server = await startPostgres()
const pooler = await startPgBouncer(server.port)
after(async () => {
  await pooler[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const sleep = (ms: number, signal?: AbortSignal) =>
  setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
let count = 0

async function wipe(): Promise<void> {
  await using database = await openDatabase(server.url)
  await database.write((query) => query('DROP SCHEMA public CASCADE; CREATE SCHEMA public'))
}

const openAt = (url: string) =>
  openPostgres({ url, monotonic: () => performance.now(), sleep, name: `test ${count++}` })

it('starts on a finished schema for a user who may not create anything, and says what he lacks on an empty one', async () => {
  await wipe()
  await using database = await openDatabase(server.url)
  await database.write((query) => query('CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA public TO guest'))
  const guest = server.url.replace('filmgate@', 'guest@')
  await assert.rejects(openAt(guest), /^Error: FILMGATE_STORE: .*permission denied for schema public; .*GRANT/)
  await (await openAt(server.url))[Symbol.asyncDispose]()
  await database.write((query) => query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest'))
  await using store = await openAt(guest)
  assert.deepEqual(await store.tokens(), [])
})

it('a start that the database refuses names the setting and the fix', async () => {
  await wipe()
  await using database = await openDatabase(server.url)
  await database.write((query) => query('CREATE TABLE tasks (id text)'))
  await assert.rejects(openAt(server.url), /FILMGATE_STORE: .*"tasks" already exists; .*choose an empty one/)
  await assert.rejects(openAt(server.url.replace('filmgate@', 'nobody@')), /FILMGATE_STORE: .*; check the user/)
  await assert.rejects(openAt(server.url.replace(/postgres$/, 'nowhere')), /FILMGATE_STORE: .*; create the database/)
  await assert.rejects(openAt('postgres://filmgate@127.0.0.1:1/x'), /FILMGATE_STORE: .*; check the host and the port/)
  await wipe()
})

for (const [name, url] of [
  ['postgres', server.url],
  ['postgres behind PgBouncer', pooler.url],
] as const) {
  testStore(name, { open: () => openAt(url), wipe })
}

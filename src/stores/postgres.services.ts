import { after } from 'node:test'
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

for (const [name, url] of [
  ['postgres', server.url],
  ['postgres behind PgBouncer', pooler.url],
] as const) {
  const open = () => openPostgres({ url, monotonic: () => performance.now(), sleep, name: `test ${count++}` })
  testStore(name, { open, wipe })
}

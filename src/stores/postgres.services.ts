import { after } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startPostgres } from '../../test/services/postgres.ts'
import { testStore } from './contract.ts'
import { openDatabase } from './postgres/database.ts'
import { openPostgres } from './postgres.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

const sleep = (ms: number, signal?: AbortSignal) =>
  setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
let count = 0
const open = () => openPostgres({ url: server.url, monotonic: () => performance.now(), sleep, name: `test ${count++}` })

async function wipe(): Promise<void> {
  await using database = await openDatabase(server.url)
  await database.write((query) => query('DROP SCHEMA public CASCADE; CREATE SCHEMA public'))
}

testStore('postgres', { open, wipe })

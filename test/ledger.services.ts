import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import pg from 'pg'
import { openDatabase } from '../src/stores/postgres/database.ts'
import { migrate } from '../src/stores/postgres/migrate.ts'
import { type LedgerDatabase, runLedger, spendBudget } from './ledger/run.ts'
import { startPostgres } from './services/postgres.ts'

/** 1000000 for the proof; that takes about an hour. */
const operations = Number(process.env.FILMGATE_LEDGER_OPERATIONS ?? 2_000)
const kills = 6
const processes = 4

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

/** An empty database. */
async function makeDatabase(): Promise<LedgerDatabase & AsyncDisposable> {
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  {
    await using database = await openDatabase(server.url)
    await migrate(database)
  }
  const all = async (sql: string): Promise<Record<string, unknown>[]> => (await client.query(sql)).rows
  return {
    place: server.url,
    row: async (sql) => (await all(sql))[0] ?? {},
    async read() {
      const tasks = await all('SELECT id, state, deleted_at, usage FROM tasks')
      const balances = await all('SELECT task, account, sum(amount) AS amount FROM entries GROUP BY task, account')
      const orphans = await all("SELECT task FROM attempts WHERE state = 'orphan'")
      return {
        tasks: tasks.map(({ id, state, deleted_at, usage }) => ({
          id: String(id),
          state: String(state),
          deleted: deleted_at !== null,
          usage: usage as string | null,
        })),
        balances: balances.map(({ task, account, amount }) => ({
          task: String(task),
          account: String(account),
          amount: Number(amount),
        })),
        orphans: orphans.map(({ task }) => String(task)),
      }
    },
    release: async () => void (await all('UPDATE tasks SET leased = false WHERE leased')),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

it(`random changes of the ledger by ${processes} processes with kills on PostgreSQL are equal to a reference`, async (test) => {
  await using database = await makeDatabase()
  const seed = Number(process.env.SEED ?? 1)
  const { violations, ...counts } = await runLedger({ database, processes, operations, kills, seed })
  test.diagnostic(JSON.stringify(counts))
  assert.deepEqual(violations, [])
  assert.equal(counts.kills, kills)
  assert.ok(counts.operations >= operations / 2 && counts.refused > 0, 'too little happened to show anything')
})

it(`a hundred submits at once admit exactly what a budget for ten allows, in one process and in ${processes}`, async () => {
  for (const count of [1, processes]) {
    await using database = await makeDatabase()
    assert.equal(await spendBudget(database.place, count, 100), 10)
  }
})

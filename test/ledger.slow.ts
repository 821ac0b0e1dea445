import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { openSqlite } from '../src/stores/index.ts'
import { type LedgerDatabase, runLedger, spendBudget } from './ledger/run.ts'

/** 1000000 for the proof; that takes about half an hour. */
const operations = Number(process.env.FILMGATE_LEDGER_OPERATIONS ?? 4_000)
const kills = 10

/** A database in an empty folder. */
async function makeDatabase(): Promise<LedgerDatabase & Disposable> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-ledger-sqlite-'))
  await (await openSqlite({ folder, now: 0, onFatal: assert.ifError }))[Symbol.asyncDispose]()
  // A process that starts after a kill locks the database while it recovers the log.
  const open = () => new DatabaseSync(join(folder, 'filmgate.db'), { readOnly: true, timeout: 30_000 })
  return {
    place: folder,
    async row(sql) {
      using database = open()
      return { ...database.prepare(sql).get() }
    },
    async read() {
      using database = open()
      const all = (sql: string) => database.prepare(sql).all()
      return {
        tasks: all('SELECT id, state, deleted_at, usage FROM tasks').map(({ id, state, deleted_at, usage }) => ({
          id: String(id),
          state: String(state),
          deleted: deleted_at !== null,
          usage: usage as string | null,
        })),
        balances: all('SELECT task, account, sum(amount) AS amount FROM entries GROUP BY task, account').map((row) => ({
          task: String(row.task),
          account: String(row.account),
          amount: Number(row.amount),
        })),
        orphans: all("SELECT task FROM attempts WHERE state = 'orphan'").map(({ task }) => String(task)),
      }
    },
    // The next process does that when it opens the store.
    async release() {},
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}

it('random changes of the ledger with kills on SQLite are equal to a reference', async (test) => {
  using database = await makeDatabase()
  const seed = Number(process.env.SEED ?? 1)
  const { violations, ...counts } = await runLedger({ database, processes: 1, operations, kills, seed })
  test.diagnostic(JSON.stringify(counts))
  assert.deepEqual(violations, [])
  assert.equal(counts.kills, kills)
  assert.ok(counts.operations >= operations / 2 && counts.refused > 0, 'too little happened to show anything')
})

it('a hundred submits at once in one process on SQLite admit exactly what a budget for ten allows', async () => {
  using database = await makeDatabase()
  assert.equal(await spendBudget(database.place, 1, 100), 10)
})

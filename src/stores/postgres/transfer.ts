import type { Client } from 'pg'
import { Problem } from '../../core/problem.ts'
import {
  awayStatement,
  awayTable,
  type Dialect,
  lastStatement,
  type Mark,
  markStatement,
  markTable,
  pageStatement,
  pageValues,
  refusals,
  reportTables,
  type TableName,
  type Transfer,
  tableNames,
  tables,
  toMark,
  usedTables,
} from '../transfer/transfer.ts'
import { type Database, openDatabase } from './database.ts'
import { CommitUnknown } from './failures.ts'
import { migrate, moveLock } from './migrate.ts'
import { withOperationHash } from './mutations.ts'
import type { Query } from './session.ts'
import { explain } from './unusable.ts'

const pageMs = 60_000
const longMs = 3_600_000

/** The database numbers their rows. */
const numberedTables: readonly TableName[] = ['events', 'notices', 'audit', 'usages']

/** Refuses a database that a service or another move uses, and the source of this move. */
export async function openPostgresTransfer(url: string, source?: Transfer): Promise<Transfer> {
  await using stack = new AsyncDisposableStack()
  const unusable = (error: Error): never => {
    throw new Error(`the database can't be used: ${explain(error)}`, { cause: error })
  }
  const database = stack.use(await openDatabase(url).catch(unusable))
  if (database.isPooled)
    throw new Error(
      "the database is behind a pooler, which can't keep services out; give the address of the database itself",
    )
  const client = await database.connect().catch(unusable)
  stack.defer(() => client.end())
  const holder = await lockOut(client, source?.holder)
  await migrate(database).catch(unusable)
  const transfer = transferOf(database)
  const resources = stack.move()
  return { ...transfer, holder, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** The lock lasts as long as this connection. Every service holds a share of it on the connection where it listens. */
async function lockOut(client: Client, source = 0): Promise<number> {
  const { rows } = await client.query(
    `WITH others AS (
       SELECT pid, mode FROM pg_locks WHERE locktype = 'advisory' AND objid::bigint = $1::bigint AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
     SELECT pg_try_advisory_lock($1::bigint) AS locked, pg_backend_pid() AS own,
       EXISTS (SELECT FROM others WHERE mode = 'ShareLock') AS served,
       EXISTS (SELECT FROM others WHERE pid = $2) AS same`,
    [moveLock, source],
  )
  const [{ locked, own, served, same }] = rows as [{ locked: boolean; own: number; served: boolean; same: boolean }]
  if (locked) return own
  if (served) throw new Error('Filmgate is running on the database; stop all of its processes first')
  throw new Error(
    same
      ? 'source and target are the same database, under two names; name another target, or none to move only the videos'
      : 'another move is running on the database; wait until it has finished',
  )
}

/** Independent of the locale of the database. The column `number` is the only key that is not text. */
const dialect: Dialect = {
  mark: (number) => `$${number}`,
  ordered: (column) => (column === 'number' ? column : `${column} COLLATE "C"`),
}

function transferOf(database: Database): Omit<Transfer, keyof AsyncDisposable> {
  const ask: Query = (text, values) => write(database, (query) => query(text, values), pageMs)
  return {
    read(table, after, limit) {
      return ask(pageStatement(table, after === null, dialect), pageValues(table, after, limit))
    },
    last: async (table) => (await ask(lastStatement(table, dialect)))[0] ?? null,
    async insert(table, rows) {
      await ask(insertStatement(table), [JSON.stringify(table === 'attempts' ? rows.map(withOperationHash) : rows)])
    },
    async look() {
      const [mark] = (await hasTable(database, markTable)) ? await ask(`SELECT source, checksum FROM ${markTable}`) : []
      if (mark) return toMark(mark)
      const parts = usedTables.map((name) => `EXISTS (SELECT FROM ${name}) AS ${name}`)
      const [row] = await ask(`SELECT ${parts.join(', ')}`)
      const table = usedTables.find((name) => row?.[name])
      return table === undefined ? 'empty' : { table }
    },
    async begin({ source, checksum }: Mark) {
      await write(database, async (query) => {
        await query(markStatement)
        await query(`DELETE FROM ${markTable}`)
        for (const table of reportTables) await query(`DELETE FROM ${table}`)
        await query(`INSERT INTO ${markTable} (source, checksum) VALUES ($1, $2)`, [source, checksum])
      })
    },
    async clear() {
      if (!(await hasTable(database, markTable))) throw new Error('only the rows of an unfinished move may be removed')
      await write(database, (query) => query(`TRUNCATE ${tableNames.join(', ')}`))
    },
    async finish() {
      await write(database, async (query) => {
        // The rows brought their numbers: the next number must be greater.
        for (const table of numberedTables)
          await query(
            `SELECT setval(pg_get_serial_sequence('${table}', 'number'), max(number)) FROM ${table} HAVING count(*) > 0`,
          )
        // Rows that were sent may have been removed: later ones must not get their numbers.
        await query(
          `SELECT setval(pg_get_serial_sequence('usages', 'number'), greatest(sent, (SELECT max(number) FROM usages)))
           FROM (SELECT max(number) AS sent FROM cursors) AS cursor WHERE sent > 0`,
        )
        await query(`DROP TABLE IF EXISTS ${markTable}`)
        // The query plans of the queue depend on statistics.
        await query(`ANALYZE ${tableNames.join(', ')}`)
      })
    },
    async retire(target) {
      await write(database, async (query) => {
        await query(awayStatement)
        await query(`DELETE FROM ${awayTable}`)
        await query(`INSERT INTO ${awayTable} (target) VALUES ($1)`, [target])
      })
    },
    retired: () => targetOf(database),
  }
}

/** The rows are being moved, or were moved to another store. */
export class Moved extends Error {}

/** No service works on rows that are incomplete, or were moved to another store. */
export async function refuseMoved(database: Database): Promise<void> {
  const [lock] = await database.read('SELECT pg_try_advisory_xact_lock_shared($1) AS free', [moveLock])
  if (!lock?.free) throw new Moved('a move is running on the database; start again when it has finished')
  if (await hasTable(database, markTable)) throw new Moved(refusals.unfinished)
  const target = await targetOf(database)
  if (target !== null) throw new Moved(refusals.away(target))
}

async function targetOf(database: Database): Promise<string | null> {
  if (!(await hasTable(database, awayTable))) return null
  const [row] = await database.read(`SELECT target FROM ${awayTable}`)
  return String(row?.target)
}

async function hasTable(database: Database, table: string): Promise<boolean> {
  const [row] = await database.read('SELECT to_regclass($1) IS NOT NULL AS found', [table])
  return row?.found === true
}

/** Every other conflict is an error. */
function insertStatement(table: TableName): string {
  const { key, columns } = tables[table]
  const names = [...columns, ...(table === 'attempts' ? ['operation_hash'] : [])].join(', ')
  const own = numberedTables.includes(table) ? 'OVERRIDING SYSTEM VALUE' : ''
  return `INSERT INTO ${table} (${names}) ${own} SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1)
    ON CONFLICT (${key.join(', ')}) DO NOTHING`
}

/** Everything here can be written twice, so after a COMMIT of unknown outcome the caller may repeat it. */
async function write<Result>(database: Database, work: (query: Query) => Promise<Result>, withinMs = longMs) {
  try {
    return await database.write(work, withinMs)
  } catch (error) {
    throw error instanceof CommitUnknown ? Problem.ofStorage(error) : error
  }
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../core/problem.ts'
import type { ColumnValue } from '../../core/row.ts'
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
import { migrate } from './migrate.ts'

interface SqliteTransferOptions {
  /** The data folder, which must exist and belong to this process alone. */
  folder: string
  /** A source must exist; a target may be created. */
  as: 'source' | 'target'
}

export function openSqliteTransfer({ folder, as }: SqliteTransferOptions): Transfer {
  const path = join(folder, 'filmgate.db')
  if (as === 'source' && !existsSync(path)) throw new Error(`there is no database in ${folder}`)
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    migrate(database)
  } catch (error) {
    database.close()
    throw new Error(`the database ${path} can't be opened: ${messageOf(error)}`, { cause: error })
  }
  return transferOf(database)
}

const dialect: Dialect = { mark: (number) => `?${number}`, ordered: (column) => column }

function transferOf(database: DatabaseSync): Transfer {
  return {
    async read(table, after, limit) {
      const statement = database.prepare(pageStatement(table, after === null, dialect))
      return statement.all(...pageValues(table, after, limit))
    },
    last: async (table) => database.prepare(lastStatement(table, dialect)).get() ?? null,
    async insert(table, rows) {
      const statement = database.prepare(insertStatement(table))
      inTransaction(database, () => {
        for (const row of rows) statement.run(...tables[table].columns.map((name) => row[name] as ColumnValue))
      })
    },
    async look() {
      const mark = hasTable(database, markTable) && database.prepare(`SELECT source, checksum FROM ${markTable}`).get()
      if (mark) return toMark(mark)
      const table = usedTables.find((name) => database.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get())
      return table === undefined ? 'empty' : { table }
    },
    async begin({ source, checksum }: Mark) {
      inTransaction(database, () => {
        database.exec(`${markStatement}; DELETE FROM ${markTable}`)
        for (const table of reportTables) database.exec(`DELETE FROM ${table}`)
        database.prepare(`INSERT INTO ${markTable} (source, checksum) VALUES (?, ?)`).run(source, checksum)
      })
    },
    async clear() {
      if (!hasTable(database, markTable)) throw new Error('only the rows of an unfinished move may be removed')
      inTransaction(database, () => database.exec(tableNames.map((table) => `DELETE FROM ${table}`).join(';')))
    },
    async finish() {
      // Rows that were sent may have been removed: later ones must not get their numbers.
      const { sent } = database.prepare('SELECT max(number) AS sent FROM cursors').get() ?? {}
      if (Number(sent ?? 0) > 0) raiseNumber(database, 'usages', Number(sent))
      database.exec(`DROP TABLE ${markTable}; PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)`)
    },
    async retire(target) {
      inTransaction(database, () => {
        database.exec(`${awayStatement}; DELETE FROM ${awayTable}`)
        database.prepare(`INSERT INTO ${awayTable} (target) VALUES (?)`).run(target)
      })
    },
    retired: async () => targetOf(database),
    async [Symbol.asyncDispose]() {
      database.close()
    },
  }
}

/** The next row of the table has a greater number. */
function raiseNumber(database: DatabaseSync, table: TableName, number: number): void {
  const known = database.prepare('UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?').run(number, table)
  if (known.changes === 0) database.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, number)
}

/** No service starts on rows that are incomplete, or were moved to another store. */
export function refuseMoved(database: DatabaseSync): void {
  if (hasTable(database, markTable)) throw new Error(refusals.unfinished)
  const target = targetOf(database)
  if (target !== null) throw new Error(refusals.away(target))
}

function targetOf(database: DatabaseSync): string | null {
  if (!hasTable(database, awayTable)) return null
  return String(database.prepare(`SELECT target FROM ${awayTable}`).get()?.target)
}

function hasTable(database: DatabaseSync, table: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined
}

/** Every other conflict is an error. Here an event is known by its number alone, which is the number of its row. */
function insertStatement(table: TableName): string {
  const { key, columns } = table === 'events' ? { ...tables.events, key: ['number'] } : tables[table]
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${key.join(', ')}) DO NOTHING`
}

function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    work()
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

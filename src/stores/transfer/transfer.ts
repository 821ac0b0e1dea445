import { auditColumns, tokenColumns } from '../../core/access-row.ts'
import { alarmColumns } from '../../core/alarms.ts'
import { declarationColumns } from '../../core/declaration.ts'
import {
  attemptColumns,
  columns,
  deliveryColumns,
  endpointColumns,
  entryColumns,
  eventColumns,
  healthColumns,
  noticeColumns,
  type Row,
  spendColumns,
} from '../../core/row.ts'
import { usageColumns } from '../../core/usage.ts'

/**
 * All rows of a store, for moving them to another one. Nothing else may use either store meanwhile. A target is marked
 * as unfinished until the move has finished, and no service starts on it.
 */
export interface Transfer extends AsyncDisposable {
  /** The server process that holds the lock of a PostgreSQL database. */
  readonly holder?: number
  /** The rows after this one in the order of the key, which is the same in every store. */
  read(table: TableName, after: Row | null, limit: number): Promise<Row[]>
  /** The row with the last key. */
  last(table: TableName): Promise<Row | null>
  /** All of them or none. Existing rows stay as they are. */
  insert(table: TableName, rows: readonly Row[]): Promise<void>
  /** The mark of an unfinished move, or the first table with rows that no move has written. */
  look(): Promise<Mark | Used | 'empty'>
  /** Writes the mark, and removes the reports of processes that used the store without tasks. */
  begin(mark: Mark): Promise<void>
  /** Removes all rows of an unfinished move. */
  clear(): Promise<void>
  /** Removes the mark: services can start on the store. */
  finish(): Promise<void>
  /** Marks a source as moved, so that no service starts on it: both would generate, and pay for, queued videos. */
  retire(target: string): Promise<void>
  /** Where its rows were moved to, if they were. */
  retired(): Promise<string | null>
}

/** The source of an unfinished move, and a checksum of all its rows. */
export interface Mark {
  source: string
  checksum: string
}

/** A table that has rows. */
interface Used {
  table: TableName
}

interface Table {
  key: readonly string[]
  columns: readonly string[]
}

/** Every table, with the columns that all stores have. Leases are not moved: no process holds any. */
export const tables = {
  tasks: { key: ['id'], columns },
  attempts: { key: ['id'], columns: attemptColumns },
  events: { key: ['task', 'number'], columns: ['number', ...eventColumns] },
  notices: { key: ['number'], columns: ['number', ...noticeColumns] },
  endpoints: { key: ['id'], columns: endpointColumns },
  deliveries: { key: ['id'], columns: deliveryColumns },
  tokens: { key: ['id'], columns: tokenColumns },
  declarations: { key: ['id'], columns: declarationColumns },
  audit: { key: ['number'], columns: ['number', ...auditColumns] },
  slots: { key: ['scope', 'task'], columns: ['scope', 'task'] },
  healths: { key: ['account'], columns: healthColumns },
  entries: { key: ['task', 'step', 'account'], columns: entryColumns },
  spends: { key: ['scope', 'currency', 'period'], columns: spendColumns },
  usages: { key: ['number'], columns: ['number', ...usageColumns] },
  cursors: { key: ['name'], columns: ['name', 'number', 'holder', 'leased_until'] },
  alarms: { key: ['id'], columns: alarmColumns },
  used_codes: { key: ['code'], columns: ['code', 'until'] },
} satisfies Record<string, Table>

export type TableName = keyof typeof tables
export const tableNames = Object.keys(tables) as TableName[]

/** Processes report here that they live, or that something is wrong, even without tasks: such rows are no reason to refuse a target. */
export const reportTables: readonly TableName[] = ['healths', 'alarms']
export const usedTables = tableNames.filter((name) => !reportTables.includes(name))

export const markTable = 'unfinished_move'
export const markStatement = `CREATE TABLE IF NOT EXISTS ${markTable} (source text NOT NULL, checksum text NOT NULL)`

export function toMark({ source, checksum }: Row): Mark {
  return { source: String(source), checksum: String(checksum) }
}

export const awayTable = 'moved_away'
export const awayStatement = `CREATE TABLE IF NOT EXISTS ${awayTable} (target text NOT NULL)`

/** The errors of a service that is started on a marked store. */
export const refusals = {
  unfinished:
    'a move into this database has not finished; run the same `filmgate migrate` again before you start a service on it',
  away: (target: unknown) =>
    `the rows of this service were moved to ${target}; start it there. To use this database anyway, drop the table ${awayTable}`,
}

/** How a database writes parameters and keys. */
export interface Dialect {
  /** A parameter, by its number, starting at 1. */
  mark(number: number): string
  /** A column of a key, compared byte by byte. */
  ordered(column: string): string
}

const leasedTables: readonly TableName[] = ['tasks', 'deliveries']

/** The leases of dead processes end with the move: leased rows are due at once, and queued tasks have no slots. */
export function pageStatement(name: TableName, isFirst: boolean, { mark, ordered }: Dialect): string {
  const { key, columns }: Table = tables[name]
  const shown = columns.map((column) =>
    leasedTables.includes(name) && column === 'due_at' ? 'CASE WHEN leased THEN 0 ELSE due_at END AS due_at' : column,
  )
  const order = key.map(ordered).join(', ')
  const conditions = [
    ...(isFirst ? [] : [`(${order}) > (${key.map((_, at) => mark(at + 1)).join(', ')})`]),
    ...(name === 'slots'
      ? ["NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = slots.task AND tasks.state = 'queued')"]
      : []),
  ]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const limit = mark(isFirst ? 1 : key.length + 1)
  return `SELECT ${shown.join(', ')} FROM ${name} ${where} ORDER BY ${order} LIMIT ${limit}`
}

/** The values of the page's parameters, in their order. */
export function pageValues(name: TableName, after: Row | null, limit: number): (string | number)[] {
  const { key }: Table = tables[name]
  return [...(after ? key.map((column) => after[column] as string | number) : []), limit]
}

export function lastStatement(name: TableName, { ordered }: Dialect): string {
  const { key }: Table = tables[name]
  const order = key.map((column) => `${ordered(column)} DESC`)
  return `SELECT ${key.join(', ')} FROM ${name} ORDER BY ${order.join(', ')} LIMIT 1`
}

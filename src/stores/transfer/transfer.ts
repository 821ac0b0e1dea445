import { attemptColumns, columns, deliveryColumns, endpointColumns, type Row } from '../../core/row.ts'

/**
 * All rows of a store, for moving them to another one: nothing else may use either meanwhile. A target that is being
 * filled is marked as unfinished, and no service starts on it until the mark is gone.
 */
export interface Transfer extends AsyncDisposable {
  /** By which process of its server the database is held, where others are kept out of it so. */
  readonly holder?: number
  /** The rows that come after this one in the order of the key, which is the same in every store. */
  read(table: TableName, after: Row | null, limit: number): Promise<Row[]>
  /** The row with the last key. */
  last(table: TableName): Promise<Row | null>
  /** All of them or none. What is there already stays as it is. */
  insert(table: TableName, rows: readonly Row[]): Promise<void>
  /** What an unfinished move left, or the first table with rows that no move put there. */
  look(): Promise<Mark | Used | 'empty'>
  /** Writes the mark, and removes what processes left that only lived there. */
  begin(mark: Mark): Promise<void>
  /** Removes all rows of an unfinished move. */
  clear(): Promise<void>
  /** Removes the mark: from now on it is a store like any other. */
  finish(): Promise<void>
  /** No service starts on a source whose rows live elsewhere now: both would make, and pay for, what is queued. */
  retire(target: string): Promise<void>
  /** Where its rows went, if it is such a source. */
  retired(): Promise<string | null>
}

/** Which rows an unfinished move was of: where they are, and a checksum over all of them. */
export interface Mark {
  source: string
  checksum: string
}

/** Rows that somebody may still want. */
interface Used {
  table: TableName
}

interface Table {
  key: readonly string[]
  columns: readonly string[]
}

const named = (key: string, columns: string): Table => ({ key: key.split(' '), columns: columns.split(' ') })

/** Every table, with the columns that all stores have. Leases are not among them: nobody holds any. */
export const tables = {
  tasks: { key: ['id'], columns },
  attempts: { key: ['id'], columns: attemptColumns },
  events: named('number', 'number task at name detail'),
  notices: named('number', 'number owner task at kind'),
  endpoints: { key: ['id'], columns: endpointColumns },
  deliveries: { key: ['id'], columns: deliveryColumns },
  tokens: named('name', 'name kind digest models created_at'),
  turns: named('card owner', 'card owner served'),
  slots: named('scope task', 'scope task'),
  healths: named('account', 'account key_version health changed_at'),
} satisfies Record<string, Table>

export type TableName = keyof typeof tables
export const tableNames = Object.keys(tables) as TableName[]

/** Where a process says that it lives, also one that never had a task: such rows are of no use to anybody else. */
export const livesTable = 'healths' satisfies TableName
export const usedTables = tableNames.filter((name) => name !== livesTable)

export const markTable = 'unfinished_move'
export const markStatement = `CREATE TABLE IF NOT EXISTS ${markTable} (source text NOT NULL, checksum text NOT NULL)`

export const awayTable = 'moved_away'
export const awayStatement = `CREATE TABLE IF NOT EXISTS ${awayTable} (target text NOT NULL)`

/** What a service says that is started on one of them. */
export const refusals = {
  unfinished:
    'a move into this database has not finished; run the same `filmgate migrate` again before you start a service on it',
  away: (target: unknown) =>
    `the rows of this service were moved to ${target}; start it with those. To use these all the same, drop the table ${awayTable}`,
}

/** How a database writes it. */
export interface Dialect {
  /** A parameter, by its number from 1. */
  mark(number: number): string
  /** A column of a key, compared byte by byte. */
  ordered(column: string): string
}

const leasedTables: readonly TableName[] = ['tasks', 'deliveries']

/**
 * A dead process's leases end with the move: what it held is due at once, and what it had only taken off the queue
 * has no slots.
 */
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

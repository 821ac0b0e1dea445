import { createHash } from 'node:crypto'
import type { Client, PoolClient, QueryConfig } from 'pg'
import { codeOf } from '../../core/problem.ts'
import type { Row } from '../../core/row.ts'
import { CommitUnknown, isRefusal } from './failures.ts'

export type Query<Found = Row> = (text: string, values?: readonly unknown[]) => Promise<Found[]>

/** How long to wait for a response of the database, so that a client gets 503 within 2 s. */
export const patienceMs = 1_000

/** For one item of a batch that failed, and for a second try: both leave time for an error response within 2 s. */
export const aloneMs = 350

/** A statement that waits for a lock must fail for that reason, not because it took too long. */
const lockShare = 0.8

/**
 * The limits of the database. Without them each statement that we give up on would keep its locks there, and a process
 * that is paused inside a transaction would hold its locks for ever.
 */
export const bounds = {
  statement_timeout: patienceMs,
  lock_timeout: lockShare * patienceMs,
  idle_in_transaction_session_timeout: 5_000,
}

/** How statements are sent on a connection. */
interface Session {
  /** A transaction of one statement, in one round trip. */
  alone<Found>(client: PoolClient, statement: Statement): Promise<Found[]>
  /** Throws `CommitUnknown` if the connection broke during the COMMIT. */
  transact<Result>(client: PoolClient, work: (query: Query) => Promise<Result>, withinMs: number): Promise<Result>
}

/** The connection is ours: it has its limits from the start, and each text is parsed and planned once. */
export const direct: Session = {
  alone: (client, statement) => send(client, { ...statement, named: true }),
  transact: (client, work, withinMs) =>
    transact(client, { begin: withinMs === patienceMs ? begin : boundedBegin(withinMs), named: true, withinMs }, work),
}

/** Behind a pooler each transaction may have another connection, so settings last for one transaction. */
export const pooled: Session = {
  async alone<Found>(client: PoolClient, statement: Statement) {
    const [, rows, committed] = await Promise.allSettled([
      client.query(boundedBegin(patienceMs)),
      send<Found>(client, statement),
      send(client, { text: 'COMMIT' }),
    ])
    if (rows.status === 'rejected') throw rows.reason
    if (committed.status === 'rejected') throw committed.reason
    return rows.value
  },
  transact: (client, work, withinMs) => transact(client, { begin: boundedBegin(withinMs), withinMs }, work),
}

/** A pooler refuses or ignores the settings that a new connection asks for. */
export async function isPooled(connect: () => Promise<Client>): Promise<boolean> {
  const unsupported = '08P01'
  try {
    const client = await connect()
    const { rows } = await client.query('SHOW statement_timeout').finally(() => client.end())
    return rows[0]?.statement_timeout !== `${patienceMs / 1_000}s`
  } catch (error) {
    if (codeOf(error) === unsupported) return true
    throw error
  }
}

/** Whatever the default of the database: each statement must see what was committed while it waited for a lock. */
const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED'

const boundedBegin = (withinMs: number) =>
  `${begin}; SET LOCAL statement_timeout = ${withinMs}; SET LOCAL lock_timeout = ${lockShare * withinMs};
   SET LOCAL idle_in_transaction_session_timeout = ${bounds.idle_in_transaction_session_timeout}`

export interface Statement {
  text: string
  values?: readonly unknown[] | undefined
  /** Each row is an array, in the order of its columns. */
  byPlace?: boolean
  named?: boolean | undefined
  withinMs?: number
}

async function send<Found = Row>(client: PoolClient, statement: Statement): Promise<Found[]> {
  const { text, values = [], byPlace, named, withinMs = patienceMs } = statement
  const query: QueryConfig & { query_timeout: number; rowMode?: 'array' } = {
    text,
    values: [...values],
    // A little later than the timeout of the database.
    query_timeout: withinMs + 150,
    ...(named && values.length > 0 && { name: statementName(text) }),
    ...(byPlace && { rowMode: 'array' }),
  }
  return (await client.query(query)).rows as Found[]
}

/**
 * One of an array of keys, for a statement that PostgreSQL should plan once for all lengths, and for rows found by an index. If it
 * sees the length, it plans a short array anew each time. Of JSON it expects a hundred rows, and reads the whole of a table of some
 * thousand rows: a statement that joins JSON gets the keys again.
 */
export const anyOf = (place: string) => `ANY(ARRAY(SELECT unnest(${place}::text[])))`

/** Names of prepared statements. There are few, and none selects `*`: a newer schema must not change their columns. */
const names = new Map<string, string>()

function statementName(text: string): string {
  const known = names.get(text)
  if (known) return known
  const name = `filmgate_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
  names.set(text, name)
  return name
}

async function transact<Result>(
  client: PoolClient,
  { begin: first, named, withinMs }: { begin: string; named?: boolean; withinMs: number },
  work: (query: Query) => Promise<Result>,
): Promise<Result> {
  // Not awaited: it is sent together with the first statement.
  const begun = client.query(first)
  begun.catch(() => {})
  let result: Result
  try {
    result = await work((text, values) => send(client, { text, values, named, withinMs }))
    await begun
  } catch (error) {
    if (isRefusal(error)) await send(client, { text: 'ROLLBACK' })
    throw error
  }
  try {
    await send(client, { text: 'COMMIT', withinMs })
  } catch (error) {
    throw isRefusal(error) ? error : new CommitUnknown(error)
  }
  return result
}

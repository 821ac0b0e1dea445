import { createHash } from 'node:crypto'
import type { Client, PoolClient, QueryConfig } from 'pg'
import type { Row } from '../../core/row.ts'
import { CommitUnknown, isRefusal } from './failures.ts'

export type Query<Found = Row> = (text: string, values?: readonly unknown[]) => Promise<Found[]>

/** An answer that the database does not give in this time is none: who waits for it gets 503 within 2 s. */
export const patienceMs = 1_000

/**
 * Bounded at the other end, too, or whoever gives up here would leave a statement and its locks behind there, one more
 * with each try; and a process that is paused inside a transaction must not hold its locks for ever.
 */
export const bounds = {
  ...{ statement_timeout: patienceMs, lock_timeout: patienceMs },
  idle_in_transaction_session_timeout: 5_000,
}

/** How one speaks on a connection. */
interface Session {
  /** A transaction of one statement, in one trip. */
  alone<Found>(client: PoolClient, asked: Asked): Promise<Found[]>
  /** Throws `CommitUnknown` where the connection broke while it was committed. */
  transact<Result>(client: PoolClient, work: (query: Query) => Promise<Result>, withinMs: number): Promise<Result>
}

/** The connection is ours: it was given its bounds at its start, and each text is parsed and planned once on it. */
export const direct: Session = {
  alone: (client, asked) => ask(client, { ...asked, named: true }),
  transact: (client, work, withinMs) =>
    transact(
      client,
      { begin: withinMs === patienceMs ? 'BEGIN' : boundedBegin(withinMs), named: true, withinMs },
      work,
    ),
}

/** Behind a pooler each transaction has another connection, and nothing that is said lasts longer than it. */
export const pooled: Session = {
  async alone<Found>(client: PoolClient, asked: Asked) {
    const [, rows, committed] = await Promise.allSettled([
      client.query(boundedBegin(patienceMs)),
      ask<Found>(client, asked),
      ask(client, { text: 'COMMIT' }),
    ])
    if (rows.status === 'rejected') throw rows.reason
    if (committed.status === 'rejected') throw committed.reason
    return rows.value
  },
  transact: (client, work, withinMs) => transact(client, { begin: boundedBegin(withinMs), withinMs }, work),
}

/** A pooler refuses what a connection asks for at its start, or passes it over. */
export async function isPooled(connect: () => Promise<Client>): Promise<boolean> {
  const unsupported = '08P01'
  try {
    const client = await connect()
    const { rows } = await client.query('SHOW statement_timeout').finally(() => client.end())
    return rows[0]?.statement_timeout !== `${patienceMs / 1_000}s`
  } catch (error) {
    if ((error as { code?: string }).code === unsupported) return true
    throw error
  }
}

const boundedBegin = (withinMs: number) =>
  `BEGIN; SET LOCAL statement_timeout = ${withinMs}; SET LOCAL lock_timeout = ${withinMs};
   SET LOCAL idle_in_transaction_session_timeout = ${bounds.idle_in_transaction_session_timeout}`

export interface Asked {
  text: string
  values?: readonly unknown[] | undefined
  /** Each row is an array, in the order of its columns. */
  byPlace?: boolean
  named?: boolean | undefined
  withinMs?: number
}

async function ask<Found = Row>(client: PoolClient, asked: Asked): Promise<Found[]> {
  const { text, values = [], byPlace, named, withinMs = patienceMs } = asked
  const query: QueryConfig & { query_timeout: number; rowMode?: 'array' } = {
    ...{ text, values: [...values] },
    // Somewhat later than the database itself gives up.
    query_timeout: withinMs + 150,
    ...(named && values.length > 0 && { name: nameOf(text) }),
    ...(byPlace && { rowMode: 'array' }),
  }
  return (await client.query(query)).rows as Found[]
}

/** They are few, and none says `*`: a column that a newer version adds must not change what an older one gets. */
const names = new Map<string, string>()

function nameOf(text: string): string {
  const known = names.get(text)
  if (known) return known
  const name = `filmgate_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
  names.set(text, name)
  return name
}

async function transact<Result>(
  client: PoolClient,
  { begin, named, withinMs }: { begin: string; named?: boolean; withinMs: number },
  work: (query: Query) => Promise<Result>,
): Promise<Result> {
  // Not waited for: it travels together with the first statement.
  const begun = client.query(begin)
  begun.catch(() => {})
  let result: Result
  try {
    result = await work((text, values) => ask(client, { text, values, named, withinMs }))
    await begun
  } catch (error) {
    if (isRefusal(error)) await ask(client, { text: 'ROLLBACK' })
    throw error
  }
  try {
    await ask(client, { text: 'COMMIT', withinMs })
  } catch (error) {
    throw isRefusal(error) ? error : new CommitUnknown(error)
  }
  return result
}

import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import type { Client, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg'
import { Problem } from '../../core/problem.ts'
import type { Row } from '../../core/row.ts'

export type Query = (text: string, values?: readonly unknown[]) => Promise<Row[]>

/** Connections to one database. What it can't do now throws `storage_unavailable`. */
export interface Database extends AsyncDisposable {
  /** For reads; tried again where a connection turned out to be dead. */
  read: Query
  /** One transaction. Throws `CommitUnknown` where the connection broke while it was committed. */
  write<Result>(work: (query: Query) => Promise<Result>, withinMs?: number): Promise<Result>
  /** A transaction of one statement, in one trip. */
  run: Query
  /** A connection of its own, for what needs one. */
  connect(): Promise<Client>
}

/** Whether it happened can only be found out by looking. Who can't look may simply do it again. */
export class CommitUnknown extends Problem {
  constructor(cause: unknown) {
    const message = 'It is not known whether this was stored. Try again shortly.'
    super('storage_unavailable', message, { cause, retryable: true })
  }
}

/** An answer that the database does not give in this time is none: who waits for it gets 503 within 2 s. */
const patienceMs = 1_000
const connectMs = 800
const connections = 8

/**
 * All of it for this transaction alone, so that it also works behind a pooler that gives each transaction another
 * connection. A process that is paused inside one must not hold its locks for ever.
 */
const begin = (withinMs: number) =>
  `BEGIN; SET LOCAL statement_timeout = ${withinMs}; SET LOCAL lock_timeout = ${withinMs};
   SET LOCAL idle_in_transaction_session_timeout = 5000`

export async function openDatabase(url: string): Promise<Database> {
  // Only where it is configured: nobody else pays for loading it.
  const { default: pg } = await import('pg')
  const bigint = 20
  const getTypeParser = ((type: number, format?: 'text') =>
    type === bigint ? Number : pg.types.getTypeParser(type, format)) as CustomTypesConfig['getTypeParser']
  const sockets = new Set<Socket>()
  const options: ClientConfig = {
    connectionString: url,
    stream() {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    application_name: 'filmgate',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    // Times in milliseconds are bigint there, and text to the client unless it is told otherwise.
    types: { getTypeParser },
  }
  const pool = new pg.Pool({ ...options, max: connections, pipeline: true })
  // A connection that breaks while nobody uses it is simply replaced.
  pool.on('error', () => {})
  // One that breaks between two statements of a transaction tells nobody but its listeners: the next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}))

  return {
    async read(text, values) {
      try {
        return await withClient(pool, (client) => look(client, text, values))
      } catch (error) {
        if (!isDead(error)) throw toProblem(error)
        return withClient(pool, (client) => look(client, text, values)).catch((again) => {
          throw toProblem(again)
        })
      }
    },
    async write(work, withinMs = patienceMs) {
      try {
        return await withClient(pool, (client) => transact(client, work, withinMs))
      } catch (error) {
        throw error instanceof CommitUnknown ? error : toProblem(error)
      }
    },
    async run(text, values) {
      try {
        return await withClient(pool, (client) => runAlone(client, text, values))
      } catch (error) {
        throw error instanceof CommitUnknown ? error : toProblem(error)
      }
    },
    async connect() {
      const client = new pg.Client(options)
      client.on('error', () => {})
      await client.connect()
      return client
    },
    async [Symbol.asyncDispose]() {
      // A goodbye waits for an answer, which a database that hangs never gives.
      AbortSignal.timeout(patienceMs).addEventListener('abort', () => {
        for (const socket of sockets) socket.destroy()
      })
      await pool.end()
      await Promise.all([...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    },
  }
}

async function withClient<Result>(pool: Pool, use: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect()
  let failure: unknown
  try {
    return await use(client)
  } catch (error) {
    failure = error
    throw error
  } finally {
    // What failed in the middle may still be under way on it: such a connection is not used again.
    client.release(failure !== undefined && !isRefusal(failure))
  }
}

async function ask(
  client: PoolClient,
  text: string,
  values: readonly unknown[] = [],
  withinMs = patienceMs,
): Promise<Row[]> {
  // Somewhat later than the database itself gives up, where it was told to.
  const config = { text, values: [...values], query_timeout: withinMs + 150 }
  return (await client.query(values.length > 0 ? { ...config, name: nameOf(text) } : config)).rows
}

/**
 * Each text is parsed and planned once for each connection. They are few, and none says `*`: a column that a newer
 * version adds must not change what an older one gets.
 */
const names = new Map<string, string>()

function nameOf(text: string): string {
  const known = names.get(text)
  if (known) return known
  // By what it says, not by a number: behind a pooler, processes share connections.
  const name = `filmgate_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
  names.set(text, name)
  return name
}

/**
 * Bounded at the other end, too, or whoever gives up here would leave a statement and its connection behind there, one
 * more with each try. All three travel together.
 */
async function look(client: PoolClient, text: string, values?: readonly unknown[]): Promise<Row[]> {
  client.query(`BEGIN; SET LOCAL statement_timeout = ${patienceMs}`).catch(() => {})
  const found = ask(client, text, values)
  const ended = ask(client, 'COMMIT').catch(() => {})
  try {
    return await found
  } finally {
    await ended
  }
}

async function transact<Result>(
  client: PoolClient,
  work: (query: Query) => Promise<Result>,
  withinMs: number,
): Promise<Result> {
  // Not waited for: it travels together with the first statement.
  const begun = client.query(begin(withinMs))
  begun.catch(() => {})
  let result: Result
  try {
    result = await work((text, values) => ask(client, text, values, withinMs))
    await begun
  } catch (error) {
    if (isRefusal(error)) await ask(client, 'ROLLBACK')
    throw error
  }
  try {
    await ask(client, 'COMMIT')
  } catch (error) {
    throw isRefusal(error) ? error : new CommitUnknown(error)
  }
  return result
}

/**
 * Where the statement is refused, so is the COMMIT that follows it. Where it has no answer, the COMMIT may have been done
 * all the same: it left together with it.
 */
async function runAlone(client: PoolClient, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const [, rows, committed] = await Promise.allSettled([
    client.query(begin(patienceMs)),
    ask(client, text, values),
    ask(client, 'COMMIT'),
  ])
  const failed = [rows, committed].find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
  if (failed) throw isRefusal(failed.reason) ? failed.reason : new CommitUnknown(failed.reason)
  return rows.status === 'fulfilled' ? rows.value : []
}

/** The database answered, and said no: nothing of it happened, and the connection is as good as before. */
function isRefusal(error: unknown): boolean {
  return (error as { severity?: string }).severity === 'ERROR'
}

/** Nothing of the database was heard, or only that it ends the connection. */
function isBroken(error: unknown): boolean {
  const { code = '', severity, message } = error as Error & { code?: string; severity?: string }
  return severity === 'FATAL' || /^E[A-Z]+$/.test(code) || /timeout|terminated|not queryable|closed/i.test(message)
}

/** It was so before anything was asked on it. What takes too long would do so again. */
function isDead(error: unknown): boolean {
  return !isRefusal(error) && isBroken(error) && !/timeout/i.test((error as Error).message)
}

/**
 * States of SQL that speak of the database, not of the statement: 08 connection, 25006 read only (a replica), 40 deadlock,
 * 53 out of something, 55P03 and 57 waited too long or shutting down, 58 its disk.
 */
const unavailable = /^(08|25006|40|53|55P03|57|58)/

function toProblem(error: unknown): unknown {
  const { code = '', message, constraint } = error as Error & { code?: string; constraint?: string }
  if (constraint === 'attempts_operation') return Problem.ofTakenOperation(message)
  if (isRefusal(error) ? unavailable.test(code) : isBroken(error)) return Problem.ofStorage(message)
  return error
}

import { Socket } from 'node:net'
import type { Client, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg'
import type { Row } from '../../core/row.ts'
import { driverUrl } from './address.ts'
import { CommitUnknown, isDead, isRefusal, toProblem } from './failures.ts'
import { type Asked, bounds, direct, isPooled, patienceMs, pooled, type Query } from './session.ts'

/** Connections to one database. What it can't do now throws `storage_unavailable`. */
export interface Database extends AsyncDisposable {
  /** Behind a pooler: what is said on a connection is forgotten after each transaction. */
  readonly isPooled: boolean
  /** For reads; tried again where a connection turned out to be dead. */
  read: Query
  /** As `read`, but each row is an array: less to make of what has many columns. */
  readByPlace: Query<unknown[]>
  /** One transaction. Throws `CommitUnknown` where the connection broke while it was committed. */
  write<Result>(work: (query: Query) => Promise<Result>, withinMs?: number): Promise<Result>
  /** A transaction of one statement, in one trip. Throws `CommitUnknown` where it has no answer. */
  run(text: string, values?: readonly unknown[], withinMs?: number): Promise<Row[]>
  /** A connection of its own, for what needs one. */
  connect(): Promise<Client>
}

const connectMs = 800
const connections = 8

export async function openDatabase(url: string): Promise<Database> {
  // Only where it is configured: nobody else pays for loading it.
  const { default: pg } = await import('pg')
  const bigint = 20
  const getTypeParser = ((type: number, format?: 'text') =>
    type === bigint ? Number : pg.types.getTypeParser(type, format)) as CustomTypesConfig['getTypeParser']
  const sockets = new Set<Socket>()
  const options: ClientConfig = {
    connectionString: driverUrl(url),
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
  const connect = async (more: ClientConfig = {}) => {
    const client = new pg.Client({ ...options, ...more })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const isBehind = await isPooled(() => connect(bounds)).catch(refuse)
  const session = isBehind ? pooled : direct
  const pool = new pg.Pool({ ...options, ...(isBehind ? {} : bounds), max: connections, pipeline: true })
  // A connection that breaks while nobody uses it is simply replaced.
  pool.on('error', () => {})
  // One that breaks between two statements of a transaction tells nobody but its listeners: the next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}))
  const alone = <Found>(asked: Asked) => withClient(pool, (client) => session.alone<Found>(client, asked))
  const read = <Found>(asked: Asked) =>
    alone<Found>(asked)
      .catch((error) => (isDead(error) ? alone<Found>(asked) : Promise.reject(error)))
      .catch(refuse)

  return {
    isPooled: isBehind,
    read: (text, values) => read({ text, values }),
    readByPlace: (text, values) => read({ text, values, byPlace: true }),
    write: (work, withinMs = patienceMs) =>
      withClient(pool, (client) => session.transact(client, work, withinMs)).catch(refuse),
    run: (text, values, withinMs = patienceMs) =>
      withClient(pool, (client) =>
        session.alone<Row>(client, { text, values, withinMs }).catch((error) => {
          throw isRefusal(error) ? error : new CommitUnknown(error)
        }),
      ).catch(refuse),
    connect: () => connect(),
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

function refuse(error: unknown): never {
  throw toProblem(error)
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

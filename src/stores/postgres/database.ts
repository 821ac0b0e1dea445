import { Socket } from 'node:net'
import type { Client, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg'
import type { Row } from '../../core/row.ts'
import type { PoolUse, StoreMeter } from '../store.ts'
import { CommitUnknown, isDead, isRefusal, toProblem } from './failures.ts'
import { bounds, direct, isPooled, patienceMs, pooled, type Query, type Statement } from './session.ts'

/** Connections to one database. Throws `storage_unavailable` if the database can't work now. */
export interface Database extends AsyncDisposable {
  /** Behind a pooler: the settings of a connection last only for one transaction. */
  readonly isPooled: boolean
  /** For reads. Tried again if the connection was dead. */
  read: Query
  /** The same, with each row as an array: faster for many columns. */
  readByPlace: Query<unknown[]>
  /** One transaction. Throws `CommitUnknown` if the connection broke during the COMMIT. */
  write<Result>(work: (query: Query) => Promise<Result>, withinMs?: number): Promise<Result>
  /** A transaction of one statement, in one round trip. Throws `CommitUnknown` if it gets no response. */
  run(text: string, values?: readonly unknown[], withinMs?: number): Promise<Row[]>
  /** Measures transactions, if there are metrics. */
  readonly meter: StoreMeter | undefined
  connections(): PoolUse
  /** A separate connection. */
  connect(): Promise<Client>
}

const connectMs = 800
/** At the start no request waits, and the first connection to a database is its slowest. */
const firstConnectMs = 10_000
const connections = 8

export async function openDatabase(url: string, meter?: StoreMeter): Promise<Database> {
  // Loaded only if PostgreSQL is configured.
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
    // Times are bigint columns, which the driver returns as text by default.
    types: { getTypeParser },
  }
  const connect = async (more: ClientConfig = {}) => {
    const client = new pg.Client({ ...options, ...more })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const behindPooler = await isPooled(() => connect({ ...bounds, connectionTimeoutMillis: firstConnectMs })).catch(
    refuse,
  )
  const session = behindPooler ? pooled : direct
  const pool = new pg.Pool({ ...options, ...(behindPooler ? {} : bounds), max: connections, pipeline: true })
  // The pool replaces a connection that breaks while it is idle.
  pool.on('error', () => {})
  // Without a listener the error of a connection that breaks within a transaction would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const alone = <Found>(statement: Statement) => withClient(pool, (client) => session.alone<Found>(client, statement))
  const read = <Found>(statement: Statement) =>
    alone<Found>(statement)
      .catch((error) => (isDead(error) ? alone<Found>(statement) : Promise.reject(error)))
      .catch(refuse)

  /** With the time that a transaction waits for its connection. */
  const measure = <Result>(work: Promise<Result>): Promise<Result> => {
    if (!meter) return work
    const begun = meter.begin()
    return work.finally(() => meter.end(begun))
  }

  return {
    isPooled: behindPooler,
    meter,
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, awaited: pool.waitingCount }),
    read: (text, values) => read({ text, values }),
    readByPlace: (text, values) => read({ text, values, byPlace: true }),
    write: (work, withinMs = patienceMs) =>
      measure(withClient(pool, (client) => session.transact(client, work, withinMs)).catch(refuse)),
    run: (text, values, withinMs = patienceMs) =>
      measure(
        withClient(pool, (client) =>
          session.alone<Row>(client, { text, values, withinMs }).catch((error) => {
            throw isRefusal(error) ? error : new CommitUnknown(error)
          }),
        ).catch(refuse),
      ),
    connect: () => connect(),
    async [Symbol.asyncDispose]() {
      // Closing waits for a response, which a database that hangs never sends.
      AbortSignal.timeout(patienceMs).addEventListener('abort', () => {
        for (const socket of sockets) socket.destroy()
      })
      await pool.end()
      await Promise.all([...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    },
  }
}

/**
 * The URL for the driver. The driver treats `require` and `verify-ca` as `verify-full`, and warns that this will
 * change. Here `require` keeps that meaning, and `verify-ca` has the meaning that PostgreSQL gives it.
 */
export function driverUrl(text: string): string {
  const url = new URL(text)
  const mode = url.searchParams.get('sslmode')
  if (mode === 'require') url.searchParams.set('sslmode', 'verify-full')
  else if (mode === 'verify-ca') url.searchParams.set('uselibpqcompat', 'true')
  else return text
  return url.href
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
    // The failed statement may still run on the connection: it is not used again.
    client.release(failure !== undefined && !isRefusal(failure))
  }
}

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../test/services/postgres.ts'
import { benchClaims, fillQueue } from './claims.ts'
import { benchApiCosts, benchVerify, type Costs } from './costs.ts'
import { parentOf } from './cpu.ts'
import { compare, type Line } from './measure.ts'
import { pollRequests } from './polls.ts'
import { insertedCard, storeLoad } from './postgres-load.ts'
import { asQueued, intoTasks, manyTasks, valuesOf } from './postgres-rows.ts'
import { load, startServer } from './processes.ts'
import { benchWorkers } from './workers.ts'

interface PostgresBench {
  rounds: number
  seconds: number
  /** Rows to read from, and rows in the queue. */
  tasks: number
  /** Rounds of the real workers, and tasks of each. */
  workerRounds: number
  workerTasks: number
  say: (part: string) => void
}

const idOf = (number: number) => `video_${number.toString(16).padStart(48, '0')}`
const idsOf = (tasks: number) => Array.from({ length: Math.min(tasks, 100_000) }, (_, at) => idOf(at + 1))

const settings = {
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  // Counts statements: ours, and those of pgbench.
  shared_preload_libraries: 'pg_stat_statements',
}

/** Compares the store with pgbench on the same server, and the service with itself; measures the costs of a task. */
export async function benchPostgres(options: PostgresBench): Promise<{ lines: Line[]; costs: Omit<Costs, 'machine'> }> {
  const { rounds, tasks, say } = options
  await using server = await startPostgres(settings)
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-bench-postgres-'))
  try {
    const bench = { ...options, url: server.url, port: server.port, bin: server.bin, folder }
    const { line, verify, film } = await benchVerify(folder)
    // First, on an empty database: rows of the other parts would slow it down.
    say('1, 2 and 4 workers on PostgreSQL')
    const workers = await benchWorkers({
      url: await makeDatabase(server.url, 'workers'),
      folder,
      rounds: Math.min(rounds, options.workerRounds),
      tasks: options.workerTasks,
      film,
    })
    say(`PostgreSQL with ${tasks} tasks`)
    await makeTables(server.url)
    await fill(server.url, manyTasks(tasks, { id: "'video_' || lpad(to_hex(n), 48, '0')" }))
    const lines = [...(await benchStore(bench, 'insert')), ...(await benchStore(bench, 'read')), await benchHttp(bench)]
    const postmaster = await postmasterOf(server.url)
    const api = await benchApiCosts({ ...bench, ids: idsOf(tasks), postmaster })
    say(`claims with ${tasks} tasks queued`)
    await fill(server.url, fillQueue(tasks))
    const claims = await benchClaims(bench)
    return {
      lines: [...lines, ...claims.lines, ...workers.lines, ...api.lines, line],
      costs: { api: api.costs, workers: workers.costs, claim: claims.costs, verify },
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Opening the store creates them. */
async function makeTables(url: string): Promise<void> {
  await storeLoad({ url, kind: 'read', clients: 1, seconds: 0.1, tasks: 1 })
}

async function makeDatabase(url: string, name: string): Promise<string> {
  await withClient(url, (client) => client.query(`CREATE DATABASE ${name}`))
  const created = url.replace(/[^/]+$/, name)
  await makeTables(created)
  return created
}

async function fill(url: string, statement: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(statement)
    await client.query('VACUUM ANALYZE tasks')
  })
}

/** The server is the parent process of each connection. */
async function postmasterOf(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    return parentOf(rows[0]?.pid ?? 0)
  })
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return work(client).finally(() => client.end())
}

interface Bench extends PostgresBench {
  url: string
  port: number
  bin: string
  folder: string
}

/** As the service creates them: the time, then random digits. */
const newId = `'video_' || lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') ||
  replace(gen_random_uuid()::text, '-', '') || 'abcd'`.replaceAll('\n', ' ')

async function benchStore({ url, port, bin, folder, rounds, seconds, tasks }: Bench, kind: 'insert' | 'read') {
  const script = join(folder, `${kind}.sql`)
  const view = 'id, owner, model, prompt, seconds, width, height, created_at, state, progress, started_at, error'
  writeFileSync(
    script,
    kind === 'insert'
      ? `${intoTasks} VALUES (${valuesOf({ ...asQueued, id: newId, card: `'${insertedCard}'` })});\n`
      : `\\set n random(1, ${tasks})\nSELECT ${view} FROM tasks WHERE id = 'video_' || lpad(to_hex(:n::bigint), 48, '0') AND owner = 'bench';\n`,
  )
  const lines: Line[] = []
  for (const clients of [16, 64]) {
    const single = async () => {
      const args = ['-n', '-M', 'prepared', '-c', `${clients}`, '-j', '1', '-T', `${Math.ceil(seconds)}`, '-f', script]
      const where = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'filmgate', 'postgres']
      const text = execFileSync(join(bin, 'pgbench'), [...args, ...where], { encoding: 'utf8', stdio: 'pipe' })
      return Number(/tps = ([\d.]+)/.exec(text)?.[1])
    }
    const ours = async () => (await storeLoad({ url, kind, clients, seconds: Math.ceil(seconds), tasks })).perSecond
    const result = await compare(rounds, ours, single)
    lines.push({
      name: `${kind}, ${clients} clients`,
      value: result.ratio,
      unit: ' ×',
      must: { atLeast: 1.2 },
      spread: result.spread,
      detail: `of pgbench's single-row statement; ${Math.round(result.ours)} against ${Math.round(result.limit)} a second`,
    })
  }
  return lines
}

/** The same service with batched reads, and with one query for each read. */
async function benchHttp({ url, folder, rounds, seconds, tasks }: Bench): Promise<Line> {
  const requests = pollRequests(idsOf(tasks), 20_000)
  await using batched = await startServer({ kind: 'app', folder, store: 'postgres', url })
  await using single = await startServer({ kind: 'app', folder, store: 'postgres-single', url })
  const rate = async (port: number) => (await load({ port, connections: 64, seconds, requests })).perSecond
  const result = await compare(
    rounds,
    () => rate(batched.port),
    () => rate(single.port),
  )
  return {
    name: 'poll, batched',
    value: result.ratio,
    unit: ' ×',
    must: { atLeast: 2 },
    spread: result.spread,
    detail: `of one query for each; ${Math.round(result.ours)} against ${Math.round(result.limit)} a second, 64 connections`,
  }
}

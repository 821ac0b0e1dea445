import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { columns } from '../src/core/row.ts'
import { openDatabase } from '../src/stores/postgres/database.ts'
import { startPostgres } from '../test/services/postgres.ts'
import { compare, type Line, median } from './measure.ts'
import { pollRequests } from './polls.ts'
import type { StoreLoad, StoreResult } from './postgres-load.ts'
import { load, startServer } from './processes.ts'

export interface PostgresBench {
  rounds: number
  seconds: number
  /** Rows to read from, and rows in the queue. */
  tasks: number
}

const idOf = (number: number) => `video_${number.toString(16).padStart(48, '0')}`

/** What stands in every column of a task, as SQL, but for its id. */
const filler: Record<string, string> = {
  ...{ owner: "'bench'", model: "'studio'", card: "'studio'", prompt: `'${'a red fox in the snow '.repeat(5)}'` },
  ...{ seconds: '4', width: '1280', height: '720', parameters: "'{}'", created_at: '1', digest: '0' },
  ...{ finish_by: '4000000000000', state: "'running'", progress: '40', start_by: '4000000000000' },
  ...{ attempts: '0', due_at: '4000000000000', tries: '0', fence: '0', started_at: '1' },
}
const valuesOf = (id: string, state = filler.state) =>
  columns.map((name) => (name === 'id' ? id : name === 'state' ? state : (filler[name] ?? 'NULL'))).join(', ')
const intoTasks = `INSERT INTO tasks (${columns.join(', ')})`

/** The store beside pgbench on the same server, and the service on top of it. */
export async function benchPostgres({ rounds, seconds, tasks }: PostgresBench): Promise<Line[]> {
  await using server = await startPostgres({ shared_buffers: '256MB', max_wal_size: '4GB' })
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-bench-postgres-'))
  try {
    // Makes the tables.
    await storeLoad({ url: server.url, kind: 'read', clients: 1, seconds: 0.1, tasks: 1 })
    await using database = await openDatabase(server.url)
    const fill = (state: string, from: string) =>
      database.write(
        (query) => query(`${intoTasks} SELECT ${valuesOf(from, state)} FROM generate_series(1, ${tasks}) AS n`),
        600_000,
      )
    await fill("'running'", "'video_' || lpad(to_hex(n), 48, '0')")
    await database.write((query) => query('ANALYZE tasks'), 60_000)
    const bench = { url: server.url, port: server.port, bin: server.bin, folder, rounds, seconds, tasks }
    const lines = [...(await benchStore(bench, 'insert')), ...(await benchStore(bench, 'read')), await benchHttp(bench)]
    await fill("'queued'", "'video_f' || lpad(to_hex(n), 47, '0')")
    await database.write((query) => query('UPDATE tasks SET due_at = 1 WHERE state = $1', ['queued']), 600_000)
    await database.write((query) => query('ANALYZE tasks'), 60_000)
    return [...lines, await benchClaims(bench)]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Bench extends PostgresBench {
  url: string
  port: number
  bin: string
  folder: string
}

async function benchStore({ url, port, bin, folder, rounds, seconds, tasks }: Bench, kind: 'insert' | 'read') {
  const script = join(folder, `${kind}.sql`)
  const view = 'id, owner, model, prompt, seconds, width, height, created_at, state, progress, started_at, error'
  writeFileSync(
    script,
    kind === 'insert'
      ? `\\set n random(1, 1000000000000)\n${intoTasks} VALUES (${valuesOf("'video_e' || lpad(to_hex(:n::bigint), 47, '0')")}) ON CONFLICT DO NOTHING;\n`
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
      ...{ name: `${kind}, ${clients} clients`, value: result.ratio, unit: ' ×', must: { atLeast: 1.2 } },
      spread: result.spread,
      detail: `of pgbench's single-row statement; ${Math.round(result.ours)} against ${Math.round(result.limit)} a second`,
    })
  }
  return lines
}

/** The same service, its reads batched or each by itself. */
async function benchHttp({ url, folder, rounds, seconds, tasks }: Bench): Promise<Line> {
  const ids = Array.from({ length: Math.min(tasks, 100_000) }, (_, at) => idOf(at + 1))
  const requests = pollRequests(ids, 20_000)
  await using batched = await startServer({ kind: 'app', folder, store: 'postgres', url })
  await using single = await startServer({ kind: 'app', folder, store: 'postgres-single', url })
  const rate = async (port: number) => (await load({ port, connections: 64, seconds, requests })).perSecond
  const result = await compare(
    rounds,
    () => rate(batched.port),
    () => rate(single.port),
  )
  return {
    ...{ name: 'poll, batched', value: result.ratio, unit: ' ×', must: { atLeast: 2 }, spread: result.spread },
    detail: `of one query for each; ${Math.round(result.ours)} against ${Math.round(result.limit)} a second, 64 connections`,
  }
}

async function benchClaims({ url, rounds, seconds, tasks }: Bench): Promise<Line> {
  const results: StoreResult[] = []
  for (let round = 0; round < rounds; round += 1)
    results.push(await storeLoad({ url, kind: 'claim', clients: 1, seconds, tasks }))
  const p99s = results.map(({ p99Ms }) => p99Ms)
  return {
    ...{ name: 'claim of 64, p99', value: median(p99s), unit: ' ms', must: { atMost: 50 } },
    spread: [Math.min(...p99s), Math.max(...p99s)],
    detail: `with ${tasks} rows queued; ${Math.round(64 * median(results.map(({ perSecond }) => perSecond)))} tasks a second by one process`,
  }
}

/** A process of its own, as the service would be. */
async function storeLoad(options: StoreLoad): Promise<StoreResult> {
  const child = fork(new URL('./postgres-load.ts', import.meta.url))
  const answered = once(child, 'message') as Promise<[StoreResult]>
  child.send(options)
  const [result] = await answered
  return result
}

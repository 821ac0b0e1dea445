import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { attemptColumns, fromAttempt, toRow } from '../src/core/row.ts'
import { newTaskId } from '../src/core/task.ts'
import { migrate } from '../src/stores/sqlite/migrate.ts'
import { prepareVerbs } from '../src/stores/sqlite/verbs.ts'
import { cpuSeconds } from './cpu.ts'
import { exampleTask } from './fill.ts'
import { compare, type Line, quantile } from './measure.ts'
import { residentMb, startServer } from './processes.ts'
import { knows, startService } from './worker-processes.ts'

/*
 * Many tasks that wait at a slow provider: a service in one process, on SQLite, polls them all. Each is old enough for the
 * longest time between two polls.
 */
const account = 'sim-key'
const ageMs = 3_600_000
const betweenMs = 30_000

/** Of the comparison of memory: all tasks are polled once, however long that takes. */
const observed = { tasks: 10_000, polls: 10_000 }

export async function benchInFlight(folder: string, { tasks, seconds, rounds }: InFlightBench): Promise<Line[]> {
  const found = await inFlight(folder, { tasks, seconds })
  const { lateMs, pollsPerSecond, cpuMs } = found
  const [memory, late] = [quantile(found.residentMb, 1), quantile(lateMs, 0.99)]
  return [
    {
      name: `memory, ${tasks} tasks in flight`,
      value: memory,
      unit: ' MB',
      must: { atMost: 512 },
      spread: [quantile(found.residentMb, 0), memory],
      detail: `highest (and lowest first) RSS of the service while it polls a slow provider: ${Math.round(pollsPerSecond)} polls a second, ${cpuMs.toFixed(2)} ms of CPU each`,
    },
    {
      name: `late polls, ${tasks} tasks in flight`,
      value: late,
      unit: ' ms',
      spread: [quantile(lateMs, 0.5), late],
      detail: 'p99 (and p50 first) of how late the next poll is',
    },
    ...(knows('FILMGATE_METRICS_ALLOW') ? [await benchObserved(folder, { seconds, rounds })] : []),
  ]
}

/** What scrapes and traces cost. */
async function benchObserved(folder: string, { seconds, rounds }: Omit<InFlightBench, 'tasks'>): Promise<Line> {
  let count = 0
  // Not at one moment: between two collections it grows by a fifth.
  const memoryOf = async (isObserved: boolean) => {
    const { residentMb } = await inFlight(join(folder, `memory-${count++}`), { ...observed, seconds, isObserved })
    return quantile(residentMb, 0.5)
  }
  const { ratio, spread, ours, limit } = await compare(
    rounds,
    () => memoryOf(true),
    () => memoryOf(false),
  )
  return {
    name: 'memory, scraped and traced',
    value: ratio,
    unit: ' ×',
    must: { atMost: 1.05 },
    spread,
    detail: `of the same without scrapes and traces; median RSS of ${Math.round(ours)} against ${Math.round(limit)} MB, ${observed.tasks} tasks in flight, a scrape each second`,
  }
}

interface InFlightBench {
  tasks: number
  seconds: number
  /** Of the comparison. */
  rounds: number
}

interface InFlightOptions {
  tasks: number
  /** The least duration. */
  seconds: number
  /** The least number of polls. */
  polls?: number
  /** Each task has a trace, and the metrics are scraped. */
  isObserved?: boolean
}

interface InFlight {
  /** At many moments. */
  residentMb: number[]
  /** Milliseconds that the longest due poll was late, at many moments. */
  lateMs: number[]
  pollsPerSecond: number
  /** Milliseconds of CPU of a poll. */
  cpuMs: number
}

async function inFlight(folder: string, options: InFlightOptions): Promise<InFlight> {
  const { tasks, seconds, polls: leastPolls = 0, isObserved = false } = options
  const data = join(folder, `in-flight-${tasks}`)
  mkdirSync(data, { recursive: true })
  const answer = JSON.stringify({ status: 'running', progress: 40 })
  await using upstream = await startServer({ kind: 'bare', answer, headers: { 'content-type': 'application/json' } })
  const config = join(folder, 'in-flight.yaml')
  const accounts = {
    [account]: { base_url: `http://127.0.0.1:${upstream.port}`, key: 'bench', concurrency: 100_000 },
  }
  writeFileSync(config, JSON.stringify({ accounts }))
  fillRunning(data, tasks, isObserved)
  // The upstream accepts everything, so it is the collector, too.
  const traces = isObserved ? { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${upstream.port}` } : undefined
  await using service = await startService({ data, config }, '', traces)
  using database = new DatabaseSync(join(data, 'filmgate.db'), { readOnly: true })
  const due = database.prepare(
    `SELECT min(due_at) AS due FROM tasks INDEXED BY tasks_work
     WHERE state IN ('held', 'running', 'storing') AND state = 'running' AND account = ? AND leased = 0`,
  )
  const polled = database.prepare("SELECT sum(fence) AS count FROM tasks WHERE state = 'running'")
  const count = () => Number(polled.get()?.count)
  // The polls that became due while the service started come first.
  await pause(3_000)
  const before = { cpu: cpuSeconds(service.pid), polls: count(), at: performance.now() }
  const [lateMs, resident]: [number[], number[]] = [[], []]
  const scrapes = isObserved ? startScrapes(service.url) : undefined
  const end = before.at + seconds * 1000
  while (performance.now() < end || (leastPolls > 0 && count() - before.polls < leastPolls)) {
    lateMs.push(Math.max(0, Date.now() - Number(due.get(account)?.due)))
    resident.push(residentMb(service.pid))
    await pause(20)
  }
  const took = (performance.now() - before.at) / 1000
  const cpu = cpuSeconds(service.pid) - before.cpu
  const polls = count() - before.polls
  await scrapes?.end()
  return { residentMb: resident, lateMs, pollsPerSecond: polls / took, cpuMs: (cpu / polls) * 1000 }
}

/** As Prometheus does, but more often. */
function startScrapes(url: string) {
  const stop = new AbortController()
  const headers = { authorization: 'Bearer bench-operator' }
  const run = async () => {
    while (!stop.signal.aborted) {
      const response = await fetch(`${url}/metrics`, { headers })
      if (response.status !== 200) throw new Error(`a scrape returned ${response.status}`)
      await response.text()
      await pause(1_000, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const running = run()
  return {
    async end() {
      stop.abort()
      await running
    },
  }
}

function fillRunning(folder: string, count: number, isTraced: boolean): void {
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
  migrate(database)
  const verbs = prepareVerbs(database)
  const attempts = database.prepare(
    `INSERT INTO attempts (${attemptColumns.join(', ')}) VALUES (${attemptColumns.map(() => '?').join(', ')})`,
  )
  const slots = database.prepare('INSERT INTO slots (scope, task) VALUES (?, ?)')
  const now = Date.now()
  database.exec('BEGIN')
  for (let at = 0; at < count; at += 1) {
    const id = newTaskId(now - ageMs, randomBytes)
    const attempt = `att_${id.slice(6)}`
    const task = {
      ...exampleTask(id, now - ageMs, 'running'),
      card: account,
      model: account,
      account,
      attempt,
      attempts: 1,
      operation: `job_${at}`,
      trace: isTraced ? `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01` : null,
      dueAt: now + Math.floor((at / count) * betweenMs),
    }
    verbs.insert(toRow(task))
    attempts.run(
      ...fromAttempt({
        id: attempt,
        task: id,
        number: 1,
        account,
        keyVersion: 'bench',
        upstreamModel: 'film',
        openedAt: now - ageMs,
        state: 'accepted',
        operation: task.operation,
        settledAt: now - ageMs,
        problem: null,
      }),
    )
    slots.run(`account:${account}`, id)
  }
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
}

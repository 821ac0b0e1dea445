import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { startS3, type TestS3 } from '../test/services/s3.ts'
import { cpuSeconds, ownCpuSeconds, parentOf } from './cpu.ts'
import { watchLocks } from './lock-watch.ts'
import { type Line, median, middle } from './measure.ts'
import { asQueued, manyTasks } from './postgres-rows.ts'
import { canLimitCpu, limitCpu } from './quota.ts'
import { type Running, type Simulator, startSimulator, startWorker } from './worker-processes.ts'

/*
 * Real workers on one PostgreSQL: whole engines, in processes of their own, work off a queue. The provider is a process,
 * too. All share one machine, and one worker fills it: several show what they cost each other. With a quarter of a core for
 * each worker they show whether they scale. How far is calculated from the costs of one task.
 */
interface WorkersBench {
  url: string
  folder: string
  rounds: number
  /** How many tasks each worker works off in each round. The same for one and for several: a process gets faster for its first thousand. */
  tasks: number
  /** The path of a real video: the others are tiny, so that they cost little beside the work of the service. */
  film: string
}

/** Seconds of CPU, and bytes, for one task or for one more poll of it. */
interface Cost {
  worker: number
  /** Of the child processes of the worker, which decode videos. */
  children: number
  database: number
  walBytes: number
}

export interface WorkerCosts {
  /** By the number of workers. */
  perSecond: Record<string, number>
  /** Of a task that is polled `polls` times. */
  task: Cost & { polls: number }
  poll: Cost
  /** Of a task with a real video of so many bytes. */
  film: Cost & { bytes: number }
  /** Writes of one task by table, at `polls`. `inPlace`: updates that touched no index. */
  rows: Record<string, { inserted: number; updated: number; inPlace: number; deleted: number }>
  /** Size of the rows of a finished task, after VACUUM FULL. */
  bytes: number
}

interface Round {
  perSecond: number
  /** The share of the time in which a worker waits for a lock of another, on average. */
  waiting: number
  polls: number
  cost: Cost
}

interface World extends WorkersBench {
  client: pg.Client
  postmaster: number
  simulator: Simulator
  config: string
  s3: TestS3
  /** Tasks of all rounds so far, so that ids do not repeat. */
  created: number
  /** How many tasks each worker works off before it is measured: compiled code, open connections, running children. */
  warmUp: number
  /** What each worker has of a core while it is measured. Without it, all that is left. */
  cores?: number
}

const name = 'sim-key'
const owners = 50
/** So little that database, provider and bucket have what they need beside four such workers. */
const quarter = 0.25
/** Decoding a real video costs as much as a hundred tasks. */
const filmShare = 1 / 20
/** How long a job of the provider takes if polls are counted: dozens of polls, at a cadence of 100 ms. */
const slowMs = 6_000

export async function benchWorkers(bench: WorkersBench): Promise<{ lines: Line[]; costs: WorkerCosts }> {
  await using stack = new AsyncDisposableStack()
  const world = await openWorld(bench, stack)
  const before = await countRows(world.client)
  const all = await runInTurn(world, (count) => bench.tasks * count)
  const [created, after] = [world.created, await countRows(world.client)]
  const quick = all[1] ?? []
  const task = { ...costOf(quick), polls: median(quick.map(({ polls }) => polls)) }
  const poll = await costOfPoll(world)
  const bytes = await packedBytes(world)
  const perSecond = mapValues(all, (rounds) => median(rounds.map((round) => round.perSecond)))
  const rows = mapValues(after, (counts, table) =>
    mapValues(counts, (count, kind) => (count - (before[table]?.[kind] ?? 0)) / created),
  ) as WorkerCosts['rows']
  const limited = { ...world, cores: quarter }
  const small = canLimitCpu() ? await runInTurn(limited, (count) => (bench.tasks / 2) * count) : {}
  await world.simulator[Symbol.asyncDispose]()
  const films = await openFilms({ ...world, created: limited.created }, stack)
  const withFilms = await runInTurn(films, (count) => bench.tasks * filmShare * count)
  const film = { ...costOf(withFilms[1] ?? []), bytes: statSync(bench.film).size }
  const costs = { perSecond, task, poll, film, rows, bytes }
  const counted = [
    ...linesOf(all, 'completed', 'tiny videos'),
    ...linesOf(small, 'with ¼ core each', 'tiny videos'),
    ...linesOf(withFilms, 'completed films', 'videos of 4 s of 1280x720'),
  ]
  return { lines: [...counted, ...costLines(costs)], costs }
}

/**
 * Numbers of workers in turn, in each round: minutes apart, noise of the machine would dominate. Every second round begins with
 * the most, so that a machine that gets slower favours none.
 */
async function runInTurn(world: World, tasksOf: (count: number) => number): Promise<Record<string, Round[]>> {
  const all: Record<string, Round[]> = {}
  for (let round = 0; round < world.rounds; round += 1)
    for (const count of round % 2 === 0 ? [1, 2, 4] : [4, 2, 1]) {
      await using workers = await startWorkers(world, count)
      all[count] = [...(all[count] ?? []), await runRound(world, workers.all, tasksOf(count))]
    }
  return all
}

async function openWorld(bench: WorkersBench, stack: AsyncDisposableStack): Promise<World> {
  const client = new pg.Client({ connectionString: bench.url })
  await client.connect()
  stack.defer(() => client.end())
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const s3 = stack.use(await startS3())
  const world = { ...bench, client, postmaster: parentOf(rows[0]?.pid ?? 0), s3, created: 0, warmUp: 1_000 }
  return { ...world, ...(await openProvider(bench.folder, stack)) }
}

/** The same with a provider whose videos are real ones. */
async function openFilms(world: World, stack: AsyncDisposableStack): Promise<World> {
  return { ...world, ...(await openProvider(world.folder, stack, world.film)), warmUp: 10 }
}

async function openProvider(folder: string, stack: AsyncDisposableStack, film?: string) {
  const simulator = stack.use(await startSimulator({ speed: 0 }, film))
  const config = join(folder, 'workers.yaml')
  // JSON is YAML. The high concurrency is there to measure the queue, and not a limit.
  const account = { base_url: simulator.url, key: 'bench', concurrency: 100_000 }
  writeFileSync(config, JSON.stringify({ accounts: { [name]: account } }))
  return { simulator, config }
}

/** The difference between slow and quick tasks, measured in turn: minutes apart, noise of the machine would dominate. */
async function costOfPoll(world: World): Promise<Cost> {
  await using workers = await startWorkers(world, 1)
  const costs: Cost[] = []
  for (let round = 0; round < world.rounds; round += 1) {
    await world.simulator.tell({ speed: 0 })
    const quick = await runRound(world, workers.all, world.tasks)
    await world.simulator.tell({ speed: slowMs })
    const slow = await runRound(world, workers.all, world.tasks)
    const more = slow.polls - quick.polls
    costs.push(mapCost(slow.cost, (value, part) => (value - quick.cost[part]) / more))
  }
  return mapCost(medianCost(costs), (value) => Math.max(0, value))
}

async function startWorkers(world: World, count: number): Promise<AsyncDisposable & { all: readonly Running[] }> {
  await using stack = new AsyncDisposableStack()
  // Disposed last: a group can only be removed when its processes have ended.
  const groups = stack.use(new DisposableStack())
  const starts = Array.from({ length: count }, async (_, at) => {
    const data = join(world.folder, `worker-${count}-${at}`)
    mkdirSync(data, { recursive: true })
    return stack.use(await startWorker({ data, config: world.config, store: world.url, s3: world.s3 }))
  })
  const all = await Promise.all(starts)
  await workOff(world, world.warmUp * count)
  if (world.cores) for (const { pid } of all) groups.use(limitCpu(pid, world.cores))
  const running = stack.move()
  return { all, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

async function runRound(world: World, workers: readonly Running[], tasks: number): Promise<Round> {
  const { client, postmaster, simulator } = world
  const look = async () => {
    const { rows } = await client.query<{ at: string }>("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS at")
    const own = workers.reduce((sum, { pid }) => sum + ownCpuSeconds(pid), 0)
    const together = workers.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
    const used = { worker: own, children: together - own, database: cpuSeconds(postmaster) }
    return { cost: { ...used, walBytes: Number(rows[0]?.at) }, polls: await simulator.polls() }
  }
  const before = await look()
  const watch = await watchLocks(world.url)
  const seconds = await workOff(world, tasks)
  const waiting = (await watch.end()) / workers.length
  const after = await look()
  const cost = mapCost(after.cost, (value, part) => (value - before.cost[part]) / tasks)
  return { perSecond: tasks / seconds, waiting, polls: (after.polls - before.polls) / tasks, cost }
}

/** Returns how long it took, by the database's clock. */
async function workOff(world: World, tasks: number): Promise<number> {
  const { client } = world
  const first = world.created
  world.created += tasks
  const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
  await client.query(
    manyTasks(tasks, {
      ...asQueued,
      id: `'video_' || lpad(to_hex(${first} + n), 48, '0')`,
      owner: `'owner ' || n % ${owners}`,
      model: `'${name}'`,
      card: `'${name}'`,
      created_at: now,
      due_at: now,
    }),
  )
  const { rows } = await client.query<{ at: string }>(`SELECT ${now} AS at, pg_notify('filmgate_due', 'bench')`)
  const idBefore = `video_${first.toString(16).padStart(48, '0')}`
  for (;;) {
    await pause(250)
    const { rows: left } = await client.query<{ state: string }>(unfinishedStatement, [idBefore])
    if (left[0]?.state === 'failed') throw new Error('a task of the bench failed')
    if (left.length > 0) continue
    const { rows: found } = await client.query<{ last: string }>(
      'SELECT max(completed_at) AS last FROM tasks WHERE id > $1',
      [idBefore],
    )
    return (Number(found[0]?.last) - Number(rows[0]?.at)) / 1000
  }
}

/** From the end, because the last tasks finish last: a count of all would be a fifth of the work of the database. */
const unfinishedStatement = `SELECT state FROM tasks WHERE id > $1 AND state <> 'completed' ORDER BY id DESC LIMIT 1`

const tables = ['tasks', 'attempts', 'events', 'slots']

type Counts = Record<string, Record<string, number>>

/** Called after the workers ended: an open connection may not have reported all of its counts. */
async function countRows(client: pg.Client): Promise<Counts> {
  await pause(500)
  const { rows } = await client.query<{ name: string } & Record<string, string>>(
    `SELECT relname AS name, n_tup_ins AS inserted, n_tup_upd AS updated, n_tup_hot_upd AS "inPlace",
       n_tup_del AS deleted FROM pg_stat_user_tables WHERE relname = ANY($1)`,
    [tables],
  )
  return Object.fromEntries(rows.map(({ name, ...counts }) => [name, mapValues(counts, Number)]))
}

async function packedBytes({ client, created }: World): Promise<number> {
  for (const table of tables) await client.query(`VACUUM FULL ${table}`)
  const sum = tables.map((table) => `pg_total_relation_size('${table}')`).join(' + ')
  const { rows } = await client.query<{ bytes: string }>(`SELECT ${sum} AS bytes`)
  const { rows: counted } = await client.query<{ count: string }>('SELECT count(*) FROM tasks')
  if (Number(counted[0]?.count) < created) throw new Error('tasks are missing')
  return Number(rows[0]?.bytes) / Number(counted[0]?.count)
}

function costOf(rounds: readonly Round[]): Cost {
  return medianCost(rounds.map(({ cost }) => cost))
}

function medianCost(costs: readonly Cost[]): Cost {
  const none: Cost = { worker: 0, children: 0, database: 0, walBytes: 0 }
  return mapCost(none, (_, part) => median(costs.map((cost) => cost[part])))
}

function mapCost(cost: Cost, change: (value: number, part: keyof Cost) => number): Cost {
  return mapValues({ ...cost }, (value, part) => change(value, part as keyof Cost)) as unknown as Cost
}

function mapValues<From, To>(record: Record<string, From>, change: (value: From, key: string) => To) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}

const ms = (seconds: number) => (seconds * 1000).toFixed(1)

function linesOf(all: Record<string, Round[]>, what: string, videos: string): Line[] {
  return Object.entries(all).map(([count, rounds]) => {
    const { worker, children, database } = costOf(rounds)
    const waiting = (100 * median(rounds.map((round) => round.waiting))).toFixed(1)
    return {
      name: `${count} worker${count === '1' ? '' : 's'}, ${what}`,
      unit: ' /s',
      ...middle(rounds.map(({ perSecond }) => perSecond)),
      detail: `${videos} of a simulated provider; ms of CPU for each: worker ${ms(worker)}, its decoding child ${ms(children)}, database ${ms(database)}; ${waiting} % of the time spent waiting for locks`,
    }
  })
}

function costLines({ task, poll, rows, bytes }: WorkerCosts): Line[] {
  const line = (name: string, value: number, unit: string, detail: string): Line => ({
    name,
    value,
    unit,
    spread: [value, value],
    detail,
  })
  const { updated = 0, inPlace = 0 } = rows.tasks ?? {}
  return [
    line('WAL of a task', task.walBytes / 1024, ' KB', `with ${task.polls.toFixed(1)} polls of the provider`),
    line(
      'WAL of one more poll',
      poll.walBytes / 1024,
      ' KB',
      `CPU: worker ${ms(poll.worker)} ms, database ${ms(poll.database)} ms`,
    ),
    line('updates of a task row', updated, '', `${inPlace.toFixed(1)} of them touch no index`),
    line('rows of a finished task', bytes / 1024, ' KB', 'with its attempt, events and all indexes, packed'),
  ]
}

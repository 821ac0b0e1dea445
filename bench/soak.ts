import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { markOf } from '../simulators/upstream.ts'
import { startPostgres } from '../test/services/postgres.ts'
import { childrenOf } from './cpu.ts'
import { type Line, middle } from './measure.ts'
import { ownMb, residentMb } from './processes.ts'
import type { SoakMemory } from './soak-memory.ts'
import { type Running, type Simulator, startService, startSimulator } from './worker-processes.ts'

/*
 * Very many tasks through one process of the service, as fast as it completes them: whether its memory, its open files and
 * its scratch files grow, and whether each task is completed once and submitted to the provider once.
 */
interface SoakBench {
  tasks: number
  store: 'sqlite' | 'postgres'
  say: (text: string) => void
}

interface World extends SoakBench {
  data: string
  memoryFile: string
  service: Running
  simulator: Simulator
  /** Returns the one number that the statement selects. */
  count(select: string): Promise<number>
  storeBytes(): Promise<number>
}

/** How many tasks are submitted and not completed, at most. */
const clients = 256
const tokens = ['a', 'b', 'c', 'd'].map((name) => ({ name, secret: `bench-${name}-0123456789` }))
const model = 'sim-key'
/** Short, so that videos are removed meanwhile. Rows stay: they are removed 30 days later. */
const retention = '30s'
/** Of so many tasks, one video is downloaded. */
const downloadEvery = 100

/** `course`: a table with a row for each twentieth of the tasks. Each row is said when it is known. */
export async function benchSoak(folder: string, bench: SoakBench): Promise<{ lines: Line[]; course: string[] }> {
  await using stack = new AsyncDisposableStack()
  const world = await openWorld(folder, bench, stack)
  for (const row of head) bench.say(row)
  const samples = await submitAll(world)
  const lines = [...growthLines(samples), ...(await checkLines(world))]
  return { lines, course: [...head, ...samples.map(rowOf)] }
}

async function openWorld(folder: string, bench: SoakBench, stack: AsyncDisposableStack): Promise<World> {
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true })
  const simulator = stack.use(await startSimulator({ speed: 0 }))
  const config = join(folder, 'soak.yaml')
  const accounts = { [model]: { base_url: simulator.url, key: 'bench', concurrency: 100_000 } }
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ accounts, tokens }))
  const server = bench.store === 'postgres' ? stack.use(await startPostgres()) : undefined
  const memoryFile = join(folder, 'memory.json')
  const preload = `--import=${new URL('./soak-memory.ts', import.meta.url)}`
  const env = {
    BENCH_MEMORY: memoryFile,
    FILMGATE_RETENTION: retention,
    ...(server && { FILMGATE_STORE: server.url }),
  }
  const service = stack.use(await startService({ data, config }, preload, env))
  const store = server ? await readPostgres(server.url, stack) : readSqlite(join(data, 'filmgate.db'), stack)
  return { ...bench, data, memoryFile, service, simulator, ...store }
}

function readSqlite(path: string, stack: AsyncDisposableStack): Pick<World, 'count' | 'storeBytes'> {
  const database = new DatabaseSync(path, { readOnly: true })
  stack.defer(() => database.close())
  return {
    count: async (select) => Number(Object.values(database.prepare(select).get() ?? {})[0]),
    storeBytes: async () =>
      [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0),
  }
}

async function readPostgres(url: string, stack: AsyncDisposableStack): Promise<Pick<World, 'count' | 'storeBytes'>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  stack.defer(() => client.end())
  const count = async (select: string) => Number(Object.values((await client.query(select)).rows[0])[0])
  return { count, storeBytes: () => count('SELECT pg_database_size(current_database())') }
}

interface Sample {
  done: number
  perSecond: number
  residentMb: number
  /** Without mapped pages of files. */
  ownMb: number
  heapMb: number
  /** After the last major collection. */
  collectedMb: number
  externalMb: number
  /** Of its child processes, which decode. */
  childrenMb: number
  openFiles: number
  storeMb: number
  videos: number
}

/** Each client submits its next task when the last one is completed. */
async function submitAll(world: World): Promise<Sample[]> {
  const samples: Sample[] = []
  const every = Math.max(1, Math.floor(world.tasks / 20))
  let [next, done, last] = [0, 0, { done: 0, at: performance.now() }]
  const client = async (number: number) => {
    const token = tokens[number % tokens.length]?.secret ?? ''
    while (next < world.tasks) {
      const at = next
      next += 1
      await completeOne(world, token, at)
      done += 1
      if (done % every !== 0) continue
      const [count, now] = [done, performance.now()]
      const perSecond = ((count - last.done) * 1000) / (now - last.at)
      last = { done: count, at: now }
      const sample = await take(world, count, perSecond)
      samples.push(sample)
      world.say(rowOf(sample))
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  return samples
}

async function completeOne({ service }: World, token: string, at: number): Promise<void> {
  const prompt = `Fox number ${at} trots through fresh snow.`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${service.url}/v1/videos${path}`, { headers, ...init })
    if (!response.ok) throw new Error(`task ${at} got ${response.status}: ${await response.text()}`)
    return response
  }
  const body = JSON.stringify({ model, prompt, seconds: '4', size: '1280x720' })
  const { id } = (await (await ask('', { method: 'POST', body })).json()) as { id: string }
  let status = ''
  for (let polls = 0; polls < 10 && status !== 'completed'; polls += 1) {
    const video = (await (await ask(`/${id}?wait=60&until=done`)).json()) as { status: string }
    status = video.status
    if (status === 'failed') throw new Error(`task ${at} failed: ${JSON.stringify(video)}`)
  }
  if (status !== 'completed') throw new Error(`task ${at}, ${id}, is ${status} after 10 minutes`)
  if (at % downloadEvery !== 0) return
  const bytes = await (await ask(`/${id}/content`)).bytes()
  if (markOf(bytes)?.prompt !== prompt) throw new Error(`task ${at}, ${id}, has the video of another task`)
}

async function take(world: World, done: number, perSecond: number): Promise<Sample> {
  const { pid } = world.service
  const memory = await memoryOf(world)
  return {
    done,
    perSecond,
    residentMb: residentMb(pid),
    ownMb: ownMb(pid),
    heapMb: memory.heapUsed / 2 ** 20,
    collectedMb: memory.collected / 2 ** 20,
    externalMb: memory.external / 2 ** 20,
    childrenMb: childrenOf(pid).reduce((sum, child) => sum + orNone(0, () => residentMb(child)), 0),
    openFiles: readdirSync(`/proc/${pid}/fd`).length,
    storeMb: (await world.storeBytes()) / 2 ** 20,
    videos: filesIn(join(world.data, 'bucket')),
  }
}

async function memoryOf({ service, memoryFile }: World): Promise<SoakMemory> {
  process.kill(service.pid, 'SIGUSR2')
  while (!existsSync(memoryFile)) await pause(5)
  const memory = JSON.parse(readFileSync(memoryFile, 'utf8')) as SoakMemory
  rmSync(memoryFile)
  return memory
}

/** The service removes folders meanwhile. */
function filesIn(folder: string): number {
  return orNone(0, () =>
    readdirSync(folder, { withFileTypes: true }).reduce(
      (sum, entry) => sum + (entry.isDirectory() ? filesIn(join(folder, entry.name)) : 1),
      0,
    ),
  )
}

/** What is read may be gone by then. */
function orNone<Value>(none: Value, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return none
  }
}

const columns: [title: string, read: (sample: Sample) => number][] = [
  ['tasks done', ({ done }) => done],
  ['a second', ({ perSecond }) => perSecond],
  ['RSS, MB', ({ residentMb }) => residentMb],
  ['its own, MB', ({ ownMb }) => ownMb],
  ['heap used, MB', ({ heapMb }) => heapMb],
  ['after collection', ({ collectedMb }) => collectedMb],
  ['external, MB', ({ externalMb }) => externalMb],
  ['children, MB', ({ childrenMb }) => childrenMb],
  ['open files', ({ openFiles }) => openFiles],
  ['store, MB', ({ storeMb }) => storeMb],
  ['videos kept', ({ videos }) => videos],
]

const format = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
const head = [format(columns.map(([title]) => title)), format(columns.map(() => '---'))]
const rowOf = (sample: Sample) => format(columns.map(([, read]) => String(Math.round(read(sample)))))

/** By least squares: how much the value changes over the second half of the samples. */
function growth(samples: readonly Sample[], read: (sample: Sample) => number): { change: number; values: number[] } {
  const half = samples.slice(Math.floor(samples.length / 2))
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const values = half.map(read)
  const [doneMean, valueMean] = [mean(half.map(({ done }) => done)), mean(values)]
  const spread = half.reduce((sum, { done }) => sum + (done - doneMean) ** 2, 0)
  const slope = half.reduce((sum, sample) => sum + (sample.done - doneMean) * (read(sample) - valueMean), 0) / spread
  return { change: slope * ((half.at(-1)?.done ?? 0) - (half[0]?.done ?? 0)), values }
}

function growthLines(samples: readonly Sample[]): Line[] {
  const half = Math.ceil(samples.length / 2)
  const line = (name: string, unit: string, read: (sample: Sample) => number, atMost?: number): Line => {
    const { change, values } = growth(samples, read)
    const detail = `by the slope of ${half} samples; ${Math.round(Math.min(...values))} … ${Math.round(Math.max(...values))}${unit}`
    return {
      name: `${name}, second half`,
      value: change,
      unit,
      ...(atMost !== undefined && { must: { atMost } }),
      spread: [change, change],
      detail,
    }
  }
  const rates = samples.map(({ perSecond }) => perSecond)
  return [
    { name: 'completed', ...middle(rates), unit: ' /s', detail: `from submit to completed, ${clients} tasks at once` },
    line('growth of memory of its own', ' MB', ({ ownMb }) => ownMb, 30),
    line('growth of mapped pages of files', ' MB', ({ residentMb, ownMb }) => residentMb - ownMb),
    line('growth of RSS of children', ' MB', ({ childrenMb }) => childrenMb, 30),
    line('growth of the heap', ' MB', ({ collectedMb }) => collectedMb, 10),
    line('growth of open files', '', ({ openFiles }) => openFiles, 5),
  ]
}

/** Each must be zero. */
async function checkLines(world: World): Promise<Line[]> {
  const { tasks, data, count } = world
  const { submits, accepts } = await world.simulator.ledger()
  const completed = await count("SELECT count(*) FROM tasks WHERE state = 'completed'")
  const ends = await count("SELECT count(*) FROM events WHERE name = 'completed'")
  const ended = await count("SELECT count(DISTINCT task) FROM events WHERE name = 'completed'")
  const line = (name: string, value: number, detail: string): Line => {
    return { name, value, unit: '', must: { atMost: 0 }, spread: [value, value], detail }
  }
  const prompts = new Set(accepts.map(({ prompt }) => prompt)).size
  return [
    line('tasks not completed', tasks - completed, `of ${tasks}`),
    line('tasks completed twice', ends - ended, 'by their timelines'),
    line('submits more or fewer than tasks', Math.abs(submits - tasks), `the provider received ${submits}`),
    line('work generated twice', accepts.length - prompts, `the provider accepted ${accepts.length}`),
    line('scratch files left', filesIn(join(data, 'scratch')), 'when all tasks are completed'),
    line('videos left', await leftVideos(data), `${retention} after the last task, and a minute later at most`),
  ]
}

async function leftVideos(data: string): Promise<number> {
  const until = performance.now() + 90_000
  while (filesIn(join(data, 'bucket')) > 0 && performance.now() < until) await pause(1_000)
  return filesIn(join(data, 'bucket'))
}

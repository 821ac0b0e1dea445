import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { cpuSeconds, mainThreadSeconds, ownCpuSeconds } from './cpu.ts'
import { type Line, median, middle, quantile } from './measure.ts'
import { load, residentMb } from './processes.ts'
import { type Running, type Simulator, startService, startSimulator } from './worker-processes.ts'

/*
 * A whole service in one process, on SQLite, with a simulated provider in another: what a task costs from its submit to its
 * end, how fast finished work is collected, and whether work goes on while clients submit as fast as they can.
 */
interface EngineBench {
  rounds: number
  /** How many tasks each round works off. */
  tasks: number
  /** How long clients flood the service. */
  floodSeconds: number
}

interface World {
  service: Running
  simulator: Simulator
  database: DatabaseSync
}

const name = 'sim-key'
/** How long a job of the provider takes if polls are counted: dozens of polls, at a cadence of 100 ms. */
const slowMs = 6_000
/** After that long without work the service has returned its memory. */
const returnedMs = 15_000
/** Longer than any part of the bench: a job ends when the bench changes the speed of the simulator. */
const endlessMs = 3_600_000

export async function benchEngine(folder: string, bench: EngineBench): Promise<Line[]> {
  await using stack = new AsyncDisposableStack()
  const world = await openWorld(folder, stack)
  const idleMb = residentMb(world.service.pid)
  // Until then, much of the CPU compiles the program.
  await workOff(world, 3 * bench.tasks)
  const lines = [
    ...(await benchCosts(world, bench)),
    await benchCollect(world, bench),
    ...(await benchFlood(world, bench)),
  ]
  await pause(returnedMs)
  const value = residentMb(world.service.pid)
  lines.push({
    name: 'memory after load',
    value,
    unit: ' MB',
    must: { atMost: 200 },
    spread: [value, value],
    detail: `RSS ${returnedMs / 1000} s later; ${Math.round(idleMb)} MB when the service had started`,
  })
  return lines
}

async function openWorld(folder: string, stack: AsyncDisposableStack): Promise<World> {
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true })
  const simulator = stack.use(await startSimulator({ speed: 0 }))
  const config = join(folder, 'engine.yaml')
  // JSON is YAML. The high concurrency is there to measure the engine, and not a limit.
  const accounts = { [name]: { base_url: simulator.url, key: 'bench', concurrency: 100_000 } }
  const tokens = Object.entries(secrets).map(([name, secret]) => ({ name, secret }))
  writeFileSync(config, JSON.stringify({ accounts, tokens }))
  const service = stack.use(await startService({ data, config }))
  const database = new DatabaseSync(join(data, 'filmgate.db'), { readOnly: true })
  stack.defer(() => database.close())
  return { service, simulator, database }
}

const secrets = { flood: 'bench-flood-0123456789', quiet: 'bench-quiet-0123456789' }

function bodyOf(prompt: string): string {
  return JSON.stringify({ model: name, prompt, seconds: '4', size: '1280x720' })
}

function requestOf(prompt: string): string {
  const body = bodyOf(prompt)
  return `POST /v1/videos HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${secrets.flood}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** Returns when it was accepted. */
async function submit({ service }: World, token: keyof typeof secrets, prompt: string): Promise<number> {
  const headers = { authorization: `Bearer ${secrets[token]}`, 'content-type': 'application/json' }
  const response = await fetch(`${service.url}/v1/videos`, { method: 'POST', headers, body: bodyOf(prompt) })
  await response.text()
  if (!response.ok) throw new Error(`a submit of the bench got ${response.status}`)
  return exactNow()
}

/** The clock of the simulator's ledger. */
function exactNow(): number {
  return performance.timeOrigin + performance.now()
}

async function submitMany(world: World, tasks: number): Promise<void> {
  let left = tasks
  const client = async () => {
    for (; left > 0; ) {
      left -= 1
      await submit(world, 'flood', 'A red fox trots through fresh snow at dusk.')
    }
  }
  await Promise.all(Array.from({ length: 8 }, client))
}

function countIn({ database }: World, states: string): number {
  const found = database.prepare(`SELECT count(*) AS count FROM tasks WHERE state IN (${states})`).get()
  return Number(found?.count)
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await pause(20)
}

async function ended(world: World): Promise<void> {
  await until(() => countIn(world, "'queued', 'held', 'running', 'storing'") === 0)
  if (countIn(world, "'failed'") > 0) throw new Error('a task of the bench failed')
}

async function workOff(world: World, tasks: number): Promise<void> {
  await submitMany(world, tasks)
  await ended(world)
}

interface Cost {
  main: number
  threads: number
  children: number
  polls: number
}

/** Milliseconds of CPU, and polls, of one task. */
async function costOf(world: World, tasks: number): Promise<Cost> {
  const { pid } = world.service
  const look = async () => {
    const [main, own] = [mainThreadSeconds(pid), ownCpuSeconds(pid)]
    return { main, threads: own - main, children: cpuSeconds(pid) - own, polls: (await world.simulator.polls()) / 1000 }
  }
  const before = await look()
  await workOff(world, tasks)
  const after = await look()
  const each = (part: keyof Cost) => ((after[part] - before[part]) / tasks) * 1000
  return { main: each('main'), threads: each('threads'), children: each('children'), polls: each('polls') }
}

async function benchCosts(world: World, { rounds, tasks }: EngineBench): Promise<Line[]> {
  const pairs: { quick: Cost; slow: Cost }[] = []
  for (let round = 0; round < rounds; round += 1) {
    await world.simulator.tell({ speed: 0 })
    const quick = await costOf(world, tasks)
    await world.simulator.tell({ speed: slowMs })
    pairs.push({ quick, slow: await costOf(world, tasks) })
  }
  await world.simulator.tell({ speed: 0 })
  const own = ({ main, threads }: Cost) => main + threads
  const part = (name: keyof Cost) => median(pairs.map(({ quick }) => quick[name])).toFixed(1)
  return [
    {
      name: 'CPU of a task',
      ...middle(pairs.map(({ quick }) => own(quick))),
      unit: ' ms',
      goal: 4,
      detail: `of the service, from submit to completed, without its decoding child (${part('children')} ms); event loop ${part('main')} ms, ${part('polls')} polls`,
    },
    {
      name: 'CPU of one more poll',
      ...middle(pairs.map(({ quick, slow }) => (own(slow) - own(quick)) / (slow.polls - quick.polls))),
      unit: ' ms',
      goal: 0.2,
      detail: 'of the provider, with what it writes: slow tasks against quick ones',
    },
  ]
}

/** How long it takes until all tasks are completed that end at the provider at once. */
async function collectSeconds(world: World, tasks: number): Promise<number> {
  await world.simulator.tell({ speed: endlessMs })
  await submitMany(world, tasks)
  await until(() => countIn(world, "'queued', 'held'") === 0)
  await world.simulator.tell({ speed: 0 })
  const begun = performance.now()
  await ended(world)
  return (performance.now() - begun) / 1000
}

const finishedAtOnce = 500

async function benchCollect(world: World, { rounds }: EngineBench): Promise<Line> {
  const seconds: number[] = []
  for (let round = 0; round < rounds; round += 1) seconds.push(await collectSeconds(world, finishedAtOnce))
  return {
    name: `${finishedAtOnce} results collected`,
    ...middle(seconds),
    unit: ' s',
    goal: 3,
    detail: 'of tiny videos, from the moment when the provider has finished all of them',
  }
}

interface Flood {
  /** Milliseconds from accepted to sent, of the tasks of a token that submits little. */
  waits: number[]
  accepted: number
  sent: number
  seconds: number
}

/** Clients of one token submit as fast as they can; another token submits a task now and then. */
async function flood(world: World, clients: number, seconds: number): Promise<Flood> {
  const port = Number(new URL(world.service.url).port)
  const before = await world.simulator.ledger()
  const rowsBefore = countIn(world, "'queued', 'held', 'running', 'storing', 'completed', 'failed'")
  const begun = exactNow()
  const end = begun + seconds * 1000
  const requests = Array.from({ length: 50 }, (_, at) => requestOf(`Fox number ${at} trots through fresh snow.`))
  const flooding = load({ port, connections: clients, seconds, requests })
  await pause(500)
  const accepted: { prompt: string; at: number }[] = []
  while (exactNow() < end - 500) {
    const prompt = `quiet ${begun} ${accepted.length}`
    accepted.push({ prompt, at: await submit(world, 'quiet', prompt) })
    await pause(50)
  }
  await flooding
  const rows = countIn(world, "'queued', 'held', 'running', 'storing', 'completed', 'failed'") - rowsBefore
  const stopped = exactNow()
  const sentPrompts = async () => {
    const { arrivals } = await world.simulator.ledger()
    return arrivals.slice(before.arrivals.length).filter(({ ask }) => ask === 'submit')
  }
  let arrivals = await sentPrompts()
  const inTime = arrivals.filter(({ at }) => at <= stopped).length
  const sentAt = () => new Map(arrivals.map(({ prompt, at }) => [prompt ?? '', at]))
  while (accepted.some(({ prompt }) => !sentAt().has(prompt))) {
    await pause(200)
    arrivals = await sentPrompts()
  }
  const times = sentAt()
  const waits = accepted.map(({ prompt, at }) => Math.max(0, (times.get(prompt) ?? 0) - at))
  return { waits, accepted: rows, sent: inTime, seconds: (stopped - begun) / 1000 }
}

async function benchFlood(world: World, { floodSeconds }: EngineBench): Promise<Line[]> {
  const lines: Line[] = []
  for (const clients of [16, 64]) {
    const { waits, accepted, sent, seconds } = await flood(world, clients, floodSeconds)
    const value = quantile(waits, 0.99)
    lines.push({
      name: `accepted to sent, ${clients} clients`,
      value,
      unit: ' ms',
      must: { atMost: 1_000 },
      spread: [quantile(waits, 0.5), value],
      detail: `p99 (and p50 first) of a quiet token, while another submits at full rate: ${Math.round(accepted / seconds)} a second accepted, ${Math.round(sent / seconds)} a second sent`,
    })
    await ended(world)
  }
  return lines
}

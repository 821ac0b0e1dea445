import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fillStore } from './fill.ts'
import { pollRequests } from './polls.ts'
import { load, startServer } from './processes.ts'
import type { ServerKind } from './servers.ts'
import { startLauncher, stop } from './starts.ts'
import { submitRequests } from './submits.ts'
import { startService, startSimulator } from './worker-processes.ts'

/*
 * What the CPU of a request, of a start and of a poll of a provider is used for, by the profiler of V8. It samples JavaScript and what
 * that calls; a thread is profiled by itself.
 */
interface ProfileBench {
  seconds: number
  tasks: number
}

/** Microseconds of CPU by what they are used for. */
type Parts = Map<string, number>

interface Column {
  title: string
  parts: Parts
  /** What the CPU is divided by. */
  count: number
}

export async function benchProfiles(folder: string, bench: ProfileBench): Promise<string> {
  return [
    await profilePolls(folder, bench),
    await profileSubmits(folder, bench),
    await profileStart(folder),
    await profileEngine(folder),
  ].join('\n\n')
}

async function profilePolls(folder: string, { seconds, tasks }: ProfileBench): Promise<string> {
  const store = join(folder, 'polls')
  const requests = pollRequests(fillStore(store, tasks), 20_000)
  const answer = '{}'.padEnd(600)
  const columns = [
    await profileServer(folder, 'bare node:http', { kind: 'bare', answer, headers: {} }, { seconds, requests }),
    await profileServer(folder, 'poll', { kind: 'app', folder: store, store: 'sqlite' }, { seconds, requests }),
  ]
  return toSection('A poll, µs of CPU for each', columns)
}

async function profileSubmits(folder: string, { seconds }: ProfileBench): Promise<string> {
  const store = join(folder, 'submits')
  mkdirSync(store, { recursive: true })
  const how = { seconds, requests: submitRequests }
  const columns = [
    await profileServer(folder, 'without a store', { kind: 'app', folder: store, store: 'none' }, how),
    await profileServer(folder, 'durable', { kind: 'app', folder: store, store: 'sqlite' }, how),
  ]
  return toSection('A submit, µs of CPU for each, of all threads', columns)
}

async function profileServer(
  folder: string,
  title: string,
  kind: ServerKind,
  { seconds, requests }: { seconds: number; requests: readonly string[] },
): Promise<Column> {
  const profiles = profilesIn(folder, title)
  let [from, count] = [0, 0]
  {
    await using server = await startServer(kind, { NODE_OPTIONS: profiles.nodeOptions })
    await load({ port: server.port, connections: 32, seconds: seconds / 4, requests })
    from = monotonicUs()
    const { perSecond } = await load({ port: server.port, connections: 32, seconds, requests })
    count = perSecond * seconds
  }
  return { title, parts: profiles.read(from), count }
}

async function profileStart(folder: string): Promise<string> {
  const data = join(folder, 'start')
  // The first start creates files, which the second finds.
  await stop((await startLauncher(data)).child)
  const profiles = profilesIn(folder, 'banner')
  await stop((await startLauncher(data, { NODE_OPTIONS: profiles.nodeOptions })).child)
  return toSection('A start and an end, ms of CPU', [{ title: 'banner', parts: profiles.read(0), count: 1000 }])
}

const slow = { tasks: 1_000, seconds: 20 }

/** Tasks that a slow provider works on, and that are polled by the engine. */
async function profileEngine(folder: string): Promise<string> {
  const data = join(folder, 'engine')
  mkdirSync(data, { recursive: true })
  const profiles = profilesIn(folder, 'polls of a provider')
  await using simulator = await startSimulator({ speed: 3_600_000 })
  const config = join(folder, 'engine.yaml')
  const accounts = { 'sim-key': { base_url: simulator.url, key: 'bench', concurrency: 100_000 } }
  writeFileSync(config, JSON.stringify({ accounts, tokens: [{ name: 'bench', secret: 'bench-0123456789-bench' }] }))
  let [from, count] = [0, 0]
  {
    await using service = await startService({ data, config }, profiles.nodeOptions)
    const headers = { authorization: 'Bearer bench-0123456789-bench', 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'sim-key', prompt: 'A fox.', seconds: '4', size: '1280x720' })
    for (let sent = 0; sent < slow.tasks; sent += 1)
      await (await fetch(`${service.url}/v1/videos`, { method: 'POST', headers, body })).text()
    const before = await simulator.ledger()
    from = monotonicUs()
    await new Promise((resolve) => setTimeout(resolve, slow.seconds * 1000))
    count = (await simulator.ledger()).requests - before.requests
  }
  const title = `${slow.tasks} tasks`
  return toSection('A poll of a provider, µs of CPU for each', [{ title, parts: profiles.read(from), count }])
}

function profilesIn(folder: string, name: string): { nodeOptions: string; read(from: number): Parts } {
  const place = join(folder, `profiles-${name.replaceAll(/\W/g, '-')}`)
  mkdirSync(place, { recursive: true })
  return {
    nodeOptions: `--cpu-prof --cpu-prof-dir=${place}`,
    read(from) {
      const parts: Parts = new Map()
      for (const file of readdirSync(place)) addProfile(parts, from, readFileSync(join(place, file), 'utf8'))
      return parts
    },
  }
}

/** The clock of the profiles. */
function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

interface CpuProfile {
  startTime: number
  nodes: { id: number; callFrame: { functionName: string; url: string } }[]
  samples: number[]
  timeDeltas: number[]
}

function addProfile(parts: Parts, from: number, text: string): void {
  const { startTime, nodes, samples, timeDeltas } = JSON.parse(text) as CpuProfile
  const names = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]))
  let now = startTime
  for (const [at, sample] of samples.entries()) {
    now += timeDeltas[at] ?? 0
    const name = now < from ? undefined : names.get(sample)
    if (name) parts.set(name, (parts.get(name) ?? 0) + (timeDeltas[at] ?? 0))
  }
}

const kinds: Record<string, string | undefined> = {
  '(idle)': undefined,
  '(root)': undefined,
  '(garbage collector)': 'collecting garbage',
  '(program)': 'system calls and other native code',
}

function partOf({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): string | undefined {
  if (Object.hasOwn(kinds, functionName)) return kinds[functionName]
  const library = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  if (library) return library === 'fastify' || library === 'find-my-way' ? 'Fastify' : 'other libraries'
  const own = /\/src\/([^/.]+)/.exec(url)?.[1]
  // Time in SQLite is that of the function that calls it.
  if (own) return own === 'stores' ? 'src/stores, and SQLite' : `src/${own}`
  if (/modules|typescript|amaro|bootstrap|^wasm/.test(url) || /compile/i.test(functionName)) return 'loading code'
  if (url.startsWith('node:')) return 'Node: HTTP, sockets, streams, timers'
  return 'built-in functions: writing to sockets, strings, buffers'
}

/** Less than this share of the last column is in one row with others. */
const leastShare = 0.01

function toSection(title: string, columns: readonly Column[]): string {
  const each = ({ parts, count }: Column, names: readonly string[]) =>
    names.reduce((sum, name) => sum + (parts.get(name) ?? 0), 0) / count
  const names = [...new Set(columns.flatMap(({ parts }) => [...parts.keys()]))]
  const last = columns.at(-1) ?? { title, parts: new Map(), count: 1 }
  names.sort((a, b) => each(last, [b]) - each(last, [a]))
  const isSmall = (name: string) => each(last, [name]) < leastShare * each(last, names)
  const rows: [string, string[]][] = [
    ...names.filter((name) => !isSmall(name)).map((name): [string, string[]] => [name, [name]]),
    ['the rest', names.filter(isSmall)],
    ['**all**', names],
  ]
  const format = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    `## ${title}`,
    '',
    format(['', ...columns.map((column) => column.title)]),
    format(['---', ...columns.map(() => '---:')]),
    ...rows.map(([name, of]) => format([name, ...columns.map((column) => each(column, of).toFixed(1))])),
  ].join('\n')
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { simulated } from '../../simulators/provider.ts'
import { openAccess } from '../../src/access.ts'
import { openBounded } from '../../src/core/bounded.ts'
import { buildCatalog, defaultDeadlines, type ModelCard, toCard } from '../../src/core/catalog.ts'
import type { Clock } from '../../src/core/clock.ts'
import { healthy } from '../../src/core/health.ts'
import { isFinished, newTaskId, queueTask } from '../../src/core/task.ts'
import { memorySpill, memoryUnsentNotes, noHealths } from '../../src/engine/memory.fixture.ts'
import { startEngine } from '../../src/engine.ts'
import { openRandom } from '../../src/main/random.ts'
import { openOutbound } from '../../src/outbound.ts'
import { openSqlite } from '../../src/stores/sqlite.ts'
import type { Store } from '../../src/stores/store.ts'
import { discard, rehome } from '../../src/workers/index.ts'
import type { Account, Tools } from '../../src/workers/worker.ts'
import { simulatedWorkers } from './simulation.ts'

/*
 * Thousands of running tasks on an account whose polls hang, and a few on one that works: how much slower do the many
 * make the few? The engine, the store and the network are real; the HTTP API and the videos are left out.
 */
export interface CrowdReport {
  crowd: number
  /** From the first to the last of the few, in milliseconds; the median of several rounds. */
  aloneMs: number
  besideMs: number
  claimP50Ms: number
  claimP99Ms: number
  rssMb: number
}

/** What is wrong, if anything: the few may take about twice as long, and a claim no longer than its limit. */
export function judgeCrowd({ aloneMs, besideMs, claimP99Ms }: CrowdReport): string[] {
  const most = 2 * aloneMs + 500
  return [
    ...(besideMs <= most ? [] : [`the few took ${Math.round(besideMs)} ms beside the crowd, not ${Math.round(most)}`]),
    ...(claimP99Ms <= 50 ? [] : [`the p99 of a claim is ${Math.round(claimP99Ms)} ms, not 50`]),
  ]
}

const few = 50
const rounds = 9
const provider = 'sim-none'

export async function runCrowd(crowd: number): Promise<CrowdReport> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-crowd-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const [slow, well] = await Promise.all([
    startUpstream({ rates: { 'poll-hang': 1 }, speed: 3_600_000 }, stack),
    startUpstream({ speed: 200 }, stack),
  ])
  const store = stack.use(await openSqlite({ folder, now: Date.now(), onFatal: (error) => Promise.reject(error) }))
  const outbound = stack.use(openOutbound({ allow: [] }))
  const tools = await toolsOf({ slow: outbound.upstream(slow), well: outbound.upstream(well) })
  const claims: number[] = []
  const { clock, random } = tools
  const quiet = { info() {}, warn() {}, error() {} }
  const access = openAccess()
  const options = { workers: simulatedWorkers, discard, rehome, tools, access, clock, random, log: quiet }
  stack.use(
    await startEngine({
      ...options,
      store: timed(store, claims),
      spill: memorySpill(),
      unsent: memoryUnsentNotes(),
      hasFiles: () => true,
      healths: noHealths,
      redact: (text) => text,
    }),
  )

  await timeFew(store, random)
  const aloneMs = await medianOfFew(store, random)
  await insert(store, random, 'slow', crowd)
  await until(async () => (await store.attemptsIn('open', 1)).length === 0 && (await waiting(store)) === 0)
  claims.length = 0
  const besideMs = await medianOfFew(store, random)
  claims.sort((a, b) => a - b)
  const at = (share: number) => claims[Math.floor(claims.length * share)] ?? Number.NaN
  const rssMb = Math.round(process.memoryUsage.rss() / 2 ** 20)
  return { crowd, aloneMs, besideMs, claimP50Ms: at(0.5), claimP99Ms: at(0.99), rssMb }
}

async function startUpstream(orders: object, stack: AsyncDisposableStack): Promise<string> {
  const script = new URL('../../simulators/upstream.ts', import.meta.url).pathname
  const child: ChildProcess = spawn(process.execPath, [script, '--orders', JSON.stringify(orders)])
  stack.defer(() => void child.kill('SIGKILL'))
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  return JSON.parse(String(line)).url
}

async function toolsOf(upstreams: Record<string, Account['upstream']>): Promise<Tools> {
  const member = simulated[provider]
  const template = member?.cards[0]
  if (!member || !template) throw new Error('no simulated provider')
  const accounts = new Map<string, Account>()
  const cards: ModelCard[] = []
  for (const [name, upstream] of Object.entries(upstreams)) {
    accounts.set(name, {
      name,
      upstream,
      provider: await member.create({ folder: '', media: {} as never }),
      health: healthy,
      credential: 'secret',
      keyVersion: '1',
      concurrency: 100_000,
      spareSlots: 0,
      onUnknown: 'hold',
    })
    cards.push({ ...toCard(template, [name]), id: name })
  }
  const clock: Clock = { now: () => Date.now(), sleep }
  return {
    clock,
    random: openRandom(),
    catalog: buildCatalog(cards, {}, null),
    accounts,
    durations: new Map(),
    keyVersions: openBounded(10_000),
    scratch: '',
    retentionMs: 86_400_000,
    maxVideoBytes: 1,
    media: {} as never,
    outbound: {} as never,
    bucket: { removeFolder: async () => {} } as never,
  }
}

function timed(store: Store, claims: number[]): Store {
  const time = async <T>(action: () => Promise<T>) => {
    const begun = performance.now()
    const result = await action()
    claims.push(performance.now() - begun)
    return result
  }
  return {
    ...store,
    claim: (wanted) => time(() => store.claim(wanted)),
    claimQueued: (wanted) => time(() => store.claimQueued(wanted)),
  }
}

async function insert(store: Store, random: Tools['random'], card: string, count: number): Promise<string[]> {
  const now = Date.now()
  const ids = Array.from({ length: count }, () => newTaskId(now, random))
  const times = { startBy: now + defaultDeadlines.startMs, finishBy: now + defaultDeadlines.totalMs }
  const asked = { prompt: 'x', seconds: 4, size: { width: 1280, height: 720 }, parameters: {}, image: null, digest: 0 }
  await Promise.all(
    ids.map((id) => store.insert(queueTask({ id, owner: card, model: card, card, ...asked, ...times }, now))),
  )
  return ids
}

/** Several rounds: in one, a single pause of the machine is the p99 of the claims. */
async function medianOfFew(store: Store, random: Tools['random']): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push(await timeFew(store, random))
  return times.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN
}

async function timeFew(store: Store, random: Tools['random']): Promise<number> {
  const begun = performance.now()
  const ids = await insert(store, random, 'well', few)
  await until(async () => {
    const tasks = await Promise.all(ids.map((id) => store.find(id)))
    return tasks.every((task) => task && isFinished(task))
  })
  return performance.now() - begun
}

/** How many are still queued. */
async function waiting(store: Store): Promise<number> {
  const page = await store.list('slow', { limit: 100_000, order: 'asc' })
  return page.filter(({ state }) => state === 'queued' || state === 'held').length
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(100)
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

if (import.meta.main) {
  const report = await runCrowd(Number(process.argv[2] ?? 10_000))
  process.stdout.write(`${JSON.stringify(report)}\n`)
  process.exit()
}

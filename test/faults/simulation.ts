import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { simulated } from '../../simulators/provider.ts'
import { submitFaults } from '../../simulators/upstream.ts'
import { openAccess } from '../../src/access.ts'
import type { Attempt, OnUnknown, Recovery } from '../../src/core/attempt.ts'
import { openBounded } from '../../src/core/bounded.ts'
import { buildCatalog, defaultDeadlines, toCard } from '../../src/core/catalog.ts'
import { manualClock } from '../../src/core/clock.fixture.ts'
import { healthy } from '../../src/core/health.ts'
import { newTaskId, queueTask, type Task } from '../../src/core/task.ts'
import { memorySpill, memoryUnsentNotes, noHealths } from '../../src/engine/memory.fixture.ts'
import { startEngine } from '../../src/engine.ts'
import { openSqlite } from '../../src/stores/sqlite.ts'
import type { Store } from '../../src/stores/store.ts'
import { discard, rehome, workers } from '../../src/workers/index.ts'
import type { Account, Tools, Worker } from '../../src/workers/worker.ts'
import { type CrashPoint, crashPoints, Life, storeOf } from './life.ts'
import { seeded } from './seeded.ts'
import { SimulatedUpstream } from './upstream.ts'

type SubmitFault = (typeof submitFaults)[number]

export interface SimulationOptions {
  recovery: Recovery
  onUnknown?: OnUnknown
  tasks: number
  seed: number
  /** Instead of the real workers, to show that the simulation detects a broken one. */
  workers?: readonly Worker[]
}

/** Everything that happened in one simulated world, for the oracle to judge. */
export interface History {
  recovery: Recovery
  onUnknown: OnUnknown
  tasks: Task[]
  attempts: Attempt[]
  upstream: SimulatedUpstream
  /** Attempts during whose life the process died, by prompt. */
  crashes: Map<string, CrashPoint[]>
  lives: number
  /** The pairs of crash point and fault that occurred. */
  covered: Set<string>
}

/** An upstream that accepted the first try and returns another job for its repeat looks like a correct one. */
const repeatFaults = submitFaults.filter(({ name }) => !name.includes('200-unknown'))

/** A process that takes longer than this hangs. */
const longestMs = 3 * 3_600_000

export async function simulate(options: SimulationOptions): Promise<History> {
  const { recovery, onUnknown = 'hold', tasks: count, seed } = options
  const chance = seeded(seed)
  const random = (bytes: number) => Uint8Array.from({ length: bytes }, () => Math.floor(chance() * 256))
  // In memory if possible: the speed of a disk is no part of the simulation.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'filmgate-simulation-'))
  try {
    const clock = manualClock(1_800_000_000_000)
    await using store = await openSqlite({ folder, now: clock.now(), onFatal: (error) => Promise.reject(error) })
    const plan = new Map<string, SubmitFault[]>()
    const upstream = new SimulatedUpstream(recovery, clock, plan)
    const prompts = new Map<string, string>()
    const deaths = new Set<string>()
    const inserts: Promise<void>[] = []
    for (let at = 0; at < count; at += 1) {
      // A third share their prompt with another task: only their references differ.
      const prompt = `film ${at % 6 === 5 ? at - 1 : at} of ${seed}`
      if (at % 6 === 5) upstream.slow.add(prompt)
      const before = plan.get(prompt) ?? []
      // A second fault may hit the repeat.
      const faults = before.length > 0 ? repeatFaults : submitFaults
      if (chance() < 0.1) {
        // Pair by pair, so that many worlds have every crash with every fault.
        const pair = (seed * 31 + deaths.size) % (crashPoints.length * (submitFaults.length + 1))
        const fault = submitFaults[pair % (submitFaults.length + 1)]
        if (fault && faults.includes(fault)) plan.set(prompt, [...before, fault])
        deaths.add(`${crashPoints[Math.floor(pair / (submitFaults.length + 1))]} ${prompt}`)
        // Of the others a third has no fault at all.
      } else if (chance() < 0.67) {
        // Some have two: what answers a repeat may go wrong as well.
        const second = chance() < 0.3 ? [repeatFaults[Math.floor(chance() * repeatFaults.length)] as SubmitFault] : []
        plan.set(prompt, [...before, faults[(seed + at) % faults.length] as SubmitFault, ...second])
      }
      const id = newTaskId(clock.now() + at, random)
      prompts.set(id, prompt)
      inserts.push(store.insert(taskOf(id, prompt, recovery, clock.now())))
    }
    await Promise.all(inserts)
    const world = { ...options, onUnknown, store, clock, random, upstream, prompts, deaths, plan }
    const { crashes, lives, covered } = await live(world)
    upstream.finish()
    const tasks = await Promise.all([...prompts.keys()].map(async (id) => (await store.find(id)) as Task))
    const attempts = (await Promise.all(tasks.map(({ id }) => store.attempts(id)))).flat()
    return { recovery, onUnknown, tasks, attempts, upstream, crashes, lives, covered }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function taskOf(id: string, prompt: string, recovery: Recovery, now: number): Task {
  const times = { startBy: now + defaultDeadlines.startMs, finishBy: now + defaultDeadlines.totalMs }
  const card = `sim-${recovery}`
  const asked = { prompt, seconds: 4, size: { width: 1280, height: 720 }, parameters: {}, image: null }
  return queueTask({ id, owner: 'alice', model: card, card, digest: 0, ...asked, ...times }, now)
}

interface World extends SimulationOptions {
  onUnknown: OnUnknown
  store: Store
  clock: ReturnType<typeof manualClock>
  random: (bytes: number) => Uint8Array
  upstream: SimulatedUpstream
  prompts: Map<string, string>
  deaths: Set<string>
  plan: Map<string, SubmitFault[]>
}

/** Starts process after process, until nothing is left to do. */
async function live(world: World) {
  const { store, clock, prompts, deaths } = world
  const crashes = new Map<string, CrashPoint[]>()
  const covered = new Set<string>()
  const faultOf = new Map([...world.plan].map(([prompt, [fault]]) => [prompt, fault?.name]))
  let lives = 0
  const finished = new Set<string>()
  let unsent = memoryUnsentNotes()
  for (let ended = false; !ended; lives += 1) {
    const life = new Life((point, prompt) => deaths.delete(`${point} ${prompt}`))
    const tools = await toolsOf(world, life)
    const mortal = storeOf(store, life, { prompts, finished })
    const options = {
      workers: world.workers ?? simulatedWorkers,
      discard,
      rehome,
      tools,
      access: openAccess(),
      clock,
      log: quiet,
    }
    // It may die during its start.
    const starting = startEngine({
      ...options,
      random: world.random,
      store: mortal,
      spill: memorySpill(),
      unsent,
      hasFiles: () => true,
      healths: noHealths,
      redact: (text) => text,
    })
    ended = await run(world, life, finished)
    if (ended) await (await starting)[Symbol.asyncDispose]()
    if (!life.crashed) continue
    const { point, prompt } = life.crashed
    covered.add(`${point} × ${faultOf.get(prompt) ?? 'no fault'}`)
    // Everything else that this process was doing is cut off, too, even during a commit.
    await life.buried()
    const open = (await store.attemptsIn('open', 10_000)).map(({ task }) => prompts.get(task) ?? '')
    for (const cut of new Set([prompt, ...open])) crashes.set(cut, [...(crashes.get(cut) ?? []), point])
    // Every other time the machine crashes, and the notes are lost.
    if (lives % 2 === 1) unsent = memoryUnsentNotes()
    // Its leases end.
    clock.advance(10_000)
    if (lives > prompts.size * 2) throw new Error('it never ends')
  }
  return { crashes, lives, covered }
}

const quiet = { info() {}, warn() {}, error() {} }

/** Advances the clock whenever nothing happens, until all is done (true) or this process died (false). */
async function run({ clock, prompts, upstream }: World, life: Life, finished: ReadonlySet<string>): Promise<boolean> {
  const begun = clock.now()
  let step = 500
  for (;;) {
    const before = finished.size
    await idle(life)
    if (life.dead) return false
    if (finished.size === prompts.size) return true
    if (clock.now() - begun > longestMs) throw new Error('tasks do not end')
    // Not past a lease while a response is on its way: only crashes end leases here.
    clock.advance(upstream.underway > 0 ? Math.min(step, 1_000) : step)
    step = finished.size > before ? 500 : Math.min(60_000, Math.round(step * 1.5))
  }
}

async function idle(life: Life): Promise<void> {
  for (let quiet = 0; quiet < 3 && !life.dead; quiet = life.pending === 0 ? quiet + 1 : 0) {
    await life.resting()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function toolsOf({ recovery, onUnknown, clock, random, upstream }: World, life: Life): Promise<Tools> {
  const name = `sim-${recovery}`
  const member = simulated[name]
  const template = member?.cards[0]
  if (!member || !template) throw new Error(`no simulated provider ${name}`)
  const catalog = buildCatalog([toCard(template, [name])], {}, null)
  const account: Account = {
    name,
    credential: 'secret',
    keyVersion: '1',
    concurrency: 12,
    spareSlots: 0,
    onUnknown,
    provider: await member.create({ folder: '', media: {} as never }),
    upstream: upstream.reachedFrom(life),
    // With so many faults the account would be paused all the time; pauses have tests of their own.
    get health() {
      return healthy
    },
    set health(_ignored) {},
  }
  return {
    clock,
    random,
    catalog,
    accounts: new Map([[name, account]]),
    durations: new Map(),
    keyVersions: openBounded(10_000),
    scratch: '',
    retentionMs: 7 * 86_400_000,
    maxVideoBytes: 1,
    media: {} as never,
    outbound: {} as never,
    bucket: { removeFolder: async () => {} } as never,
  }
}

/** Without bytes: a result is stored at once, under the name of its job. */
const collect: Worker = {
  name: 'collect',
  states: ['storing'],
  limit: 1_000,
  async run(task, { clock }) {
    const [completedAt, expiresAt] = [clock.now(), clock.now() + 30 * 86_400_000]
    const video = { key: `${task.id}/video`, bytes: 1, sha256: String(task.output).split('/').at(-1) ?? '' }
    const videoFacts = { ...task.size, duration: task.seconds, frameRate: 24, codec: 'h264', bytes: 1 }
    return { change: { state: 'completed', video, videoFacts, completedAt, expiresAt, dueAt: expiresAt } }
  },
}

/** The real workers, except for the bytes. */
export const simulatedWorkers: readonly Worker[] = [...workers.filter(({ name }) => name !== 'collect'), collect]

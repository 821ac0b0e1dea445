import { fork } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { mostAtOnce } from '../src/config/schema.ts'
import { newTaskId } from '../src/core/task.ts'
import { openRandom } from '../src/main/random.ts'
import { openPostgres } from '../src/stores/index.ts'
import type { Store } from '../src/stores/store.ts'
import { exampleTask } from './fill.ts'

/** Clients of one store, each of which sends its next call when the last one has returned. Runs in a process of its own. */
interface StoreLoad {
  url: string
  kind: 'insert' | 'read' | 'claim'
  clients: number
  seconds: number
  tasks: number
  /** For claims. */
  limit?: number
  cards?: ClaimCards
}

export type ClaimCards = readonly { card: string; account: string }[]

export interface StoreResult {
  /** Calls in the measured time, and before it. */
  count: number
  warmUps: number
  perSecond: number
  p99Ms: number
}

/** Inserted tasks have a card of their own, so that no claim finds them. */
export const insertedCard = 'inserted'

/** The source of randomness of the service. */
const random = openRandom()

const idOf = (number: number) => `video_${number.toString(16).padStart(48, '0')}`

function actOf(store: Store, { kind, tasks, limit = 64, cards = [] }: StoreLoad): () => Promise<unknown> {
  if (kind === 'insert')
    return () =>
      store.insert({ ...exampleTask(newTaskId(Date.now(), random), Date.now(), 'queued'), card: insertedCard })
  if (kind === 'read') return async () => store.read('bench', idOf(1 + Math.floor(Math.random() * tasks)))
  const open = cards.map(({ card, account }) => ({
    card,
    cap: null,
    accounts: [{ name: account, cap: mostAtOnce, maxNewTasks: limit, spare: 0 }],
  }))
  return () => {
    const now = Date.now()
    return store.claimQueued({ cards: open, ownerCaps: {}, limit, now, leaseUntil: now + 3_600_000 })
  }
}

async function run(options: StoreLoad): Promise<StoreResult> {
  const sleep = (ms: number, signal?: AbortSignal) =>
    setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
  const monotonic = () => performance.now()
  const onFatal = (error: Error) => process.abort() ?? error
  await using store = await openPostgres({ url: options.url, monotonic, sleep, name: `bench ${process.pid}`, onFatal })
  const act = actOf(store, options)
  const load = (seconds: number) => loadOf(act, options.clients, seconds * 1000)
  // The first second, in which code is compiled, is not measured: a service runs for weeks.
  const warmUps = (await load(1)).length
  const begin = performance.now()
  const times = await load(options.seconds)
  const took = (performance.now() - begin) / 1000
  times.sort((a, b) => a - b)
  return {
    count: times.length,
    warmUps,
    perSecond: times.length / took,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
  }
}

/** Returns how long each call took. */
async function loadOf(act: () => Promise<unknown>, clients: number, ms: number): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + ms
  const client = async () => {
    for (let from = performance.now(); from < end; from = performance.now()) {
      await act()
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return times
}

/** A process of its own, as the service would be. */
export async function storeLoad(options: StoreLoad): Promise<StoreResult> {
  const child = fork(new URL(import.meta.url))
  const answered = once(child, 'message') as Promise<[StoreResult]>
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the process of ${options.kind}s ended`)))
  ended.catch(() => {})
  child.send(options)
  const [result] = await Promise.race([answered, ended])
  return result
}

if (import.meta.main && process.send) {
  process.once('message', async (options: StoreLoad) => {
    process.send?.(await run(options))
    process.disconnect()
  })
}

import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { openPostgres } from '../src/stores/index.ts'
import type { Store } from '../src/stores/store.ts'
import { exampleTask } from './fill.ts'

/** So many clients of one store, each of which asks again when it has its answer. Runs in a process of its own. */
export interface StoreLoad {
  url: string
  kind: 'insert' | 'read' | 'claim'
  clients: number
  seconds: number
  tasks: number
}

export interface StoreResult {
  perSecond: number
  p99Ms: number
}

const idOf = (number: number) => `video_${number.toString(16).padStart(48, '0')}`

function actOf(store: Store, { kind, tasks }: StoreLoad): () => Promise<unknown> {
  if (kind === 'insert')
    return () => store.insert(exampleTask(`video_${randomBytes(24).toString('hex')}`, Date.now(), true))
  if (kind === 'read') return async () => store.read('bench', idOf(1 + Math.floor(Math.random() * tasks)))
  const account = { name: 'bench', cap: 1e9, room: null }
  return () => {
    const now = Date.now()
    const cards = [{ card: 'studio', cap: null, accounts: [account] }]
    return store.claimQueued({ cards, ownerCaps: {}, limit: 64, now, leaseUntil: now + 3_600_000 })
  }
}

async function run(options: StoreLoad): Promise<StoreResult> {
  const sleep = (ms: number, signal?: AbortSignal) =>
    setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
  const monotonic = () => performance.now()
  await using store = await openPostgres({ url: options.url, monotonic, sleep, name: `bench ${process.pid}` })
  const act = actOf(store, options)
  const times: number[] = []
  const begin = performance.now()
  const end = begin + options.seconds * 1000
  const client = async () => {
    for (let from = performance.now(); from < end; from = performance.now()) {
      await act()
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: options.clients }, client))
  const took = (performance.now() - begin) / 1000
  times.sort((a, b) => a - b)
  return { perSecond: times.length / took, p99Ms: times[Math.floor(times.length * 0.99)] ?? Number.NaN }
}

if (process.send) {
  process.once('message', async (options: StoreLoad) => {
    process.send?.(await run(options))
    process.disconnect()
  })
}

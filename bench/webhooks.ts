import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { deliveryColumns, fromDelivery } from '../src/core/row.ts'
import type { Endpoint } from '../src/core/webhook.ts'
import { newDelivery } from '../src/core/webhook.ts'
import { startDeliveries } from '../src/deliveries.ts'
import { openOutbound } from '../src/outbound.ts'
import { openSqlite } from '../src/stores/sqlite.ts'
import { compare, type Line } from './measure.ts'
import type { ReceiverPorts } from './webhook-receivers.ts'

interface WebhooksBench {
  rounds: number
  /** How many are delivered in each round. */
  live: number
}

/** How many deliveries wait for the host that never responds. */
const dead = 1_000

/**
 * Deliveries a second to a live receiver: while a thousand wait for a receiver that accepts connections and never responds,
 * compared with the live receiver alone.
 */
export async function benchWebhooks(folder: string, { rounds, live }: WebhooksBench): Promise<Line[]> {
  mkdirSync(folder, { recursive: true })
  const child = fork(new URL('./webhook-receivers.ts', import.meta.url))
  try {
    const [ports] = (await once(child, 'message')) as [ReceiverPorts]
    const beside = () => perSecond({ folder, ports, live, waiting: dead })
    const alone = () => perSecond({ folder, ports, live, waiting: 0 })
    const { ratio, spread, ours, limit } = await compare(rounds, beside, alone)
    const detail = `${Math.round(ours)} deliveries/s beside a host that never responds, ${Math.round(limit)}/s alone`
    return [{ name: 'webhooks beside a dead host', value: ratio, unit: '', must: { atLeast: 0.95 }, spread, detail }]
  } finally {
    child.disconnect()
  }
}

interface Round {
  folder: string
  ports: ReceiverPorts
  live: number
  /** How many wait for the receiver that never responds. */
  waiting: number
}

async function perSecond({ folder: parent, ports, live, waiting }: Round): Promise<number> {
  const folder = mkdtempSync(join(parent, 'round-'))
  let isOver = false
  const clock = {
    now: () => Date.now(),
    async sleep(ms: number, signal?: AbortSignal) {
      // After the measurement, the deliveries that hang are not waited for.
      if (!isOver) await setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
    },
  }
  const endpoints = [endpointAt('live', ports.answering), endpointAt('dead', ports.silent)] as const
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  const onFatal = (error: Error) => {
    throw error
  }
  const store = stack.use(await openSqlite({ folder, now: clock.now(), onFatal }))
  for (const endpoint of endpoints) await store.insertEndpoint(endpoint, 9)
  // Deliveries to the dead receiver are older, and so come first.
  fill(folder, endpoints[1].id, { count: waiting, at: 1 })
  fill(folder, endpoints[0].id, { count: live, at: 2 })
  const outbound = stack.use(openOutbound({ allow: ['127.0.0.1'] }))
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const random = (count: number) => new Uint8Array(count)
  const from = performance.now()
  const access = { knows: () => true }
  const deliveries = startDeliveries({ store, outbound, clock, random, log, access, hasFiles: () => true })
  while ((await store.deliveries(endpoints[0].id, { limit: 1, state: 'pending' })).length > 0) await setTimeout(20)
  const rate = (live * 1000) / (performance.now() - from)
  isOver = true
  await deliveries[Symbol.asyncDispose]()
  return rate
}

function endpointAt(owner: string, port: number): Endpoint {
  return {
    id: `whe_${owner}`,
    owner,
    name: owner,
    url: `http://127.0.0.1:${port}/`,
    eventTypes: ['video.completed'],
    secret: `whsec_${'A'.repeat(43)}=`,
    oldSecret: null,
    oldSecretUntil: null,
    createdAt: 1,
    updatedAt: 1,
    disabledAt: null,
    disabledWhy: null,
  }
}

function fill(folder: string, endpoint: string, { count, at }: { count: number; at: number }): void {
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  const marks = deliveryColumns.map((name) => `:${name}`).join(', ')
  const insert = database.prepare(`INSERT INTO deliveries (${deliveryColumns.join(', ')}) VALUES (${marks})`)
  database.exec('BEGIN')
  for (let number = 0; number < count; number += 1) {
    const task = `video_${number.toString(16).padStart(48, '0')}`
    insert.run(fromDelivery(newDelivery({ id: endpoint, owner: endpoint }, { task, at, type: 'video.completed' })))
  }
  database.exec('COMMIT')
}

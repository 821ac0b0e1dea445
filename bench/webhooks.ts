import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Endpoint } from '../src/core/webhook.ts'
import { newDelivery } from '../src/core/webhook.ts'
import { deliveryColumns, fromDelivery } from '../src/core/webhook-row.ts'
import { startDeliveries } from '../src/deliveries.ts'
import { openOutbound } from '../src/outbound.ts'
import { openSqlite } from '../src/stores/sqlite.ts'
import { compare } from './measure.ts'

/*
 * `node bench/webhooks.ts`: deliveries a second to a receiver that lives, alone and beside one that takes connections and
 * never answers, for which a thousand wait. The receivers are processes of their own.
 */

const [rounds, live, dead] = [9, 400, 1_000]
/** As long as one across the internet takes: what is measured are places, not this machine's processors. */
const latencyMs = 50

if (process.argv[2] === 'receiver') await receive()
else await measure()

async function receive(): Promise<void> {
  const answering = createServer(async (request, response) => {
    request.resume()
    await setTimeout(latencyMs)
    response.end()
  })
  const silent = createTcpServer((socket) => void socket.on('error', () => {}).resume())
  const ports = [answering, silent].map(async (server) => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as { port: number }).port
  })
  process.send?.(await Promise.all(ports))
  process.on('disconnect', () => process.exit())
}

async function measure(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['receiver'])
  const [[answering, silent]] = (await once(child, 'message')) as [[number, number]]
  const beside = () => perSecond({ answering, silent, waiting: dead })
  const alone = () => perSecond({ answering, silent, waiting: 0 })
  const { ratio, spread, ours, limit } = await compare(rounds, beside, alone)
  child.disconnect()
  process.stdout.write(`alone ${limit.toFixed(0)}/s, beside a dead host with ${dead} waiting ${ours.toFixed(0)}/s
ratio ${ratio.toFixed(3)} (${spread.map((end) => end.toFixed(3)).join(' to ')})\n`)
}

interface Round {
  answering: number
  silent: number
  /** So many wait for the one that never answers. */
  waiting: number
}

async function perSecond({ answering, silent, waiting }: Round): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-bench-webhooks-'))
  let isOver = false
  const clock = {
    now: () => Date.now(),
    async sleep(ms: number, signal?: AbortSignal) {
      // Once all is measured, nobody waits for those that hang.
      if (!isOver) await setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
    },
  }
  const endpoints = [endpointAt('live', answering), endpointAt('dead', silent)] as const
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  const onFatal = (error: Error) => {
    throw error
  }
  const store = stack.use(await openSqlite({ folder, now: clock.now(), onFatal }))
  for (const endpoint of endpoints) await store.insertEndpoint(endpoint, 9)
  // The oldest first: those of the dead one.
  fill(folder, endpoints[1].id, waiting, 1)
  fill(folder, endpoints[0].id, live, 2)
  const outbound = stack.use(openOutbound({ allow: ['127.0.0.1'] }))
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const random = (count: number) => new Uint8Array(count)
  const from = performance.now()
  const deliveries = startDeliveries({ store, outbound, clock, random, log, knows: () => true })
  while ((await store.deliveries(endpoints[0].id, { limit: 1, state: 'pending' })).length > 0) await setTimeout(20)
  const rate = (live * 1000) / (performance.now() - from)
  isOver = true
  await deliveries[Symbol.asyncDispose]()
  return rate
}

function endpointAt(owner: string, port: number): Endpoint {
  return {
    ...{ id: `whe_${owner}`, owner, name: owner, url: `http://127.0.0.1:${port}/`, eventTypes: ['video.completed'] },
    ...{ secret: `whsec_${'A'.repeat(43)}=`, oldSecret: null, oldSecretUntil: null, createdAt: 1, updatedAt: 1 },
    ...{ disabledAt: null, disabledWhy: null },
  }
}

function fill(folder: string, endpoint: string, count: number, at: number): void {
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

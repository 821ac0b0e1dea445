import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { it } from 'node:test'
import { buildBareApp } from '../../test/bare-app.ts'
import { openAccess } from '../access.ts'
import { loadConfig } from '../config.ts'
import { manualClock } from '../core/clock.fixture.ts'
import type { TaskView } from '../core/task.ts'
import { digestSecret, type Token } from '../core/token.ts'
import type { AppDependencies } from './app.ts'

/* A plain poll is answered before the routes. Clients see no difference: with `?wait=0` the same poll goes to its route. */

const tokenOf = (name: string): Token => ({ kind: 'client', name, digest: digestSecret(name), models: ['*'] })
const idOf = (digit: string) => `video_${digit.repeat(48)}`

const queued: TaskView = {
  id: idOf('1'),
  model: 'studio',
  prompt: 'Füchse 🦊',
  seconds: 8,
  size: { width: 1280, height: 720 },
  createdAt: 1_000,
  state: 'queued',
  progress: 0,
  startedAt: null,
  completedAt: null,
  expiresAt: null,
  error: null,
  remixedFrom: null,
  videoFacts: null,
  warnings: [],
  metadata: null,
  usage: null,
}
const running: TaskView = { ...queued, id: idOf('2'), state: 'running', progress: 40, startedAt: 2_000 }
const videoFacts = { width: 832, height: 480, duration: 5, frameRate: 24, codec: 'h264', bytes: 7 }
const times = { completedAt: 3_000, expiresAt: 4_000 }
const done: TaskView = { ...queued, ...times, id: idOf('3'), state: 'completed', progress: 100, videoFacts }
const tasks = [queued, running, done]

async function serve(change: (task: TaskView | undefined) => unknown = (task) => task) {
  let reads = 0
  const store = {
    read(owner: string, id: string) {
      reads += 1
      return change(owner === 'anna' ? tasks.find((task) => task.id === id) : undefined)
    },
    durations: async () => new Map(),
    queueOf: async () => [{ id: queued.id, owner: 'anna' }],
    usedSlots: async () => 0,
  }
  const access = openAccess({ tokens: [tokenOf('anna'), tokenOf('ben')], ratePerMinute: 100 })
  const { catalog } = loadConfig({ flags: {}, env: { FILMGATE_CONFIG: '/dev/null' } })
  const healths = { refresh: async () => {} }
  const accounts = new Map()
  const rest = { clock: manualClock(0), random: (count: number) => new Uint8Array(count), accounts, healths }
  const log = { info() {}, warn() {}, error() {} }
  const app = buildBareApp({ ...rest, access, catalog, log, store, bucket: {} } as unknown as AppDependencies)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const ids = new Set<string>()
  return {
    access,
    url,
    close: () => app.close(),
    reads: () => reads,
    async poll(path: string, given: Record<string, string> = {}, method = 'GET') {
      const answer = await fetch(`${url}/v1/videos/${path}`, {
        method,
        headers: { authorization: 'Bearer anna', ...given },
      })
      const { 'x-request-id': id = '', date, ...headers } = Object.fromEntries(answer.headers)
      assert.ok(/^req_\w{32}$/.test(id) && !ids.has(id), id)
      ids.add(id)
      return { status: answer.status, headers, body: await answer.text() }
    },
    [Symbol.asyncDispose]: () => app.close(),
  }
}

it('a poll on an open connection is told to leave it while the service ends', async () => {
  const world = await serve()
  await world.poll(done.id)
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1')
  socket.write(`GET /v1/videos/${done.id} HTTP/1.1\r\nHost: x\r\n`)
  // The server has read that much.
  await world.poll(done.id)
  const closed = world.close()
  await new Promise(setImmediate)
  socket.write('Authorization: Bearer anna\r\n\r\n')
  const [bytes] = await once(socket, 'data')
  assert.match(String(bytes), /\r\nconnection: close\r\n/i)
  await closed
})

it('a poll has the same response, before the routes and from its route', async () => {
  await using world = await serve()
  for (const { id } of tasks)
    for (const headers of [{}, { 'x-stainless-lang': 'js' }] as Record<string, string>[]) {
      // The first one reads the queue, and is the first of its token.
      const [, before, fromRoute] = [
        await world.poll(id, headers),
        await world.poll(id, headers),
        await world.poll(`${id}?wait=0`, headers),
      ]
      assert.equal(before.status, 200)
      assert.equal(JSON.parse(before.body).id, id)
      assert.deepEqual(before, fromRoute)
    }
})

it('a token reads only its own videos, and none once it is removed', async () => {
  await using world = await serve()
  for (const _ of ['unknown', 'known']) {
    assert.equal((await world.poll(done.id)).status, 200)
    assert.equal((await world.poll(done.id, { authorization: 'Bearer ben' })).status, 404)
    assert.equal((await world.poll(idOf('4'))).status, 404)
    assert.equal((await world.poll(done.id, { authorization: 'Bearer carl' })).status, 401)
  }
  const head = await world.poll(done.id, {}, 'HEAD')
  assert.deepEqual([head.status, head.body], [200, ''])
  world.access.change({ remove: ['config:anna'] })
  assert.equal((await world.poll(done.id)).status, 401)
})

it('a store that fails is reported, and one that responds later is read once for each poll', async () => {
  await using broken = await serve(() => {
    throw new Error('the disk is on fire')
  })
  const failures = [await broken.poll(done.id), await broken.poll(done.id), await broken.poll(`${done.id}?wait=0`)]
  assert.deepEqual(
    failures.map(({ status }) => status),
    [500, 500, 500],
  )
  await using unreadable = await serve((task) => ({ ...task, size: null }))
  for (const _ of ['unknown', 'known', 'later']) assert.equal((await unreadable.poll(queued.id)).status, 500)
  await using late = await serve(async (task) => task)
  for (const _ of ['unknown', 'known', 'later']) await late.poll(done.id)
  const before = late.reads()
  assert.equal((await late.poll(done.id)).status, 200)
  assert.equal(late.reads(), before + 1)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import fastify from 'fastify'
import { Problem } from '../core/problem.ts'
import { openTelemetry } from '../telemetry/log.ts'
import { openReadiness, readyz } from './health.ts'

/* /readyz, with a clock, a store and a bucket that the test controls. */

type Ask = () => Promise<unknown>

function ready(answers: { store?: Ask; bucket?: Ask } = {}, draining?: AbortSignal) {
  const active = new Set<string>()
  const alarms = { raise: (kind: string) => void active.add(kind), clear: (kind: string) => void active.delete(kind) }
  const asked = { store: 0, bucket: 0 }
  const well = async () => undefined
  const { store = well, bucket = well } = answers
  const sleepers = new Set<() => void>()
  let now = 1_000_000
  const clock = {
    now: () => now,
    sleep: (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        sleepers.add(resolve)
        signal?.addEventListener('abort', () => resolve())
      }),
  }
  const count = (part: keyof typeof asked, ask: Ask) => () => {
    asked[part] += 1
    return ask()
  }
  const parts = {
    store: { checkWritable: count('store', store) },
    bucket: { checkWritable: count('bucket', bucket) },
  }
  const said: string[] = []
  const { log } = openTelemetry({ write: (line) => said.push(line), now: () => now, secrets: [] })
  const dependencies = { ...parts, clock, log, alarms, ...(draining && { draining }) } as unknown as Parameters<
    typeof openReadiness
  >[0]
  const app = fastify()
  const readiness = openReadiness(dependencies)
  app.get('/readyz', readyz({ readiness }))
  return {
    asked,
    said,
    active,
    look: () => readiness(0),
    async ask() {
      const answer = await app.inject('/readyz')
      return [answer.statusCode, answer.json()] as const
    },
    pass(ms: number) {
      now += ms
    },
    /** All checks time out. */
    wake() {
      for (const resolve of sleepers) resolve()
    },
  }
}

const broken = () => Promise.reject(new Error('it is broken'))

const fine = { status: 'ok', reason: null, store: 'ok', bucket: 'ok' }

it('the store decides, the bucket is only reported', async () => {
  assert.deepEqual(await ready().ask(), [200, fine])
  assert.deepEqual(await ready({ bucket: broken }).ask(), [200, { ...fine, bucket: 'unavailable' }])
  const reason = 'The database does not respond in time, or refuses writes. See the log for the cause.'
  const away = { status: 'unavailable', reason, store: 'unavailable', bucket: 'ok' }
  assert.deepEqual(await ready({ store: broken }).ask(), [503, away])
})

it('a store that can not be written says whether its disk is full or can only be read', async () => {
  for (const [code, found, reason] of [
    ['SQLITE_FULL', 'full', /disk of the database is full.+Free some space/],
    ['ENOSPC', 'full', /disk of the database is full/],
    ['53100', 'full', /disk of the database is full/],
    ['25006', 'read_only', /is read-only.+Make it writable/],
    ['EROFS', 'read_only', /is read-only/],
  ] as const) {
    const problem = Problem.ofStorage(Object.assign(new Error('as the system puts it'), { code }))
    const [status, body] = await ready({ store: () => Promise.reject(problem) }).ask()
    assert.deepEqual([status, body.status, body.store], [503, 'unavailable', found])
    assert.match(body.reason, reason)
  }
})

it('the log has the cause once, and says when it is over', async () => {
  let works = false
  const service = ready({ store: () => (works ? Promise.resolve() : broken()) })
  for (let second = 0; second < 3; second += 1) {
    assert.equal((await service.ask())[0], 503)
    service.pass(1_000)
  }
  works = true
  assert.equal((await service.ask())[0], 200)
  const events = service.said.map((line) => JSON.parse(line) as { event: string; cause?: { message: string } })
  assert.deepEqual(
    events.map(({ event, cause }) => [event, cause?.message]),
    [
      ["the store can't be written", 'it is broken'],
      ['the store can be written again', undefined],
    ],
  )
})

it('a process that drains reports it at once', async () => {
  const stop = new AbortController()
  const service = ready({}, stop.signal)
  assert.deepEqual(await service.ask(), [200, fine])
  stop.abort()
  assert.deepEqual(await service.ask(), [503, { ...fine, status: 'draining', reason: 'The service is stopping.' }])
})

it('all requests within 5 s share one check, or within 1 s if it failed', async () => {
  for (const [store, freshMs] of [
    [async () => undefined, 5_000],
    [broken, 1_000],
  ] as const) {
    const service = ready({ store })
    const ask = () => Promise.all(Array.from({ length: 100 }, service.ask))
    await ask()
    service.pass(freshMs - 1)
    await ask()
    assert.equal(service.asked.store, 1)
    service.pass(1)
    await ask()
    assert.equal(service.asked.store, 2)
  }
})

// Every process looks for alarms every 15 seconds. An outage that began after such a look was hidden for 5 seconds.
it('a check for alarms does not hide the beginning of an outage', async () => {
  let works = true
  const service = ready({ store: () => (works ? Promise.resolve() : broken()) })
  assert.equal((await service.look()).status, 'ok')
  works = false
  assert.equal((await service.ask())[0], 503)
})

it('a check for alarms uses the result of a request, if it is fresh', async () => {
  const service = ready()
  await service.ask()
  await service.look()
  assert.deepEqual(service.asked, { store: 1, bucket: 1 })
})

it('a bucket that hangs is reported, and not checked again until it has responded', async () => {
  const hanging = Promise.withResolvers<undefined>()
  const service = ready({ bucket: () => hanging.promise })
  const first = service.ask()
  // Until it waits only for the bucket.
  while (service.asked.bucket === 0) await new Promise(setImmediate)
  service.wake()
  const without = [200, { ...fine, bucket: 'unavailable' }]
  assert.deepEqual(await first, without)
  service.pass(60_000)
  assert.deepEqual(await service.ask(), without)
  assert.deepEqual(service.asked, { store: 2, bucket: 1 })
  hanging.resolve(undefined)
  await new Promise(setImmediate)
  assert.deepEqual(await service.ask(), [200, fine])
})

it('a fault is an alarm when it lasts, or when the storage says what is wrong, until a check succeeds', async () => {
  let state: Ask = broken
  const { active, look, pass } = ready({ store: () => state() })
  await look()
  assert.deepEqual([...active], [], 'one check may be late')
  pass(15_000)
  await look()
  assert.deepEqual([...active], ['database_failing'])
  state = async () => undefined
  pass(15_000)
  await look()
  assert.deepEqual([...active], [])
  state = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }))
  pass(15_000)
  await look()
  assert.deepEqual([...active], ['database_failing'])
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import fastify from 'fastify'
import { readyz } from './health.ts'

/* What /readyz says, of a store and a bucket that answer when the test wants, and by its clock. */

type Ask = () => Promise<unknown>

function ready(answers: { store?: Ask; bucket?: Ask } = {}, draining?: AbortSignal) {
  const asked = { store: 0, bucket: 0 }
  const fine = async () => undefined
  const { store = fine, bucket = fine } = answers
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
  const parts = { store: { tokens: count('store', store) }, bucket: { open: count('bucket', bucket) } }
  const dependencies = { ...parts, clock, ...(draining && { draining }) } as unknown as Parameters<typeof readyz>[0]
  const app = fastify()
  app.get('/readyz', readyz(dependencies))
  return {
    asked,
    async ask() {
      const answer = await app.inject('/readyz')
      return [answer.statusCode, answer.json()]
    },
    pass(ms: number) {
      now += ms
    },
    /** Everybody's patience is over. */
    wake() {
      for (const resolve of sleepers) resolve()
    },
  }
}

const broken = () => Promise.reject(new Error('it is broken'))

it('the store decides, the bucket is only told of', async () => {
  assert.deepEqual(await ready().ask(), [200, { status: 'ok', store: 'ok', bucket: 'ok' }])
  assert.deepEqual(await ready({ bucket: broken }).ask(), [200, { status: 'ok', store: 'ok', bucket: 'unavailable' }])
  assert.deepEqual(await ready({ store: broken }).ask(), [
    503,
    { status: 'unavailable', store: 'unavailable', bucket: 'ok' },
  ])
})

it('one that drains says so at once, whatever it said a moment ago', async () => {
  const stop = new AbortController()
  const service = ready({}, stop.signal)
  assert.deepEqual(await service.ask(), [200, { status: 'ok', store: 'ok', bucket: 'ok' }])
  stop.abort()
  assert.deepEqual(await service.ask(), [503, { status: 'draining', store: 'ok', bucket: 'ok' }])
})

it('all who ask within a second share one question', async () => {
  const service = ready()
  const ask = () => Promise.all(Array.from({ length: 100 }, service.ask))
  await ask()
  service.pass(999)
  await ask()
  assert.deepEqual(service.asked, { store: 1, bucket: 1 })
  service.pass(1)
  await ask()
  assert.deepEqual(service.asked, { store: 2, bucket: 2 })
})

it('a bucket that hangs is answered for, and not asked again until it has answered', async () => {
  const hanging = Promise.withResolvers<undefined>()
  const service = ready({ bucket: () => hanging.promise })
  const first = service.ask()
  // Until it waits for nothing but the bucket.
  while (service.asked.bucket === 0) await new Promise(setImmediate)
  service.wake()
  const without = [200, { status: 'ok', store: 'ok', bucket: 'unavailable' }]
  assert.deepEqual(await first, without)
  service.pass(60_000)
  assert.deepEqual(await service.ask(), without)
  assert.deepEqual(service.asked, { store: 2, bucket: 1 })
  hanging.resolve(undefined)
  await new Promise(setImmediate)
  assert.deepEqual(await service.ask(), [200, { status: 'ok', store: 'ok', bucket: 'ok' }])
})

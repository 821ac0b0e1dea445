import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { manualClock } from '../../core/clock.fixture.ts'
import type { Json } from '../../core/task.ts'
import { leaseMs } from '../../core/timing.ts'
import { factOf, newTask, sent } from '../../stores/contract/world.ts'
import { openSqlite } from '../../stores/sqlite.ts'
import type { Store } from '../../stores/store.ts'
import type { OperatorAttemptList } from '../../wire/operator.ts'
import { type OperatorDependencies, operatorRoutes } from '../operator.ts'
import { decisionRoutes } from './decide.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-decide-'))
after(() => rmSync(folder, { recursive: true }))

const now = 1_000
const token = { kind: 'operator', name: 'ops', digest: '', models: [] } as const

/** A held task of attempt `a`, and the routes about it. `meanwhile` runs after an adoption has read the attempt. */
async function openWorld(meanwhile: (store: Store, task: string) => Promise<unknown> = async () => {}) {
  const store = await openSqlite({ folder: mkdtempSync(join(folder, 'store-')), now: 0, onFatal: assert.ifError })
  const task = await sent(store, '1', 'a')
  await store.record({ task: { ...task, dueAt: 1e9 } })
  const bound: Store['bound'] = async (account, operations) => {
    await meanwhile(store, task.id)
    return store.bound(account, operations)
  }
  const log = { info() {}, warn() {}, error() {} }
  const accounts = new Map([['p', { keyVersion: 'k', provider: { name: 'p' } }]])
  const given = { store: { ...store, bound }, accounts, clock: manualClock(now), log }
  const dependencies = given as unknown as OperatorDependencies
  const routes = [...operatorRoutes(dependencies), ...decisionRoutes(dependencies)]
  const call = async (name: string, more: object) => {
    const request = { id: 'req_1', ip: '127.0.0.1', token, params: { id: task.id }, query: {}, ...more }
    const route = routes.find(({ id }) => id === name) ?? assert.fail(name)
    return route.handler(request as unknown as FastifyRequest, {} as FastifyReply)
  }
  return {
    store,
    task,
    adopt: (operation: Json) => call('adoptTask', { body: { operation } }),
    orphans: async () => ((await call('listAttempts', { query: { state: 'orphan' } })) as OperatorAttemptList).data,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

const response = factOf('a', 'accepted', { id: 'named by the response' })

it('refuses an adoption if the response arrives meanwhile, and says which job it named', async () => {
  await using world = await openWorld((store, task) => store.settle(task, response))
  const { store, task } = world
  await assert.rejects(world.adopt({ id: 'adopted' }), {
    code: 'invalid_request',
    message: `Attempt 'a' was accepted as {"id":"named by the response"} meanwhile. The task continues with that by itself.`,
  })
  assert.deepEqual([(await store.attempt('a'))?.operation, await world.orphans()], [response.operation, []])
  const [due] = await store.claim({ state: 'held', account: 'p', limit: 1, now, leaseUntil: now + leaseMs })
  assert.deepEqual([due?.id, due?.operation], [task.id, null])
  assert.deepEqual(await store.auditLog({ limit: 9 }), [])
})

const long = { id: 'x'.repeat(300) }

for (const [what, meanwhile] of Object.entries({
  'its owner deleted the task': (store) => store.delete('alice', newTask('1').id, now),
  'the task runs by then': async (store) => {
    const [next] = await store.claim({ state: 'held', account: 'p', limit: 1, now: now + leaseMs, leaseUntil: 1e9 })
    assert.ok(next && (await store.record({ task: { ...next, state: 'running', operation: response.operation } })))
  },
} satisfies Record<string, (store: Store) => Promise<unknown>>))
  it(`does not say that the task continues with the response if ${what}`, async () => {
    await using world = await openWorld(async (store, task) => {
      await store.settle(task, response)
      await meanwhile(store)
    })
    const message = `Task '${world.task.id}' was changed meanwhile. Check it again.`
    await assert.rejects(world.adopt({ id: 'adopted' }), { code: 'invalid_request', message })
  })

it('shows at most 200 characters of a job', async () => {
  await using world = await openWorld()
  await world.store.settle(world.task.id, { ...response, operation: long })
  const job = JSON.stringify(long).slice(0, 200)
  const message = `The provider's response has arrived: attempt 'a' was accepted as ${job}. The task continues by itself.`
  await assert.rejects(world.adopt(long), { message })
})

it('shows the job that a response names after another one was adopted', async () => {
  await using world = await openWorld()
  const { store, task } = world
  await world.adopt({ id: 'adopted' })
  await store.settle(task.id, response)
  const [orphan, ...others] = await world.orphans()
  assert.deepEqual([orphan?.task, orphan?.operation, others], [task.id, response.operation, []])
  const { state, operation } = (await store.find(task.id)) ?? {}
  assert.deepEqual([state, operation], ['running', { id: 'adopted' }])
})

it('records nothing of an adoption whose lease has ended meanwhile', async () => {
  const later = { now: now + leaseMs, leaseUntil: now + 2 * leaseMs }
  await using world = await openWorld((store) => store.claim({ state: 'held', account: 'p', limit: 1, ...later }))
  const { store, task } = world
  const message = `Task '${task.id}' was changed meanwhile. Check it again.`
  await assert.rejects(world.adopt({ id: 'adopted' }), { code: 'invalid_request', message })
  await store.settle(task.id, response)
  assert.deepEqual([(await store.attempt('a'))?.operation, await world.orphans()], [response.operation, []])
})

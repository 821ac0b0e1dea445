import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Recovery } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import { settleMs } from '../core/timing.ts'
import { newTask } from '../stores/contract.ts'
import { found, makeWorld } from './contract.ts'
import { discard } from './discard.ts'

const now = 1_000_000
const running = newTask('1', { account: 'p', attempt: 'att_1', state: 'running', startedAt: 1, operation: 'op' })
const held = newTask('1', { account: 'p', attempt: 'att_1', attempts: 1, state: 'held' })
const orphaned = { remove: true, orphans: true, work: 'unknown' }
const over = { remove: true, work: 'over' }
const stopped = { remove: true, work: 'stopped' }

/** A provider with this recovery. The test fails if a submit is sent to it again. */
async function worldOf(recovery: Recovery) {
  const world = await makeWorld(discard)
  const { provider } = world.tools.accounts.get('p') ?? {}
  Object.assign(provider ?? {}, { recovery, submit: () => assert.fail('it was sent again') })
  return world
}

it('discard: a job whose account is gone, or that the provider does not know, is left as an orphan', async () => {
  const world = await makeWorld(discard)
  assert.deepEqual((await world.run({ ...running, account: 'gone' })).decision, orphaned)
  world.answers.cancel = async () => 'too_late'
  world.answers.poll = async () => ({ status: 'missing' })
  assert.deepEqual((await world.run(running)).decision, orphaned)
})

it('discard: a job past its deadline is stopped if that is possible, and otherwise left as an orphan', async () => {
  const world = await makeWorld(discard)
  const late = { ...running, finishBy: now }
  assert.deepEqual((await world.run(late)).decision, stopped)
  world.answers.cancel = async () => 'too_late'
  assert.deepEqual((await world.run(late)).decision, orphaned)
  world.answers.poll = async () => ({ status: 'succeeded', output: 'x' })
  const end = { state: 'completed', usage: null, error: null }
  assert.deepEqual((await world.run(late)).decision, { ...over, end })
})

it('discard: a provider that can not be reached is tried until the deadline, then the job is left as an orphan', async () => {
  const world = await makeWorld(discard)
  world.answers.cancel = () => Promise.reject(new Error('socket hang up'))
  await assert.rejects(world.run(running), { code: 'provider_unavailable', retryable: true })
  assert.deepEqual((await world.run({ ...running, finishBy: now })).decision, orphaned)
})

for (const recovery of ['lookup', 'list'] as const)
  it(`discard: a submit of unknown outcome is looked up (${recovery}), and the job that is found is stopped`, async () => {
    const world = await worldOf(recovery)
    world.answers.find = async () => found('found')
    const { after, decision } = await world.run(held)
    assert.deepEqual([after?.state, after?.operation], ['running', 'found'])
    assert.deepEqual('fact' in decision && [decision.fact?.state, decision.fact?.operation], ['accepted', 'found'])
    const cancelled: unknown[] = []
    world.answers.cancel = async (operation) => {
      cancelled.push(operation)
      return 'cancelled'
    }
    assert.deepEqual((await world.run({ ...held, ...after })).decision, stopped)
    assert.deepEqual(cancelled, ['found'])
  })

it('discard: a job that the provider does not list yet is looked up as long as the list may lag', async () => {
  const world = await worldOf('list')
  const { after } = await world.run(held)
  assert.equal(after?.state, 'held')
  assert.ok((after?.dueAt ?? 0) > now && (after?.dueAt ?? 0) <= now + settleMs)
  assert.deepEqual((await world.run(held, { openedAt: now - settleMs })).decision, orphaned)
})

it('discard: a submit that can not be looked up is left as an orphan, one whose response came late is stopped', async () => {
  for (const recovery of ['none', 'key'] as const) {
    const world = await worldOf(recovery)
    assert.deepEqual((await world.run(held)).decision, orphaned)
    assert.deepEqual((await world.run(held, { state: 'refused' })).decision, over)
    const { after } = await world.run(held, { state: 'accepted', operation: 'late' })
    assert.deepEqual([after?.state, after?.operation], ['running', 'late'])
  }
})

it('discard: a job that can not be stopped is noted in the timeline once', async () => {
  const world = await makeWorld(discard)
  world.answers.cancel = async () => 'too_late'
  const { cadenceMs = 0 } = world.tools.accounts.get('p')?.provider ?? {}
  const noteOf = async (deletedAt: number) => {
    const { decision } = await world.run({ ...running, deletedAt })
    return 'note' in decision ? decision.note : undefined
  }
  assert.deepEqual(await noteOf(now), ["deleted: the job can't be stopped and continues"])
  assert.equal(await noteOf(now - cadenceMs), undefined)
})

it('discard: passes on how the job ended, which decides about its cost', async () => {
  const world = await makeWorld(discard)
  world.answers.cancel = async () => 'too_late'
  world.answers.poll = async () => ({ status: 'failed', problem: new Problem('generation_failed', 'it failed') })
  const error = { code: 'generation_failed', message: 'it failed' }
  const failed = { state: 'failed', usage: null, error }
  assert.deepEqual((await world.run(running)).decision, { ...over, end: failed })
  world.answers.poll = async () => ({ status: 'succeeded', output: 'x', usage: { outputTokens: 7 } })
  const completed = { state: 'completed', usage: { outputTokens: 7 }, error: null }
  assert.deepEqual((await world.run(running)).decision, { ...over, end: completed })
  // Its end was reported before the task was deleted.
  const storing = { ...running, state: 'storing', usage: { outputTokens: 7 } } as const
  assert.deepEqual((await world.run(storing)).decision, { ...over, end: completed })
})

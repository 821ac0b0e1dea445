import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Recovery } from '../core/attempt.ts'
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

/** A provider that offers this after an unknown submit, and is never sent anything again. */
async function worldOf(recovery: Recovery) {
  const world = await makeWorld(discard)
  const { provider } = world.tools.accounts.get('p') ?? {}
  Object.assign(provider ?? {}, { recovery, submit: () => assert.fail('it was sent again') })
  return world
}

it('discard: work that nobody can be asked about any more, or nobody knows, is left as an orphan', async () => {
  const world = await makeWorld(discard)
  assert.deepEqual((await world.run({ ...running, account: 'gone' })).decision, orphaned)
  world.answers.cancel = async () => 'too_late'
  world.answers.poll = async () => ({ status: 'missing' })
  assert.deepEqual((await world.run(running)).decision, orphaned)
})

it('discard: work that runs past its time is stopped where that is possible, else left as an orphan', async () => {
  const world = await makeWorld(discard)
  const late = { ...running, finishBy: now }
  assert.deepEqual((await world.run(late)).decision, stopped)
  world.answers.cancel = async () => 'too_late'
  assert.deepEqual((await world.run(late)).decision, orphaned)
  world.answers.poll = async () => ({ status: 'succeeded', output: 'x' })
  assert.deepEqual((await world.run(late)).decision, over)
})

it('discard: a way there that is blocked is tried again until the deadline, then the work is left as an orphan', async () => {
  const world = await makeWorld(discard)
  world.answers.cancel = () => Promise.reject(new Error('socket hang up'))
  await assert.rejects(world.run(running), { code: 'provider_unavailable', retryable: true })
  assert.deepEqual((await world.run({ ...running, finishBy: now })).decision, orphaned)
})

for (const recovery of ['lookup', 'list'] as const)
  it(`discard: a submit of unknown outcome is looked for (${recovery}) and what is found is stopped`, async () => {
    const world = await worldOf(recovery)
    world.answers.find = async () => found('found')
    const { after, decision } = await world.run(held)
    assert.deepEqual([after?.state, after?.operation], ['running', 'found'])
    assert.deepEqual('fact' in decision && [decision.fact?.state, decision.fact?.operation], ['accepted', 'found'])
    const told: unknown[] = []
    world.answers.cancel = async (operation) => {
      told.push(operation)
      return 'cancelled'
    }
    assert.deepEqual((await world.run({ ...held, ...after })).decision, stopped)
    assert.deepEqual(told, ['found'])
  })

it('discard: what a provider does not show yet is looked for as long as it may take to', async () => {
  const world = await worldOf('list')
  const { after } = await world.run(held)
  assert.equal(after?.state, 'held')
  assert.ok((after?.dueAt ?? 0) > now && (after?.dueAt ?? 0) <= now + settleMs)
  assert.deepEqual((await world.run(held, { openedAt: now - settleMs })).decision, orphaned)
})

it('discard: a submit that nobody can be asked about is let go, one whose answer came late is stopped', async () => {
  for (const recovery of ['none', 'key'] as const) {
    const world = await worldOf(recovery)
    assert.deepEqual((await world.run(held)).decision, orphaned)
    assert.deepEqual((await world.run(held, { state: 'refused' })).decision, over)
    const { after } = await world.run(held, { state: 'accepted', operation: 'late' })
    assert.deepEqual([after?.state, after?.operation], ['running', 'late'])
  }
})

it('discard: what can not be stopped is said in the timeline, once', async () => {
  const world = await makeWorld(discard)
  world.answers.cancel = async () => 'too_late'
  const { cadenceMs = 0 } = world.tools.accounts.get('p')?.provider ?? {}
  const noteOf = async (deletedAt: number) => {
    const { decision } = await world.run({ ...running, deletedAt })
    return 'note' in decision ? decision.note : undefined
  }
  assert.deepEqual(await noteOf(now), ['deleted: it can not be stopped, and goes on'])
  assert.equal(await noteOf(now - cadenceMs), undefined)
})

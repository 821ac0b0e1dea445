import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { holdMs, settleMs } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import { newTask } from '../stores/contract.ts'
import { makeWorld } from './contract.ts'
import { submit } from './submit.ts'
import type { Account, Decision } from './worker.ts'

const queued = newTask('1', { account: 'p' })
const held = newTask('1', { account: 'p', state: 'held', attempt: 'att_1', attempts: 1 })
const unreachable = new Problem('provider_unreachable', 'no way', { retryable: true })
const factOf = (decision: Decision) => ('fact' in decision ? decision.fact : undefined)

async function worldOf(provider: Partial<Account['provider']> = {}, account: Partial<Account> = {}) {
  const world = await makeWorld(submit)
  const p = world.tools.accounts.get('p') as Account
  Object.assign(p.provider, provider)
  Object.assign(p, account)
  return { ...world, account: p }
}

describe('a submit', () => {
  it('that is accepted runs, with the operation on its attempt', async () => {
    const { run } = await worldOf({ submit: async () => ({ operation: { id: 7 } }) })
    const { after, decision } = await run(queued)
    assert.deepEqual([after?.state, after?.attempts, after?.operation], ['running', 1, { id: 7 }])
    assert.equal(factOf(decision)?.state, 'accepted')
    assert.equal(factOf(decision)?.id, after?.attempt)
  })

  it('that surely did not arrive goes to the next route at once, and round again after a while', async () => {
    const { run } = await worldOf({ submit: () => Promise.reject(unreachable) })
    const first = await run(queued)
    assert.deepEqual([first.after?.state, first.after?.tried, first.after?.dueAt], ['queued', ['p'], 1_000_000])
    assert.equal(factOf(first.decision)?.state, 'refused')
    const last = await run({ ...queued, tried: ['q'] })
    assert.deepEqual([last.after?.tried, last.after?.tries], [[], 1])
    assert.ok((last.after?.dueAt ?? 0) > 1_000_000)
  })

  it('that is refused for what it asks fails; for our key or our haste it goes elsewhere and the account pauses', async () => {
    const refusal = (blame: 'request' | 'account' | 'busy') => ({
      refused: { blame, problem: new Problem('content_policy', 'no swords'), retryAfterMs: 7_000 },
    })
    const asked = await worldOf({ submit: async () => refusal('request') })
    assert.deepEqual((await asked.run(queued)).after?.error, { code: 'content_policy', message: 'no swords' })
    for (const [blame, reason, pauseMs] of [
      ['account', 'credentials', 300_000],
      ['busy', 'busy', 7_000],
    ] as const) {
      const { run, account } = await worldOf({ submit: async () => refusal(blame) })
      assert.equal((await run(queued)).after?.state, 'queued')
      assert.deepEqual([account.health.reason, account.health.pausedUntil], [reason, 1_000_000 + pauseMs])
    }
  })

  for (const thrown of [new Error('socket hang up'), new Problem('internal', 'odd'), new SyntaxError('not JSON')]) {
    it(`whose answer is none (${thrown.message}) is held, and its attempt stays open`, async () => {
      const { run } = await worldOf({ submit: () => Promise.reject(thrown) })
      const { after, decision } = await run(queued)
      assert.equal(after?.state, 'held')
      assert.equal(factOf(decision)?.state, 'open')
    })
  }

  it('past its deadline is not sent', async () => {
    const { run } = await worldOf({ submit: async () => assert.fail('it was sent') })
    assert.equal((await run({ ...queued, startBy: 1_000_000 })).after?.error?.code, 'deadline_exceeded')
  })
})

describe('an unknown outcome', () => {
  const notSent = async () => assert.fail('it was sent again')

  it('takes an answer that was recorded meanwhile', async () => {
    const { run } = await worldOf({ submit: notSent })
    const { after } = await run(held, { state: 'accepted', operation: 'op9' })
    assert.deepEqual([after?.state, after?.operation], ['running', 'op9'])
    assert.equal((await run(held, { state: 'refused' })).after?.state, 'queued')
  })

  it('with a key is sent again under the same one', async () => {
    const keys: string[] = []
    const { run } = await worldOf({
      recovery: 'key',
      submit: async (_request, { attemptId }) => {
        keys.push(attemptId)
        return { operation: 'same' }
      },
    })
    assert.equal((await run(held)).after?.operation, 'same')
    assert.deepEqual(keys, ['att_1'])
  })

  it('is not sent again with another credential, which need not know the key', async () => {
    const { run } = await worldOf({ recovery: 'key', submit: notSent }, { keyVersion: 'rotated' })
    assert.equal((await run(held)).after?.state, 'held')
  })

  it('by lookup is adopted if found, and sent again only where a duplicate is refused, and only after a while', async () => {
    const found = await worldOf({ recovery: 'lookup', find: async () => ['op5'], submit: notSent })
    assert.equal((await found.run(held)).after?.operation, 'op5')
    const absent = { recovery: 'lookup', find: async () => [] } as const
    const old = { openedAt: 1_000_000 - settleMs }
    const careful = await worldOf({ ...absent, submit: notSent })
    for (const attempt of [{}, old]) assert.equal((await careful.run(held, attempt)).after?.state, 'held')
    const safe = await worldOf({ ...absent, refusesDuplicates: true, submit: async () => ({ operation: 'again' }) })
    assert.equal((await safe.run(held)).after?.state, 'held')
    assert.equal((await safe.run(held, old)).after?.operation, 'again')
  })

  it('by list is adopted only if exactly one fits', async () => {
    for (const [candidates, operation] of [
      [['one'], 'one'],
      [['one', 'two'], undefined],
      [[], undefined],
    ] as const) {
      const { run } = await worldOf({ recovery: 'list', find: async () => [...candidates], submit: notSent })
      const { after } = await run(held)
      assert.deepEqual([after?.state, after?.operation ?? undefined], [operation ? 'running' : 'held', operation])
    }
  })

  it('a question that gets no answer tells nothing', async () => {
    const { run } = await worldOf({
      recovery: 'lookup',
      find: () => Promise.reject(new Error('down')),
      submit: notSent,
    })
    assert.equal((await run(held)).after?.state, 'held')
  })

  it('with nothing to go by is held, fails or is submitted anew, as the account says', async () => {
    const outcome = async (onUnknown: Account['onUnknown'], openedAt = 1_000_000) => {
      const { run } = await worldOf({ recovery: 'none', submit: notSent }, { onUnknown })
      const { after, decision } = await run(held, { openedAt })
      return [after?.state, after?.error?.code, factOf(decision)?.state]
    }
    assert.deepEqual(await outcome('hold'), ['held', undefined, undefined])
    assert.deepEqual(await outcome('hold', 1_000_000 - holdMs), ['failed', 'submission_unknown', 'abandoned'])
    assert.deepEqual(await outcome('fail'), ['failed', 'submission_unknown', 'abandoned'])
    assert.deepEqual(await outcome('resubmit'), ['queued', undefined, 'abandoned'])
  })
})

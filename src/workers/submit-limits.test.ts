import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keyVersionOf } from '../core/account.ts'
import { Problem } from '../core/problem.ts'
import { holdMs, settleMs } from '../core/timing.ts'
import type { Provider } from '../providers/provider.ts'
import { newTask } from '../stores/contract.ts'
import { collect } from './collect.ts'
import { found, makeWorld, sends } from './contract.ts'
import { discard } from './discard.ts'
import { poll } from './poll.ts'
import { submit } from './submit.ts'
import type { Account, Decision } from './worker.ts'

/* Where an unknown outcome ends: at a deadline, at what can't be used, at another address. */

const now = 1_000_000
const queued = newTask('1', { account: 'p' })
const held = newTask('1', { account: 'p', state: 'held', attempt: 'att_1', attempts: 1 })
const running = newTask('1', { account: 'p', attempt: 'att_1', state: 'running', startedAt: 1, operation: 'op' })
/** A repeat that must not happen shows as a running task. What throws would leave it held. */
const notSent = sends({ operation: 'sent again' })
const factOf = (decision: Decision) => ('fact' in decision ? decision.fact : undefined)
const noteOf = (decision: Decision) => ('note' in decision ? JSON.stringify(decision.note) : '')

async function worldOf(provider: Partial<Provider> = {}, account: Partial<Account> = {}, worker = submit) {
  const world = await makeWorld(worker)
  const p = world.tools.accounts.get('p') as Account
  Object.assign(p.provider, provider)
  Object.assign(p, account)
  return world
}

describe('a held task past its deadline', () => {
  const late = { ...held, finishBy: now }
  const old = { openedAt: now - settleMs }

  it('is never sent again, and is given up', async () => {
    for (const recovery of ['key', 'lookup', 'list', 'none'] as const) {
      const again = { recovery, refusesDuplicates: true, submit: notSent } as const
      const { run } = await worldOf(again)
      const { after, decision } = await run(late, old)
      assert.deepEqual([after?.error?.code, factOf(decision)?.state], ['submission_unknown', 'abandoned'], recovery)
    }
    const { run } = await worldOf({ submit: notSent }, { onUnknown: 'resubmit' })
    assert.equal((await run(late, old)).after?.error?.code, 'submission_unknown')
  })

  it('is looked for as long as its provider may take to show it, and what is found is taken', async () => {
    for (const recovery of ['lookup', 'list'] as const) {
      const { run, answers } = await worldOf({ recovery, submit: notSent })
      const { after } = await run(late, { openedAt: now - settleMs + 5_000 })
      assert.deepEqual([after?.state, after?.dueAt], ['held', now + 5_000])
      answers.find = async () => found('found')
      for (const attempt of [{}, old]) assert.equal((await run(late, attempt)).after?.operation, 'found')
    }
    const { run } = await worldOf({ recovery: 'key', submit: notSent })
    assert.equal((await run(late)).after?.state, 'held')
    assert.equal((await run(late, { ...old, state: 'accepted', operation: 'late' })).after?.operation, 'late')
  })

  it('is looked at when its deadline comes, not later', async () => {
    const { run } = await worldOf({ submit: notSent })
    const { after } = await run({ ...held, finishBy: now + 7_000 }, old)
    assert.deepEqual([after?.state, after?.dueAt], ['held', now + 7_000])
  })

  it('does not wait for an account that is gone', async () => {
    const { run, tools } = await worldOf({ submit: notSent })
    tools.accounts = new Map()
    const { after, decision } = await run(late)
    assert.deepEqual([after?.error?.code, factOf(decision)?.state], ['submission_unknown', 'abandoned'])
  })
})

describe('a name that an upstream gives its work', () => {
  const operations = { example: '"job_1"', fits: (operation: unknown) => operation !== '..' }
  const named = (operation: string): Partial<Provider> => ({
    operations,
    submit: sends({ operation }),
    find: async () => found(operation),
  })

  for (const [what, operation, seen] of [
    ['is too long to be kept', 'x'.repeat(16_385), /its name has 16387 bytes, and 16384 are taken/],
    ['can not be asked after', '..', /it is not like \\"job_1\\"/],
  ] as const) {
    it(`and ${what} leaves the outcome unknown, and is stored nowhere`, async () => {
      const { run } = await worldOf(named(operation))
      const sent = await run(queued)
      assert.deepEqual([sent.after?.state, factOf(sent.decision)?.state], ['held', 'open'])
      assert.match(noteOf(sent.decision), seen)
      assert.ok(!JSON.stringify(sent).includes('xxxxx'))
      const looked = await (await worldOf({ ...named(operation), recovery: 'lookup' })).run(held)
      assert.equal(looked.after?.state, 'held')
      assert.match(noteOf(looked.decision), seen)
    })
  }

  it('may have 16 KiB, and our own more', async () => {
    const most = 'x'.repeat(16_382)
    assert.equal((await (await worldOf(named(most))).run(queued)).after?.operation, most)
    const long = 'x'.repeat(100_000)
    const own = await worldOf({ submit: async () => ({ operation: long }) }, { upstream: null })
    assert.equal((await own.run(queued)).after?.operation, long)
  })

  it('is asked for again where that of its result is too long', async () => {
    const { run } = await worldOf({ poll: async () => ({ status: 'succeeded', output: 'x'.repeat(16_385) }) }, {}, poll)
    await assert.rejects(run(running), ({ code, cause }) => {
      assert.match(String(cause), /its result is named in 16387 bytes/)
      return code === 'provider_unavailable'
    })
  })
})

it('more jobs than anybody could tell apart are no answer, which is said once and asked of no store', async () => {
  const count = (jobs: number) => async () => found(...Array.from({ length: jobs }, (_, at) => `op${at}`))
  const { run, known, answers } = await worldOf({ recovery: 'list', submit: notSent })
  answers.find = count(1_001)
  known.bound = async () => assert.fail('the store was asked')
  const { after, decision } = await run(held)
  assert.equal(after?.state, 'held')
  assert.match(noteOf(decision), /it names more than 1000 jobs/)
  assert.equal(noteOf((await run(held, { problem: factOf(decision)?.problem ?? null })).decision), '')
  answers.find = count(1_000)
  known.bound = async (_account, operations) => new Set(operations.slice(1))
  assert.equal((await run(held)).after?.operation, 'op0')
})

describe('an account that has another address by now', () => {
  const [before, after] = ['https://a', 'https://b'].map((address) => keyVersionOf(address, 'key')) as [string, string]
  const rotated = keyVersionOf('https://a', 'another key')
  const unasked: Partial<Provider> = {
    submit: notSent,
    find: async () => assert.fail('it was asked for jobs'),
    poll: async () => assert.fail('it was polled'),
    cancel: async () => assert.fail('it was told to stop'),
    download: async () => assert.fail('it was asked for a film'),
  }
  const waits = ({ code, retryable, cause }: { code: string; retryable: boolean; cause: unknown }) =>
    code === 'provider_unavailable' && retryable && /account 'p' had another address/.test(String(cause))

  it('is waited for by what was sent to the old one: held half an hour at most, running until its deadline', async () => {
    for (const recovery of ['key', 'lookup', 'list', 'none'] as const) {
      const { run } = await worldOf({ ...unasked, recovery }, { keyVersion: after })
      await assert.rejects(run(held, { keyVersion: before }), waits)
      const end = await run(held, { keyVersion: before, openedAt: now - holdMs })
      assert.equal(end.after?.error?.code, 'submission_unknown')
    }
    const polled = await worldOf(unasked, { keyVersion: after }, poll)
    await assert.rejects(polled.run(running, { keyVersion: before }), waits)
    const fetched = await worldOf(unasked, { keyVersion: after }, collect)
    await assert.rejects(fetched.run({ ...running, state: 'storing', output: 'x' }, { keyVersion: before }), waits)
  })

  it('is not told to stop what was deleted: it is left as an orphan', async () => {
    const { run } = await worldOf({ ...unasked, recovery: 'list' }, { keyVersion: after }, discard as typeof submit)
    assert.deepEqual((await run(running, { keyVersion: before })).decision, {
      remove: true,
      orphans: true,
      work: 'unknown',
    })
    assert.deepEqual((await run(held, { keyVersion: before })).decision, {
      remove: true,
      orphans: true,
      work: 'unknown',
    })
  })

  it('has another key, which need not know what the first one sent: that is not lost before its deadline', async () => {
    const missing = { poll: async () => ({ status: 'missing' as const }) }
    const { run } = await worldOf(missing, { keyVersion: rotated }, poll)
    const long = { ...running, missingAt: now - 86_400_000 }
    await assert.rejects(run(long, { keyVersion: before }), { code: 'provider_unavailable', retryable: true })
    assert.equal((await run(long, { keyVersion: rotated })).after?.error?.code, 'lost_upstream')
  })

  it('is told from one that only has another key, or was sent to before addresses were noted', async () => {
    for (const keyVersion of [rotated, '12345678']) {
      const { run } = await worldOf({}, { keyVersion: before }, poll)
      assert.equal((await run(running, { keyVersion })).after?.progress, 10)
    }
  })
})

it('a refusal of what is sent again tells nothing of the first, whatever the reason: it stays held', async () => {
  for (const blame of ['request', 'account', 'busy'] as const)
    for (const recovery of ['key', 'lookup'] as const) {
      const problem = new Problem('generation_failed', 'The provider refused this video.')
      const answer = async () => ({ refused: { blame, problem } })
      const { run } = await worldOf({ recovery, refusesDuplicates: true, find: async () => found(), submit: answer })
      const { after, decision } = await run(held, { openedAt: now - settleMs })
      assert.deepEqual([after?.state, factOf(decision)?.state], ['held', 'open'], `${recovery} ${blame}`)
      assert.match(noteOf(decision), /outcome unknown/)
    }
})

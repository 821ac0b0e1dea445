import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { working } from '../core/health.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { holdMs, leaseMs, settleMs } from '../core/timing.ts'
import type { Upstream } from '../outbound.ts'
import type { Call, Found, Provider } from '../providers/provider.ts'
import { newTask } from '../stores/contract.ts'
import { found, makeWorld, openAttempt, sends } from './contract.ts'
import { submit } from './submit.ts'
import { type Account, type Decision, keyOf } from './worker.ts'

const queued = newTask('1', { account: 'p' })
const held = newTask('1', { account: 'p', state: 'held', attempt: 'att_1', attempts: 1 })
const unreachable = new Problem('provider_unreachable', 'no way', { retryable: true })
const nowhere = { send: () => Promise.reject(unreachable) } as unknown as Upstream
const post = (call: Call) => call.send('/', { method: 'POST' }, call.signal)
const factOf = (decision: Decision) => ('fact' in decision ? decision.fact : undefined)
const noteOf = (decision: Decision) => ('note' in decision ? JSON.stringify(decision.note) : '')
const now = 1_000_000
/** A repeat that must not happen shows as a running task. What throws would leave it held. */
const notSent = sends({ operation: 'sent again' })

async function worldOf(provider: Partial<Provider> = {}, account: Partial<Account> = {}) {
  const world = await makeWorld(submit)
  const p = world.tools.accounts.get('p') as Account
  Object.assign(p.provider, provider)
  Object.assign(p, account)
  return { ...world, account: p }
}

describe('a submit', () => {
  it('that is accepted runs, with the operation on its attempt', async () => {
    const { run } = await worldOf({ submit: sends({ operation: { id: 7 } }) })
    const { after, decision } = await run(queued)
    assert.deepEqual([after?.state, after?.attempts, after?.operation], ['running', 1, { id: 7 }])
    assert.equal(factOf(decision)?.state, 'accepted')
    assert.equal(factOf(decision)?.id, after?.attempt)
  })

  it('that was sent needs no read of its attempt when it is polled', async () => {
    const { run, tools, account } = await worldOf({ submit: sends({ operation: 'op' }) })
    const { after } = await run(queued)
    const read = () => assert.fail('the attempt was read')
    assert.deepEqual(await keyOf(after as Task, tools, { attempts: read }), { keyVersion: account.keyVersion })
  })

  it('that can not be sent opens no attempt, goes to the next route at once, and to the first again after a while', async () => {
    const { run, known } = await worldOf({ submit: sends({ operation: 'op' }) }, { upstream: nowhere })
    known.onCommit = async () => assert.fail('an attempt was opened')
    const first = await run(queued)
    assert.deepEqual([first.after?.state, first.after?.tried, first.after?.dueAt], ['queued', ['p'], 1_000_000])
    assert.equal(factOf(first.decision), undefined)
    assert.ok('note' in first.decision)
    assert.match(first.decision.note?.join() ?? '', /^attempt not sent,no way/)
    const last = await run({ ...queued, tried: ['q'] })
    assert.deepEqual([last.after?.tried, last.after?.tries, last.after?.dueAt], [[], 1, 1_001_000])
  })

  it('that could not be sent to the same account twice, while the others are full, waits longer each time', async () => {
    const { run } = await worldOf({ submit: sends({ operation: 'op' }) }, { upstream: nowhere })
    const second = await run({ ...queued, tried: ['p'] })
    assert.deepEqual([second.after?.tried, second.after?.tries, second.after?.dueAt], [['p'], 1, 1_001_000])
    assert.equal((await run({ ...queued, tried: ['p'], tries: 3 })).after?.dueAt, 1_008_000)
  })

  it('opens no attempt if its request was never sent, whatever the adapter throws', async () => {
    for (const thrown of [new TypeError('no such field'), new Problem('provider_unavailable', 'the upload failed')]) {
      const { run, known } = await worldOf({ submit: () => Promise.reject(thrown) })
      known.onCommit = async () => assert.fail('an attempt was opened')
      const { after, decision } = await run(queued)
      assert.deepEqual([after?.state, factOf(decision)], ['queued', undefined])
    }
  })

  it('that is refused before anything is sent opens no attempt either', async () => {
    const refused = { blame: 'request', problem: new Problem('generation_failed', 'no such size') } as const
    const { run, known } = await worldOf({ submit: async () => ({ refused }) })
    known.onCommit = async () => assert.fail('an attempt was opened')
    const { after, decision } = await run(queued)
    assert.deepEqual([after?.error?.message, factOf(decision)], ['no such size', undefined])
  })

  it('is prepared, then connected, then committed, and only then sent', async () => {
    const seen: string[] = []
    const send: Upstream['send'] = async (_path, _init, _signal, departure) => {
      seen.push('connected')
      await departure?.ready()
      seen.push('sent')
      departure?.leave()
      return new Response('{}')
    }
    const { run, known } = await worldOf(
      {
        async submit(_request, call) {
          seen.push(`prepared ${call.attemptId}`)
          await post(call)
          return { operation: 'op' }
        },
      },
      { upstream: { send } as Upstream },
    )
    known.onCommit = async ({ id }) => void seen.push(`committed ${id}`)
    await run(queued)
    const id = seen[0]?.split(' ')[1]
    assert.deepEqual(seen, [`prepared ${id}`, 'connected', `committed ${id}`, 'sent'])
  })

  it('is not sent if its attempt can not be committed, and the error of the commit is thrown as it is', async () => {
    const lost = new Error('the lease was lost')
    const { run, known } = await worldOf({
      submit: (request, call) => sends({ operation: 'op' })(request, call).catch(() => ({ operation: 'swallowed' })),
    })
    known.onCommit = () => Promise.reject(lost)
    await assert.rejects(run(queued), lost)
  })

  it('whose account was drained, changed or removed while it was prepared is not sent', async () => {
    for (const current of [{ mode: 'draining' } as const, { keyVersion: 'another' }, null]) {
      const sent: string[] = []
      const send: Upstream['send'] = async (path, _init, _signal, departure) => {
        const accounts = world.tools.accounts as Map<string, Account>
        if (current) accounts.set('p', { ...world.account, ...current })
        else accounts.delete('p')
        await departure?.ready()
        sent.push(path)
        return new Response('{}')
      }
      const world = await worldOf({}, { upstream: { send } as Upstream })
      await assert.rejects(world.run(queued), { code: 'provider_unavailable' })
      assert.deepEqual(sent, [])
    }
  })

  it('whose attempt can not be committed sends nothing to its provider', async () => {
    const sent: string[] = []
    const send: Upstream['send'] = async (path, _init, _signal, departure) => {
      await departure?.ready()
      sent.push(path)
      return new Response('{}')
    }
    const { run, known } = await worldOf({}, { upstream: { send } as Upstream })
    known.onCommit = () => Promise.reject(Problem.ofStorage('full'))
    await assert.rejects(run(queued), { code: 'storage_unavailable' })
    assert.deepEqual(sent, [])
  })

  it('whose peer closes while the attempt waits for its turn opens none, and goes to the next route', async () => {
    const send: Upstream['send'] = async (_path, _init, _signal, departure) => {
      await departure?.ready()
      return new Response('{}')
    }
    const { run, known } = await worldOf({ submit: sends({ operation: 'op' }) }, { upstream: { send } as Upstream })
    known.onCommit = () => Promise.reject(unreachable)
    const { after, decision } = await run(queued)
    assert.deepEqual([after?.state, after?.tried, after?.attempts], ['queued', ['p'], 0])
    assert.equal(factOf(decision), undefined)
  })

  it('whose peer closes after the commit and before the first byte was surely not sent', async () => {
    const send: Upstream['send'] = async (_path, _init, _signal, departure) => {
      await departure?.ready()
      throw unreachable
    }
    const { run } = await worldOf({ submit: sends({ operation: 'op' }) }, { upstream: { send } as Upstream })
    const { after, decision } = await run(queued)
    assert.deepEqual([after?.state, factOf(decision)?.state], ['queued', 'refused'])
  })

  it('whose refusal is recorded only with the lease where another process may have repeated it under its key', async () => {
    const refused = { blame: 'request', problem: new Problem('content_policy', 'no swords') } as const
    const isFenced = async (provider: Partial<Provider>) => {
      const { run } = await worldOf({ ...provider, submit: sends({ refused }) })
      const { decision } = await run(queued)
      assert.equal(factOf(decision)?.state, 'refused')
      return 'isFactFenced' in decision
    }
    assert.equal(await isFenced({ recovery: 'key' }), true)
    assert.equal(await isFenced({ recovery: 'lookup', refusesDuplicates: true }), true)
    assert.equal(await isFenced({ recovery: 'lookup' }), false)
    assert.equal(await isFenced({ recovery: 'none' }), false)
  })

  it('that was not sent because the lease ended does not pause its account', async () => {
    const send: Upstream['send'] = async (_path, _init, _signal, departure) => {
      await departure?.ready()
      throw new Problem('storage_unavailable', 'The lease ended.', { retryable: true })
    }
    const { run, account } = await worldOf({ submit: sends({ operation: 'op' }) }, { upstream: { send } as Upstream })
    const before = account.health
    const { after, decision } = await run(queued)
    assert.deepEqual([after?.state, factOf(decision)?.state], ['queued', 'refused'])
    assert.deepEqual(account.health, before)
  })

  it('is held if the error is of another request, because it may have been sent', async () => {
    const { run } = await worldOf({ submit: sends(unreachable) })
    const { after, decision } = await run(queued)
    assert.deepEqual([after?.state, factOf(decision)?.state], ['held', 'open'])
  })

  it('has one billable request', async () => {
    const { run } = await worldOf({
      async submit(_request, call) {
        await post(call)
        await post(call)
        return { operation: 'op' }
      },
    })
    assert.equal((await run(queued)).after?.state, 'held')
  })

  it('whose image can not be read now opens no attempt', async () => {
    const { run, tools, known } = await worldOf({ submit: async () => assert.fail('it was sent') })
    tools.bucket.open = () => Promise.reject(new Error('503 from the bucket'))
    const asset = { key: 'a', bytes: 1, sha256: 'x' }
    const task = { ...queued, image: { asset, type: 'image/png', size: { width: 1, height: 1 } } } as const
    known.onCommit = async () => assert.fail('an attempt was opened')
    await assert.rejects(run(task), { code: 'storage_unavailable', retryable: true })
  })

  it('fails if it is refused for its content; if for the key or the rate, it goes elsewhere and the account pauses', async () => {
    const refusal = (blame: 'request' | 'account' | 'busy') => ({
      refused: { blame, problem: new Problem('content_policy', 'no swords'), retryAfterMs: 7_000 },
    })
    const asked = await worldOf({ submit: sends(refusal('request')) })
    assert.deepEqual((await asked.run(queued)).after?.error, { code: 'content_policy', message: 'no swords' })
    for (const [blame, reason, pauseMs] of [
      ['account', 'credentials', 300_000],
      ['busy', 'busy', 7_000],
    ] as const) {
      const { run, account } = await worldOf({ submit: sends(refusal(blame)) })
      assert.equal((await run(queued)).after?.state, 'queued')
      assert.deepEqual([account.health.reason, account.health.pausedUntil], [reason, 1_000_000 + pauseMs])
    }
  })

  for (const thrown of [new Error('socket hang up'), new Problem('internal', 'odd'), new SyntaxError('not JSON')]) {
    it(`without a readable response (${thrown.message}) is held, and its attempt stays open`, async () => {
      const { run } = await worldOf({ submit: sends(thrown) })
      const { after, decision } = await run(queued)
      assert.equal(after?.state, 'held')
      assert.equal(factOf(decision)?.state, 'open')
    })
  }

  it('that was begun before a pause does not end it', async () => {
    const paused = { failures: 1, pausedUntil: 1_300_000, reason: 'credentials' } as const
    const { run, account } = await worldOf({
      async submit(_request, call) {
        account.health = paused
        await post(call)
        return { operation: 'op' }
      },
    })
    assert.equal((await run(queued)).after?.state, 'running')
    assert.deepEqual(account.health, paused)
    account.health = { ...paused, pausedUntil: 999_999 }
    Object.assign(account.provider, { submit: sends({ operation: 'op' }) })
    await run(queued)
    assert.deepEqual(account.health, working)
  })

  it('past its deadline is not sent', async () => {
    const { run } = await worldOf({ submit: async () => assert.fail('it was sent') })
    assert.equal((await run({ ...queued, startBy: 1_000_000 })).after?.error?.code, 'deadline_exceeded')
  })
})

describe('an unknown outcome', () => {
  it('uses a response that was recorded meanwhile', async () => {
    const { run } = await worldOf({ submit: notSent })
    const { after } = await run(held, { state: 'accepted', operation: 'op9' })
    assert.deepEqual([after?.state, after?.operation], ['running', 'op9'])
    assert.equal((await run(held, { state: 'refused' })).after?.state, 'queued')
  })

  it('with an idempotency key is sent again under the same key', async () => {
    const keys: string[] = []
    const { run } = await worldOf({
      recovery: 'key',
      submit: (request, call) => {
        keys.push(call.attemptId)
        return sends({ operation: 'same' })(request, call)
      },
    })
    assert.equal((await run(held)).after?.operation, 'same')
    assert.deepEqual(keys, ['att_1'])
  })

  it('is adopted by lookup alone: without a repeat, and whatever other attempts there are', async () => {
    const { run, known } = await worldOf({ recovery: 'lookup', find: async () => found('op5'), submit: notSent })
    known.rivals = async () => assert.fail('rivals were read')
    const { after, decision } = await run(held)
    assert.deepEqual([after?.state, after?.operation], ['running', 'op5'])
    const { id, state, operation, adopted } = factOf(decision) ?? {}
    assert.deepEqual([id, state, operation, adopted], ['att_1', 'accepted', 'op5', true])
  })

  it('is waited for, and no fact written, while its sender may still get the response, though its lease is over', async () => {
    const problem = { code: 'provider_unavailable', message: 'it hung up' } as const
    const young = { openedAt: now - leaseMs }
    for (const onUnknown of ['hold', 'fail', 'resubmit'] as const) {
      const { run } = await worldOf({ recovery: 'none', submit: notSent }, { onUnknown })
      const { after, decision } = await run(held, young)
      assert.deepEqual([after?.state, after?.dueAt], ['held', young.openedAt + settleMs], onUnknown)
      assert.equal(factOf(decision), undefined, onUnknown)
      // A sender that got no response has recorded its problem: then nothing is waited for.
      const silent = await run(held, { ...young, problem })
      assert.equal(silent.after?.state, { hold: 'held', fail: 'failed', resubmit: 'queued' }[onUnknown])
    }
  })

  it('by list is not adopted while another attempt may be the one that is listed, and by lookup it is', async () => {
    const rival = (prompt: string | null) => async () => [{ id: 'att_2', prompt }]
    const outcome = async (recovery: 'list' | 'lookup', prompt: string | null, provider = {}) => {
      const { run, known } = await worldOf({ recovery, find: async () => found('one'), submit: notSent, ...provider })
      known.rivals = rival(prompt)
      return (await run(held)).after?.state
    }
    assert.equal(await outcome('list', held.prompt), 'held')
    assert.equal(await outcome('list', null), 'held', 'a rival whose task is gone may be any')
    assert.equal(await outcome('list', 'another prompt'), 'running')
    assert.equal(await outcome('list', 'another prompt', { listedAs: () => 'all the same' }), 'held')
    assert.equal(await outcome('lookup', held.prompt), 'running')
  })

  it('by list is not adopted beside more rivals than are compared', async () => {
    const { run, known } = await worldOf({ recovery: 'list', find: async () => found('one'), submit: notSent })
    known.rivals = async (_attempt, _since, limit) => Array.from({ length: limit }, () => ({ id: 'x', prompt: 'y' }))
    assert.equal((await run(held)).after?.state, 'held')
  })

  it('is not adopted while the list has a job without details, even beside a match', async () => {
    for (const answer of [
      { matches: [], possible: ['other'], isPartial: false },
      { matches: ['one'], possible: ['other'], isPartial: false },
    ]) {
      const { run, known } = await worldOf({ recovery: 'list', find: async () => answer, submit: notSent })
      assert.equal((await run(held)).after?.state, 'held')
      known.bound = async () => new Set(['"other"'])
      assert.equal((await run(held)).after?.operation ?? undefined, answer.matches[0])
    }
  })

  it('marks an operation that a lookup found as adopted, and one from a response not', async () => {
    const adopts = await worldOf({ recovery: 'list', find: async () => found('one'), submit: notSent })
    assert.equal(factOf((await adopts.run(held)).decision)?.adopted, true)
    const { run } = await worldOf({ submit: sends({ operation: 'op' }) })
    assert.equal(factOf((await run(queued)).decision)?.adopted, undefined)
  })

  it('by list is not adopted if another attempt gets its response during the lookup', async () => {
    const { run, known } = await worldOf({ recovery: 'list', find: async () => found('one'), submit: notSent })
    let answered = false
    known.rivals = async () => {
      answered = true
      return []
    }
    known.bound = async (_account, operations) => new Set(answered ? operations : [])
    assert.equal((await run(held)).after?.state, 'held')
  })

  it('is not changed by a failed lookup, which the timeline has once', async () => {
    const { run } = await worldOf({
      recovery: 'lookup',
      find: () => Promise.reject(new Error('down')),
      submit: notSent,
    })
    const { after, decision } = await run(held)
    assert.equal(after?.state, 'held')
    const problem = factOf(decision)?.problem ?? null
    assert.ok('note' in decision)
    assert.deepEqual(decision.note, ['lookup failed', problem?.message])
    assert.match(problem?.message ?? '', /down/)
    assert.ok(!('note' in (await run(held, { problem })).decision))
  })

  it('is sent again only after an answered lookup without it: not after a failed one, however old it is', async () => {
    const old = { openedAt: 1_000_000 - settleMs }
    const asked = { recovery: 'lookup', refusesDuplicates: true, submit: notSent } as const
    const failed = await worldOf({ ...asked, find: () => Promise.reject(new Error('503')) })
    assert.equal((await failed.run(held, old)).after?.state, 'held')
    const end = await failed.run(held, { openedAt: 1_000_000 - holdMs })
    assert.equal(end.after?.error?.code, 'submission_unknown')
    for (const answer of [
      { matches: [], possible: ['x'], isPartial: false },
      { matches: [], possible: [], isPartial: true },
    ]) {
      const { run } = await worldOf({ ...asked, find: async () => answer })
      assert.equal((await run(held, old)).after?.state, 'held')
    }
  })

  it('is submitted again, where the account says so, only after an answered and whole list without it', async () => {
    const old = { openedAt: 1_000_000 - settleMs }
    const stateAfter = async (find: () => Promise<Found>, attempt = old) => {
      const { run } = await worldOf({ recovery: 'list', find, submit: notSent }, { onUnknown: 'resubmit' })
      return (await run(held, attempt)).after?.state
    }
    assert.equal(await stateAfter(() => Promise.reject(new Error('503'))), 'held')
    assert.equal(await stateAfter(async () => ({ ...found(), possible: ['x'] })), 'held')
    assert.equal(await stateAfter(async () => ({ ...found(), isPartial: true })), 'held')
    assert.equal(await stateAfter(async () => found('one', 'two')), 'held')
    assert.equal(await stateAfter(async () => found(), { openedAt: 1_000_000 }), 'held', 'it may still appear')
    assert.equal(await stateAfter(async () => found()), 'queued')
  })

  it('fails after half an hour even if its account is gone, and not before', async () => {
    const { run, tools } = await worldOf()
    tools.accounts = new Map()
    await assert.rejects(run(held), { code: 'provider_unavailable', retryable: true })
    const { after, decision } = await run(held, { openedAt: 1_000_000 - holdMs })
    assert.deepEqual([after?.error?.code, factOf(decision)?.state], ['submission_unknown', 'abandoned'])
    await assert.rejects(run(held, { openedAt: 1_000_000 - holdMs, state: 'accepted' }), { retryable: true })
  })

  it('is submitted again once, if the account says so, and given up the second time', async () => {
    const { run, known } = await worldOf({ recovery: 'none', submit: notSent }, { onUnknown: 'resubmit' })
    const attempts = (...states: ('refused' | 'abandoned' | 'orphan' | 'open')[]) => {
      known.attempts = async () => states.map((state, at) => openAttempt(held, { id: `att_${at}`, state }))
    }
    const old = { openedAt: 1_000_000 - settleMs }
    attempts('refused', 'open')
    assert.equal((await run(held, old)).after?.state, 'queued')
    for (const first of ['abandoned', 'orphan'] as const) {
      attempts(first, 'open')
      assert.equal((await run(held, old)).after?.error?.code, 'submission_unknown')
    }
  })

  it('without a lookup is held, fails or is submitted again, as the account says', async () => {
    const outcome = async (onUnknown: Account['onUnknown'], ageMs: number) => {
      const { run } = await worldOf({ recovery: 'none', submit: notSent }, { onUnknown })
      const { after, decision } = await run(held, { openedAt: 1_000_000 - ageMs })
      return [after?.state, after?.error?.code, factOf(decision)?.state]
    }
    assert.deepEqual(await outcome('hold', settleMs), ['held', undefined, undefined])
    assert.deepEqual(await outcome('hold', holdMs), ['failed', 'submission_unknown', 'abandoned'])
    assert.deepEqual(await outcome('fail', settleMs), ['failed', 'submission_unknown', 'abandoned'])
    assert.deepEqual(await outcome('resubmit', settleMs), ['queued', undefined, 'abandoned'])
  })
})

describe('a repeat', () => {
  const settled = { openedAt: now - settleMs }
  const exact = { recovery: 'lookup', refusesDuplicates: true } as const
  const rotated = { keyVersion: 'rotated' }
  /** What becomes of a held task at a provider that accepts whatever it is sent. */
  const outcome = async (provider: Partial<Provider>, account: Partial<Account> = {}, attempt = {}) => {
    const { after } = await (await worldOf(provider, account)).run(held, attempt)
    return [after?.state, after?.operation]
  }
  const [repeated, kept] = [
    ['running', 'op'],
    ['held', null],
  ]

  it('is sent under the same key, but not with another credential, which may not know that key', async () => {
    assert.deepEqual(await outcome({ recovery: 'key' }), repeated)
    assert.deepEqual(await outcome({ recovery: 'key' }, rotated), kept)
  })

  it('is sent after a lookup did not find the submit only where the provider refuses duplicates', async () => {
    assert.deepEqual(await outcome(exact, {}, settled), repeated)
    assert.deepEqual(await outcome({ recovery: 'lookup' }, {}, settled), kept)
  })

  it('is not sent with another credential after a lookup did not find the submit', async () => {
    assert.deepEqual(await outcome(exact, rotated, settled), kept)
  })

  it('that is refused proves nothing about the first submit, whatever the reason: the task stays held', async () => {
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
})

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

  it('is looked up as long as its provider may take to list it, and what is found is accepted', async () => {
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

  it('is due at its deadline, not later', async () => {
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

describe('a job id of an upstream', () => {
  const operations = { example: '"job_1"', fits: (operation: unknown) => operation !== '..' }
  const named = (operation: string): Partial<Provider> => ({
    operations,
    submit: sends({ operation }),
    find: async () => found(operation),
  })

  for (const [flaw, operation, shown] of [
    ['is too long to be stored', 'x'.repeat(16_385), /the job id has 16387 bytes; at most 16384 are accepted/],
    ['can not be polled', '..', /the job id is not like \\"job_1\\"/],
  ] as const) {
    it(`that ${flaw} leaves the outcome unknown, and is stored nowhere`, async () => {
      const { run } = await worldOf(named(operation))
      const sent = await run(queued)
      assert.deepEqual([sent.after?.state, factOf(sent.decision)?.state], ['held', 'open'])
      assert.match(noteOf(sent.decision), shown)
      assert.ok(!JSON.stringify(sent).includes('xxxxx'))
      const looked = await (await worldOf({ ...named(operation), recovery: 'lookup' })).run(held)
      assert.equal(looked.after?.state, 'held')
      assert.match(noteOf(looked.decision), shown)
    })
  }

  it('may have 16 KiB, and that of a local provider more', async () => {
    const most = 'x'.repeat(16_382)
    assert.equal((await (await worldOf(named(most))).run(queued)).after?.operation, most)
    const long = 'x'.repeat(100_000)
    const own = await worldOf({ submit: async () => ({ operation: long }) }, { upstream: null })
    assert.equal((await own.run(queued)).after?.operation, long)
  })
})

it('a list of more than 1 000 jobs is a failed lookup: it is noted once, and the store is not asked about it', async () => {
  const count = (jobs: number) => async () => found(...Array.from({ length: jobs }, (_, at) => `op${at}`))
  const { run, known, answers } = await worldOf({ recovery: 'list', submit: notSent })
  answers.find = count(1_001)
  known.bound = async () => assert.fail('the store was asked')
  const { after, decision } = await run(held)
  assert.equal(after?.state, 'held')
  assert.match(noteOf(decision), /the provider lists more than 1000 jobs/)
  assert.equal(noteOf((await run(held, { problem: factOf(decision)?.problem ?? null })).decision), '')
  answers.find = count(1_000)
  known.bound = async (_account, operations) => new Set(operations.slice(1))
  assert.equal((await run(held)).after?.operation, 'op0')
})

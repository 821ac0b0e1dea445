import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OnUnknown } from './attempt.ts'
import { healthy } from './health.ts'
import {
  endsWithoutAccount,
  identify,
  type Lookup,
  type RecoveryStep,
  recover,
  type UnknownSubmit,
} from './recovery.ts'
import { holdMs, settleMs } from './timing.ts'

/* The policy as tables. The workers' own tests show that each step is done as it is written here. */

const openedAt = 10_000_000
const unread = { code: 'provider_unavailable', message: 'The connection broke.' } as const
const exact = { recovery: 'lookup', refusesDuplicates: true } as const

/** What the provider can prove, and what else decides. `exact`: a lookup at a provider that refuses duplicates. */
const cases: Record<string, UnknownSubmit['account']['provider']> = {
  none: { recovery: 'none' },
  'none, silent sender': { recovery: 'none' },
  key: { recovery: 'key' },
  'key, paused': { recovery: 'key' },
  'key, other credential': { recovery: 'key' },
  lookup: { recovery: 'lookup' },
  list: { recovery: 'list' },
  exact,
  'exact, paused': exact,
  'exact, other credential': exact,
}
const ages = { young: settleMs - 1, settled: settleMs, old: holdMs }
const lookups = ['not asked', 'found', 'absent', 'unsure', 'failed'] as const
const policies = ['hold', 'fail', 'resubmit'] as const

type Age = keyof typeof ages
type Asked = (typeof lookups)[number] | 'can not ask'

const askable = ['lookup', 'list', 'exact', 'exact, paused', 'exact, other credential']
const unaskable = Object.keys(cases).filter((name) => !askable.includes(name))
const always: Age[] = ['young', 'settled', 'old']

interface Given extends Partial<Omit<UnknownSubmit, 'attempt' | 'account'>> {
  attempt?: Partial<UnknownSubmit['attempt']>
  onUnknown?: OnUnknown
}

function stepOf(name: string, asked: Asked, now: number, { attempt, onUnknown = 'hold', ...given }: Given = {}) {
  const provider = cases[name]
  assert.ok(provider)
  const health = name.endsWith('paused') ? ({ failures: 1, pausedUntil: now + 1, reason: 'busy' } as const) : healthy
  const problem = name.endsWith('silent sender') ? null : unread
  return recover({
    task: { finishBy: openedAt + 10 * holdMs },
    attempt: { state: 'open', operation: null, openedAt, keyVersion: '1', problem, ...attempt },
    attempts: [],
    account: { keyVersion: name.endsWith('other credential') ? '2' : '1', onUnknown, health, provider },
    lookup: lookupOf(asked, now),
    isDeleted: false,
    now,
    ...given,
  })
}

function lookupOf(is: Asked, askedAt: number): Lookup | null {
  if (is === 'not asked' || is === 'can not ask') return null
  return is === 'found' ? { is, operation: 'op', askedAt } : { is, askedAt }
}

type Do = RecoveryStep['do']
type Row = [names: string[], asked: Asked[], ages: Age[], hold: Do, fail: Do, resubmit: Do]

const policy: Row[] = [
  // what can be proved, lookup, age: hold, fail, resubmit
  [['none'], ['can not ask'], ['young', 'settled'], 'hold', 'give up', 'resubmit'],
  [['none, silent sender'], ['can not ask'], ['young'], 'wait', 'wait', 'wait'],
  [['none, silent sender'], ['can not ask'], ['settled'], 'hold', 'give up', 'resubmit'],
  [['key'], ['can not ask'], ['young', 'settled'], 'repeat', 'repeat', 'repeat'],
  [['key, paused'], ['can not ask'], ['young', 'settled'], 'wait', 'wait', 'wait'],
  [['key, other credential'], ['can not ask'], ['young'], 'wait', 'wait', 'wait'],
  [['key, other credential'], ['can not ask'], ['settled'], 'hold', 'give up', 'resubmit'],
  [unaskable, ['can not ask'], ['old'], 'give up', 'give up', 'resubmit'],
  [askable, ['not asked'], always, 'ask', 'ask', 'ask'],
  [askable, ['found'], always, 'accept', 'accept', 'accept'],
  [askable, ['absent', 'unsure', 'failed'], ['young'], 'wait', 'wait', 'wait'],
  [['lookup', 'list'], ['absent'], ['settled'], 'hold', 'give up', 'resubmit'],
  [['exact'], ['absent'], ['settled'], 'repeat', 'repeat', 'repeat'],
  [['exact, paused'], ['absent'], ['settled'], 'wait', 'wait', 'wait'],
  [['exact, other credential'], ['absent'], ['settled'], 'hold', 'give up', 'resubmit'],
  [askable, ['unsure', 'failed'], ['settled'], 'hold', 'give up', 'hold'],
  [askable, ['absent'], ['old'], 'give up', 'give up', 'resubmit'],
  [askable, ['unsure', 'failed'], ['old'], 'give up', 'give up', 'give up'],
]

const expanded = policy.flatMap(([names, asked, agesOf, ...steps]) =>
  names.flatMap((name) => asked.flatMap((each) => agesOf.map((age) => ({ name, asked: each, age, steps })))),
)
const everyCase = Object.keys(cases).flatMap((name) =>
  (askable.includes(name) ? lookups : (['can not ask'] as const)).flatMap((asked) =>
    always.map((age) => ({ name, asked, age })),
  ),
)

describe('a submit without a response', () => {
  for (const { name, asked, age, steps } of expanded)
    it(`${name}; ${asked}; ${age}: hold → ${steps[0]}, fail → ${steps[1]}, resubmit → ${steps[2]}`, () => {
      const now = openedAt + ages[age]
      assert.deepEqual(
        policies.map((onUnknown) => stepOf(name, asked, now, { onUnknown }).do),
        steps,
      )
    })

  it('has one row for each case', () => {
    const keys = (rows: { name: string; asked: Asked; age: Age }[]) =>
      rows.map(({ name, asked, age }) => [name, asked, age].join('; ')).sort()
    assert.deepEqual(keys(expanded), keys(everyCase))
  })

  it('is not sent past the deadline of its task, and is given up once its provider had time to show it', () => {
    for (const { name, asked, age } of everyCase.filter((one) => one.asked !== 'not asked' && one.asked !== 'found'))
      for (const onUnknown of policies) {
        const now = openedAt + ages[age]
        const step = stepOf(name, asked, now, { onUnknown, task: { finishBy: now } }).do
        const isKept = age === 'young' && (step === 'wait' || step === 'hold')
        assert.ok(isKept || step === 'give up', `${name}; ${asked}; ${age}; ${onUnknown}: ${step}`)
      }
  })

  it('whose response was recorded meanwhile is settled by it, whatever else is known', () => {
    for (const { name, age } of everyCase)
      for (const isDeleted of [false, true]) {
        const settled = (state: 'accepted' | 'refused') =>
          stepOf(name, 'not asked', openedAt + ages[age], { attempt: { state, operation: 'late' }, isDeleted })
        assert.deepEqual(settled('accepted'), { do: 'accept', operation: 'late' })
        assert.deepEqual(settled('refused'), { do: 'refuse' })
      }
  })

  it('whose operation was adopted meanwhile is still adopted, and not taken for one with a response', () => {
    const attempt = { state: 'accepted', operation: 'found', adopted: true } as const
    const step = stepOf('list', 'not asked', openedAt, { attempt })
    assert.deepEqual(step, { do: 'accept', operation: 'found', adopted: true })
  })

  it('that a lookup found is adopted', () => {
    assert.deepEqual(stepOf('list', 'found', openedAt), { do: 'accept', operation: 'op', adopted: true })
  })

  it('is submitted again once without proof, and three times where each lookup proved that it is absent', () => {
    const after = (name: string, asked: Asked, ...states: ('refused' | 'abandoned' | 'orphan' | 'open')[]) =>
      stepOf(name, asked, openedAt + settleMs, { onUnknown: 'resubmit', attempts: states.map((state) => ({ state })) })
        .do
    const uncounted = { onUnknown: 'resubmit', attempts: null } as const
    assert.equal(stepOf('none', 'can not ask', openedAt + settleMs, uncounted).do, 'count')
    assert.equal(after('none', 'can not ask', 'refused', 'open'), 'resubmit')
    for (const lost of ['abandoned', 'orphan'] as const) {
      assert.equal(after('none', 'can not ask', lost, 'open'), 'give up')
      assert.equal(after('list', 'absent', lost, lost, 'open'), 'resubmit')
      assert.equal(after('list', 'absent', lost, lost, lost, 'open'), 'give up')
    }
  })

  it('is proved absent by a lookup that was begun after its provider had time to show it, not by one that ended then', () => {
    const early: Lookup = { is: 'absent', askedAt: openedAt + settleMs - 1 }
    for (const onUnknown of policies)
      assert.equal(stepOf('exact', 'absent', openedAt + holdMs - 1, { lookup: early, onUnknown }).do, 'wait')
  })

  it('of a silent sender is left alone until the sender must have given up, be it that the clock was set back', () => {
    const dueAfter = (age: number) => stepOf('none, silent sender', 'can not ask', openedAt + age)
    assert.deepEqual(dueAfter(9_000), { do: 'wait', dueAt: openedAt + settleMs })
    assert.deepEqual(dueAfter(-60_000), { do: 'wait', dueAt: openedAt - 60_000 + settleMs })
  })

  it('gives its slots back where it is held for long', () => {
    const held = (age: number) => stepOf('none', 'can not ask', openedAt + age)
    assert.deepEqual(held(1_000), { do: 'hold', dueAt: openedAt + 61_000, releasesSlots: false })
    assert.deepEqual(held(settleMs), { do: 'hold', dueAt: openedAt + settleMs + 60_000, releasesSlots: true })
  })

  it('ends without its account at the deadline or after half an hour, and not before', () => {
    const attempt = { state: 'open', operation: null, openedAt, keyVersion: '1', problem: null } as const
    const ends = (age: number, finishBy: number, given = {}) =>
      endsWithoutAccount({
        task: { finishBy: openedAt + finishBy },
        attempt: { ...attempt, ...given },
        now: openedAt + age,
      })
    assert.deepEqual([ends(holdMs - 1, 2 * holdMs), ends(holdMs, 2 * holdMs)], [false, true])
    assert.deepEqual([ends(4, 5), ends(5, 5), ends(holdMs, 5, { state: 'accepted' })], [false, true, false])
  })
})

describe('a submit without a response of a deleted task', () => {
  type DeletedRow = [names: string[], asked: Asked[], ages: Age[], step: Do]
  const deleted: DeletedRow[] = [
    [unaskable, ['can not ask'], always, 'give up'],
    [askable, ['not asked'], always, 'ask'],
    [askable, ['found'], always, 'accept'],
    [askable, ['absent', 'unsure', 'failed'], ['young'], 'wait'],
    [askable, ['absent', 'unsure', 'failed'], ['settled', 'old'], 'give up'],
  ]
  for (const [names, asked, agesOf, step] of deleted)
    it(`${names.join(', ')}; ${asked.join(', ')}; ${agesOf.join(', ')}: ${step}, by any policy`, () => {
      for (const name of names)
        for (const each of asked)
          for (const age of agesOf)
            for (const onUnknown of policies)
              assert.equal(stepOf(name, each, openedAt + ages[age], { onUnknown, isDeleted: true }).do, step)
    })
})

describe('work that a provider lists', () => {
  const nothing = { matches: [], possible: [], isPartial: false }
  for (const [what, listed, taken, isRivalled, is] of [
    ['nothing', nothing, [], false, 'absent'],
    ['nothing, of a list with more', { ...nothing, isPartial: true }, [], false, 'unsure'],
    ['one match', { ...nothing, matches: ['a'] }, [], false, 'found'],
    ['one match, of a list with more', { ...nothing, matches: ['a'], isPartial: true }, [], false, 'found'],
    ['one match beside a rival', { ...nothing, matches: ['a'] }, [], true, 'unsure'],
    ['one match of another attempt', { ...nothing, matches: ['a'] }, ['"a"'], false, 'absent'],
    ['one match of another attempt beside a rival', { ...nothing, matches: ['a'] }, ['"a"'], true, 'absent'],
    ['two matches', { ...nothing, matches: ['a', 'b'] }, [], false, 'unsure'],
    ['two matches, one of another attempt', { ...nothing, matches: ['a', 'b'] }, ['"b"'], false, 'found'],
    ['what may be ours', { ...nothing, possible: ['c'] }, [], false, 'unsure'],
    ['what may be ours beside a match', { ...nothing, matches: ['a'], possible: ['c'] }, [], false, 'unsure'],
    ['what is of another attempt', { ...nothing, matches: ['a'], possible: ['c'] }, ['"c"'], false, 'found'],
  ] as const)
    it(`${what}: ${is}`, () => {
      const finding = identify(listed, new Set(taken), isRivalled)
      assert.deepEqual(finding, is === 'found' ? { is, operation: 'a' } : { is })
    })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Attempt, type AttemptFact, type AttemptState, operationKey } from './attempt.ts'
import type { JobEnd } from './ledger.ts'
import {
  type Before,
  type DecisionRecord,
  type Mutation,
  needsOf,
  planAdmissions,
  planOf,
  type TaskBefore,
} from './plan.ts'
import { counterKey } from './spend.ts'
import { queueTask, type Task } from './task.ts'

const asked = { prompt: 'a fox', seconds: 4, size: { width: 1, height: 1 }, parameters: {}, image: null }
const given = { owner: 'alice', model: 'm', card: 'm', digest: 0, startBy: 900, finishBy: 999 }
const queued: Task = { ...queueTask({ id: 't', ...asked, ...given }, 1), account: 'p', fence: 3 }
const held: Task = { ...queued, state: 'held', attempt: 'a', attempts: 1 }
const running: Task = { ...held, state: 'running', startedAt: 5 }
const problem = { code: 'internal', message: 'm' } as const
const completed: Task = { ...running, state: 'completed', completedAt: 8 }
const failed: Task = { ...held, state: 'failed', error: problem }
const attempt = { id: 'b', task: 't', number: 2, account: 'p', keyVersion: 'k', upstreamModel: 'u', openedAt: 5 }
const opened = { ...attempt, state: 'open', operation: null, settledAt: null, problem: null } as const
const price = { currency: 'USD', charge: 3, cost: 2, billsFailures: true }
const refused = { code: 'generation_failed', message: 'm' } as const
const fact = (state: AttemptState, id = 'a'): AttemptFact => {
  const operation = state === 'accepted' ? { z: 1, a: 2 } : null
  return { id, state, operation, settledAt: state === 'open' ? null : 7, problem: null }
}

interface World {
  was?: Task | undefined
  leased?: boolean
  attempts?: Record<string, AttemptState | Partial<Attempt>>
  endpoints?: Before['endpoints']
}

/** An accepted one has the operation of `fact`. */
function attemptBefore(id: string, given: AttemptState | Partial<Attempt>): Attempt {
  const { state = 'accepted', ...rest } = typeof given === 'string' ? { state: given } : given
  const settled = state === 'open' ? {} : { settledAt: 6, operation: fact(state).operation }
  return { ...opened, id, number: 1, state, ...settled, ...rest }
}

function before({ was, leased = true, attempts = {}, endpoints = [] }: World): Before {
  const task = was && ({ ...was, dueAt: 100, leased } satisfies TaskBefore)
  return {
    tasks: new Map(task ? [['t', task]] : []),
    attempts: new Map(Object.entries(attempts).map(([id, given]) => [id, attemptBefore(id, given)])),
    endpoints,
  }
}

/** A short form of the writes: a decision writes all mutable columns of its task. */
function shown(mutation: Mutation, world: World) {
  const { isApplied, writes } = planOf(mutation, before(world))
  const lines = writes.map(({ shape: { verb, table, columns }, values }) => {
    assert.equal(values.length, columns.length)
    const row = Object.fromEntries(columns.map((name, at) => [name, values[at]]))
    if (table === 'tasks' && 'progress' in row)
      return `decide ${row.state} due ${row.due_at} start by ${row.start_by} ${row.leased ? 'kept' : 'free'}`
    if (table === 'attempts') return `${verb} attempts ${row.id} ${row.state ?? ''}`
    if (table === 'deliveries') return `insert deliveries ${row.endpoint} ${row.owner} ${row.event} ${row.type}`
    if (table === 'usages') return `insert usages ${row.id} ${row.outcome} ${row.revenue} ${row.cost}`
    return `${verb} ${table} ${values.slice(0, 4).join(' ')}`
  })
  return [...(isApplied ? [] : ['lost']), ...lines]
}

/** The id of the orphan for the operation of `fact`, if attempt `a` has another one. It must never change. */
const second = 'att_0b826fa526780f3df9439a92065d886251f8'
const record = (task: Task, rest: Omit<DecisionRecord, 'task'> = {}): Mutation => ({
  verb: 'record',
  task: 't',
  entry: { task, ...rest },
})
const free = 'delete slots t'
const events = [{ at: 6, name: 'x', detail: { y: 1 } }]

const cases: Record<string, [mutation: Mutation, world: World, writes: string[]][]> = {
  'a decision under the lease': [
    [record(running, { keepsLease: true }), { was: running }, ['decide running due 100 start by 900 kept']],
    [record(running), { was: running }, ['decide running due 1 start by 900 free']],
    [
      record(queued, { events }),
      { was: queued },
      ['decide queued due 1 start by 900 free', free, 'insert events t 6 x {"y":1}'],
    ],
    [record(queued, { keepsLease: true }), { was: queued }, ['decide queued due 100 start by 900 kept']],
    [record(held, { releasesSlots: true }), { was: held }, ['decide held due 1 start by 900 free', free]],
    [record(running), { was: running, leased: false }, ['lost']],
    [record({ ...running, fence: 2 }), { was: running }, ['lost']],
    [record(running), {}, ['lost']],
  ],
  'a task that was deleted meanwhile': [
    [record(running), { was: { ...running, deletedAt: 4 } }, ['decide running due 0 start by 0 free']],
    [
      record({ ...running, deletedAt: 4 }),
      { was: { ...running, deletedAt: 4 } },
      ['decide running due 1 start by 1 free'],
    ],
    // Its bytes could not be removed: it is tried again later. A queued task is due by `start_by`.
    [
      record({ ...queued, deletedAt: 4, dueAt: 60 }),
      { was: { ...queued, deletedAt: 4, startBy: 0 } },
      ['decide queued due 60 start by 60 free', free],
    ],
    [record(held, { opened }), { was: { ...queued, deletedAt: 4 } }, ['lost']],
    [
      record({ ...running, state: 'storing' }, { keepsLease: true }),
      { was: { ...running, deletedAt: 4 } },
      ['lost', 'decide storing due 0 start by 0 free', free],
    ],
    [record(failed), { was: { ...running, deletedAt: 4 } }, ['decide failed due 0 start by 0 free', free]],
  ],
  'an attempt': [
    [
      record({ ...held, attempt: 'b' }, { opened, keepsLease: true }),
      { was: queued },
      ['decide held due 100 start by 900 kept', 'insert attempts b open'],
    ],
    [
      record({ ...running, attempt: 'b' }, { opened, fact: fact('accepted', 'b') }),
      { was: { ...queued, startedAt: 5 } },
      ['decide running due 1 start by 900 free', 'insert attempts b accepted'],
    ],
    [
      record(running, { fact: fact('accepted') }),
      { was: { ...held, startedAt: 5 }, attempts: { a: 'open' } },
      ['decide running due 1 start by 900 free', 'update attempts a accepted'],
    ],
    // It was accepted, which the process that decides did not know: the task is due again, and goes on with that.
    ...[
      record({ ...queued, attempt: 'a', attempts: 1 }, { fact: fact('abandoned') }),
      record(failed, { fact: fact('refused') }),
      record(held, { events }),
      record({ ...held, attempt: 'b' }, { opened, keepsLease: true }),
    ].map((mutation): [Mutation, World, string[]] => [
      mutation,
      { was: held, attempts: { a: 'accepted' } },
      ['lost', 'update tasks t 0 0'],
    ]),
    [
      record({ ...running, operation: { a: 2, z: 1 } }),
      { was: { ...held, startedAt: 5 }, attempts: { a: 'accepted' } },
      ['decide running due 1 start by 900 free'],
    ],
    // The task would run with another operation than the one that was accepted.
    ...[{}, { isFactFenced: true as const }].flatMap((fenced) =>
      [null, 4].map((deletedAt): [Mutation, World, string[]] => [
        record({ ...running, operation: 'other' }, { fact: { ...fact('accepted'), adopted: true }, ...fenced }),
        { was: { ...held, deletedAt }, attempts: { a: 'accepted' } },
        ['lost', 'update tasks t 0 0'],
      ]),
    ),
    // So it would if the process knew of an adopted operation that the response has replaced since.
    [
      record({ ...running, operation: 'found' }, { knowsAccepted: true }),
      { was: held, attempts: { a: 'accepted' } },
      ['lost', 'update tasks t 0 0'],
    ],
    [
      record({ ...running, operation: { a: 2, z: 1 } }, { fact: fact('accepted') }),
      { was: { ...held, startedAt: 5 }, attempts: { a: { state: 'orphan', operation: 'other' } } },
      ['decide running due 1 start by 900 free'],
    ],
    // Those who knew that it was accepted have decided so.
    [
      record({ ...queued, attempt: 'a', attempts: 1 }, { knowsAccepted: true }),
      { was: held, attempts: { a: 'accepted' } },
      ['decide queued due 1 start by 900 free', 'update attempts a orphan', free],
    ],
    [
      record(held, { knowsAccepted: true }),
      { was: held, attempts: { a: 'accepted' } },
      ['decide held due 1 start by 900 free'],
    ],
    // A deleted task does not go on with it.
    [
      record({ ...failed, deletedAt: 4 }),
      { was: { ...held, deletedAt: 4 }, attempts: { a: 'accepted' } },
      ['decide failed due 1 start by 1 free', 'update attempts a orphan', free],
    ],
    // Its process got no response to the commit that opened it, and never sent it.
    [
      record(queued),
      { was: held, attempts: { a: 'open' } },
      ['decide queued due 1 start by 900 free', 'update attempts a refused', free],
    ],
    [
      record({ ...queued, attempts: 1 }),
      { was: held, attempts: { a: 'open' } },
      ['decide queued due 1 start by 900 free', free],
    ],
  ],
  'a fact without the lease': [
    [
      record(running, { fact: fact('accepted') }),
      { was: held, leased: false, attempts: { a: 'open' } },
      ['lost', 'update attempts a accepted', 'update tasks t 0 0'],
    ],
    [
      record(running, { fact: fact('accepted'), isFactFenced: true }),
      { was: held, leased: false, attempts: { a: 'open' } },
      ['lost'],
    ],
    ...(
      [
        [{ was: held, leased: false, attempts: { a: 'open' } }, ['update attempts a accepted', 'update tasks t 0 0']],
        [{ was: held, attempts: { a: 'open' } }, ['update attempts a accepted']],
        [{ was: failed, attempts: { a: 'open' } }, ['update attempts a orphan']],
        [{ was: { ...held, attempt: 'b' }, attempts: { a: 'open' } }, ['update attempts a orphan']],
        [{ attempts: { a: 'abandoned' } }, ['update attempts a orphan']],
        // A process without the lease had given it up.
        [{ was: held, attempts: { a: 'abandoned' } }, ['update attempts a accepted']],
        // Another process repeated the attempt.
        [{ was: held, attempts: { a: 'refused' } }, ['update attempts a accepted']],
        [{ was: failed, attempts: { a: 'refused' } }, ['update attempts a orphan']],
        [{ was: held, attempts: { a: 'orphan' } }, []],
        [{ was: running, attempts: { a: 'accepted' } }, []],
        // It already has another operation. The caller disowns one that a lookup found.
        ...(['accepted', 'orphan', 'removed'] as const).map((state): [World, string[]] => [
          { was: running, attempts: { a: { state, operation: 'other' } } },
          [`insert attempts ${second} orphan`],
        ]),
        [
          { was: { ...running, price }, attempts: { a: { operation: 'other' } } },
          [
            `insert attempts ${second} orphan`,
            `insert entries t cost ${second} cost p 2`,
            `insert entries t cost ${second} providers p -2`,
            `insert usages ${second} unused 0 2`,
          ],
        ],
        [{ was: running, attempts: { a: { operation: 'other', adopted: true } } }, []],
        [{ was: held }, []],
      ] as [World, string[]][]
    ).map(([world, writes]): [Mutation, World, string[]] => [
      { verb: 'settle', task: 't', fact: fact('accepted') },
      world,
      writes,
    ]),
  ],
  'the status that a client sees': [
    [
      record(running, { events }),
      { was: held },
      ['decide running due 1 start by 900 free', 'insert events t 6 x {"y":1}', 'insert notices alice t 6 in_progress'],
    ],
    [
      record(completed),
      {
        was: { ...completed, state: 'storing' },
        endpoints: [
          { id: 'e', owner: 'alice', event_types: '["video.completed"]' },
          { id: 'f', owner: 'alice', event_types: '["video.failed"]' },
          { id: 'g', owner: 'bob', event_types: '["video.completed"]' },
          { id: 'h', owner: 'alice', event_types: '{damaged' },
        ],
      },
      [
        'decide completed due 1 start by 900 free',
        free,
        'insert notices alice t 8 completed',
        'insert deliveries e alice evt_tc video.completed',
        'insert usages t completed 0 0',
      ],
    ],
    [record(completed), { was: completed }, ['decide completed due 1 start by 900 free', free]],
  ],
  'a removal': [
    [
      { verb: 'remove', task: 't', fence: 3, orphans: false },
      { was: held, attempts: { a: 'accepted', b: 'accepted', c: 'open', d: 'refused', e: 'abandoned', f: 'orphan' } },
      [
        'delete tasks t',
        free,
        'delete events t',
        'update attempts a orphan',
        'update attempts b removed',
        'update attempts c abandoned',
        'delete attempts d',
      ],
    ],
    [
      { verb: 'remove', task: 't', fence: 3, orphans: false },
      { was: running, attempts: { a: 'accepted' } },
      ['delete tasks t', free, 'delete events t', 'update attempts a removed'],
    ],
    [
      { verb: 'remove', task: 't', fence: 3, orphans: true },
      { was: running, attempts: { a: 'accepted' } },
      ['delete tasks t', free, 'delete events t', 'update attempts a orphan'],
    ],
    [{ verb: 'remove', task: 't', fence: 2, orphans: false }, { was: held, attempts: { a: 'open' } }, ['lost']],
  ],
  'a deletion': [
    [
      { verb: 'delete', task: 't', owner: 'alice', at: 50 },
      { was: queued, leased: false },
      ['update tasks t 50 50 0', 'insert notices alice t 50 deleted', 'insert usages t cancelled 0 0'],
    ],
    [
      { verb: 'delete', task: 't', owner: 'alice', at: 50 },
      { was: running },
      ['update tasks t 50 100 900', 'insert notices alice t 50 deleted', 'insert usages t cancelled 0 0'],
    ],
    [{ verb: 'delete', task: 't', owner: 'bob', at: 50 }, { was: queued }, ['lost']],
    [{ verb: 'delete', task: 't', owner: 'alice', at: 50 }, { was: { ...queued, deletedAt: 4 } }, ['lost']],
    [{ verb: 'delete', task: 't', owner: 'alice', at: 50 }, {}, ['lost']],
  ],
  money: [
    [
      record(completed),
      { was: { ...completed, state: 'storing', price } },
      [
        'decide completed due 1 start by 900 free',
        free,
        'insert notices alice t 8 completed',
        'insert entries t close reserved alice -3',
        'insert entries t close revenue alice 3',
        'insert entries t cost a cost p 2',
        'insert entries t cost a providers p -2',
        'insert usages t completed 3 2',
      ],
    ],
    [
      record(failed),
      { was: { ...queued, price } },
      [
        'decide failed due 1 start by 900 free',
        free,
        'insert notices alice t 1 failed',
        'insert entries t close reserved alice -3',
        'insert entries t close funds alice 3',
        'add spends alice USD 1 -3',
        'insert usages t failed 0 0',
      ],
    ],
    // A task that was deleted has no reservation any more, and its work still costs.
    [
      record({ ...failed, deletedAt: 4 }),
      { was: { ...running, price, deletedAt: 4 } },
      [
        'decide failed due 1 start by 1 free',
        free,
        'insert entries t cost a cost p 2',
        'insert entries t cost a providers p -2',
        'insert usages a unused 0 2',
      ],
    ],
    [
      { verb: 'delete', task: 't', owner: 'alice', at: 50 },
      { was: { ...queued, price }, leased: false },
      [
        'update tasks t 50 50 0',
        'insert notices alice t 50 deleted',
        'insert usages t cancelled 0 0',
        'insert entries t close reserved alice -3',
        'insert entries t close funds alice 3',
        'add spends alice USD 1 -3',
      ],
    ],
    [
      { verb: 'delete', task: 't', owner: 'alice', at: 50 },
      { was: { ...failed, price }, leased: false },
      ['update tasks t 50 50 900', 'insert notices alice t 50 deleted'],
    ],
    // Accepted after its task had failed: the operator pays, and the task is counted once.
    [
      { verb: 'settle', task: 't', fact: fact('accepted') },
      { was: { ...failed, price }, attempts: { a: 'abandoned' } },
      [
        'update attempts a orphan',
        'insert entries t cost a cost p 2',
        'insert entries t cost a providers p -2',
        'insert usages a unused 0 2',
      ],
    ],
    // It runs at the provider, which bills it; a failure is billed by some providers only.
    ...(
      [
        [{ ...running, price }, undefined, 2],
        [{ ...running, price: { ...price, billsFailures: false } }, undefined, 2],
        [{ ...running, price }, { state: 'failed', usage: null, error: refused }, 2],
        [
          { ...running, price: { ...price, billsFailures: false } },
          { state: 'failed', usage: null, error: refused },
          0,
        ],
        [{ ...running, price, state: 'storing' }, undefined, 2],
        // Between two routes: the first provider did not bill its failure.
        [{ ...running, price: { ...price, billsFailures: false }, state: 'queued' }, undefined, 0],
      ] as [Task, JobEnd | undefined, number][]
    ).map(([was, end, cost]): [Mutation, World, string[]] => [
      { verb: 'remove', task: 't', fence: 3, orphans: false, end },
      { was: { ...was, deletedAt: 4 }, attempts: { a: 'accepted' } },
      [
        'delete tasks t',
        free,
        'delete events t',
        'update attempts a removed',
        ...(cost === 0
          ? []
          : [
              `insert entries t cost a cost p ${cost}`,
              `insert entries t cost a providers p -${cost}`,
              `insert usages a unused 0 ${cost}`,
            ]),
      ],
    ]),
    // Lost: the lease, and with it every entry.
    [record(completed), { was: { ...running, price }, leased: false }, ['lost']],
  ],
  'a lost adoption': [
    ...[held, running].map((was): [Mutation, World, string[]] => [
      { verb: 'disown', task: 't', attempt: 'a', at: 50 },
      { was },
      ['update attempts a open', 'update tasks t held  ', 'insert events t 50 adoption overruled {"attempt":"a"}'],
    ]),
    [{ verb: 'disown', task: 't', attempt: 'a', at: 50 }, { was: failed }, ['update attempts a abandoned']],
    [{ verb: 'disown', task: 't', attempt: 'a', at: 50 }, {}, ['update attempts a abandoned']],
  ],
}

for (const [name, rows] of Object.entries(cases))
  describe(name, () => {
    for (const [mutation, world, writes] of rows)
      it(`writes ${writes.join('; ') || 'nothing'}`, () => {
        assert.deepEqual(
          shown(mutation, world).map((line) => line.trim()),
          writes.map((line) => line.trim()),
        )
      })
  })

it('writes an operation so that the order of its keys means nothing', () => {
  const { writes } = planOf(
    { verb: 'settle', task: 't', fact: fact('accepted') },
    before({ was: held, attempts: { a: 'open' } }),
  )
  assert.deepEqual(writes[0]?.values.slice(0, 2), ['a', operationKey({ a: 2, z: 1 })])
})

it('reads only what a change depends on', () => {
  const none = { attempts: [], attemptsOf: [], owners: [] }
  const needs = (mutation: Mutation, was: Task) => needsOf([mutation], before({ was }).tasks)
  assert.deepEqual(needs(record(running), running), none)
  assert.deepEqual(needs(record(held, { fact: fact('open') }), held), { ...none, attempts: ['a'] })
  assert.deepEqual(needs(record(failed), held), { ...none, attempts: ['a'], owners: ['alice'] })
  assert.deepEqual(needs(record(failed), { ...held, deletedAt: 4 }), { ...none, attempts: ['a'] })
  assert.deepEqual(needs({ verb: 'remove', task: 't', fence: 3, orphans: false }, held), { ...none, attemptsOf: ['t'] })
  assert.deepEqual(needs({ verb: 'delete', task: 't', owner: 'alice', at: 1 }, held), none)
})

it('admits new tasks in their order up to each cap, within the period of each', () => {
  const admission = (
    id: string,
    createdAt: number,
    caps: [period: string, starts: number, ends: number, limit: number][],
  ) => ({
    task: { id, owner: 'alice', createdAt, price },
    caps: caps.map(([period, starts, ends, limit]) => ({
      scope: 'alice',
      currency: 'USD',
      period,
      starts,
      ends,
      limit,
    })),
  })
  const spent = new Map([
    [counterKey({ scope: 'alice', currency: 'USD', period: 'day' }), 1],
    [counterKey({ scope: 'alice', currency: 'USD', period: 'total' }), 1],
  ])
  const plans = planAdmissions(
    [
      admission('1', 5, [['day', 0, 10, 4]]),
      admission('2', 6, [['day', 0, 10, 4]]),
      admission('3', 11, [['next day', 10, 20, 3]]),
      admission('4', 12, [['total', 0, 99, 9]]),
    ],
    spent,
  )
  const outcomes = plans.map((plan) => {
    if ('writes' in plan) return plan.writes.length
    return 'spent' in plan.refusal ? plan.refusal.spent : 'queue full'
  })
  assert.deepEqual(outcomes, [3, 4, 3, 7])
})

it('admits new tasks in their order while fewer tasks of their owner wait than may', () => {
  const admission = (owner: string, mostQueued?: number) => ({
    task: { id: owner, owner, createdAt: 5, price: null },
    caps: [],
    mostQueued,
  })
  const admissions = [admission('alice', 3), admission('alice'), admission('alice', 3), admission('bob', 1)]
  const plans = planAdmissions(admissions, new Map(), new Map([['alice', 1]]))
  assert.deepEqual(
    plans.map((plan) => 'writes' in plan),
    [true, true, false, true],
  )
})

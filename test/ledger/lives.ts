import { Problem } from '../../src/core/problem.ts'
import { capsAt, type SpendCap } from '../../src/core/spend.ts'
import type { Task, TaskPrice } from '../../src/core/task.ts'
import { decide, factOf, newAttempt, newTask } from '../../src/stores/contract/world.ts'
import type { Store } from '../../src/stores/store.ts'

/*
 * The lives of tasks with prices. A life follows from its number, so that a process that lives it and a test that judges it
 * need not tell each other anything.
 */

const kinds = ['complete', 'metered', 'fail', 'fail unbilled', 'delete', 'race', 'orphan', 'remove'] as const

export interface Life {
  kind: (typeof kinds)[number]
  id: string
  owner: string
  createdAt: number
  price: TaskPrice
  /** What its provider reports. */
  outputTokens: number
}

const dayMs = 86_400_000
const start = Date.UTC(2026, 10, 1)
const ownerCount = 8

/** In millionths of a dollar; each token costs one. */
const most = 1_000_000

/** About half of the owners may not spend all that they try to. Days of two time zones overlap. */
export function capsOf(owner: string): SpendCap[] {
  const number = Number(owner.slice(1))
  const limit = 8 * most
  if (number >= ownerCount / 2) return []
  return [
    { period: 'day', limit, zone: number % 2 === 0 ? 'UTC' : 'Asia/Tokyo' },
    { period: 'month', limit: 3 * limit, zone: 'UTC' },
  ]
}

export const owners = Array.from({ length: ownerCount }, (_, at) => `o${at}`)

export function lifeOf(number: number): Life {
  const random = seeded(number)
  const kind = kinds[random(kinds.length)] ?? 'complete'
  const charge = 1 + random(most)
  const cost = random(charge)
  const parts = [{ quantity: charge, price: '0.000001', metered: true }] as const
  return {
    kind,
    id: newTask(String(number)).id,
    owner: owners[random(ownerCount)] ?? 'o0',
    createdAt: start + random(4 * dayMs),
    price: {
      currency: 'USD',
      charge,
      cost: kind === 'metered' ? charge : cost,
      billsFailures: kind === 'fail',
      ...(kind === 'metered' && { metered: { charge: parts, cost: parts } }),
    },
    // More than was reserved, or less.
    outputTokens: random(2 * charge),
  }
}

/** Unlike the generator of the contract, two neighbours have nothing in common. */
function seeded(seed: number): (limit: number) => number {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
  return (limit) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39)
    return ((mixed ^ (mixed >>> 16)) >>> 0) % limit
  }
}

export type Step = 'admitted' | 'refused' | 'step' | 'ended'

const error = { code: 'generation_failed', message: 'it failed' } as const
const leaseUntil = 4_000_000_000_000

/** Lives a life, or the rest of it after a kill. Reports each step after its commit. */
export async function live(store: Store, number: number, report: (step: Step) => void): Promise<void> {
  const life = lifeOf(number)
  let task = await store.find(life.id)
  // Nothing is left of a life that ended with its removal.
  if (!task && (await store.entries(life.id)).length > 0) return report('ended')
  if (!task) {
    const isAdmitted = await submit(store, life)
    report(isAdmitted ? 'admitted' : 'refused')
    if (!isAdmitted) return
    task = await store.find(life.id)
  }
  if (task && task.deletedAt === null) await finish(store, life, task, report)
  const after = await store.find(life.id)
  // After a write of unknown outcome it may still be under its lease: then the rest is lived later.
  if (!after || after.deletedAt !== null || after.state === 'completed' || after.state === 'failed') report('ended')
}

function taskOf({ kind, id, owner, createdAt, price }: Life): Task {
  const base = newTask('0', { id, owner, createdAt, price, account: 'p', dueAt: createdAt })
  if (kind === 'orphan' || kind === 'remove') return base
  return { ...base, state: 'running', attempt: `att ${id}`, attempts: 1, startedAt: createdAt }
}

async function submit(store: Store, life: Life): Promise<boolean> {
  const task = taskOf(life)
  try {
    await store.insert(task, capsAt(capsOf(life.owner), task))
    return true
  } catch (thrown) {
    if (Problem.from(thrown).code !== 'insufficient_quota') throw thrown
    return false
  }
}

async function finish(store: Store, life: Life, task: Task, report: (step: Step) => void): Promise<void> {
  const { kind, id, owner, createdAt } = life
  const remove = async () => {
    await store.delete(owner, id, createdAt + 5)
    report('step')
  }
  if (kind === 'orphan') return abandon(store, life, task, report)
  if (kind === 'delete') return remove()
  if (kind === 'remove') {
    const running = await run(store, id, task)
    await remove()
    if (running) await store.remove(running)
    return report('step')
  }
  const leased = task.state === 'running' ? await store.claimOne(id, 'running', leaseUntil) : undefined
  if (!leased) return
  const usage = kind === 'metered' ? { outputTokens: life.outputTokens } : null
  const completed = decide(leased, { state: 'completed', completedAt: createdAt + 9, expiresAt: createdAt + 99, usage })
  if (kind === 'race') {
    const complete = () => store.record(completed)
    const [first, second] = life.outputTokens % 2 === 0 ? [complete, remove] : [remove, complete]
    await Promise.all([first(), second()])
  } else if (kind === 'complete' || kind === 'metered') await store.record(completed)
  else await store.record(decide(leased, { state: 'failed', error }))
  report('step')
}

/** Brings a task to the point where its provider has accepted it. */
async function run(store: Store, id: string, task: Task): Promise<Task | undefined> {
  if (task.state === 'running') return store.claimOne(id, 'running', leaseUntil)
  const held = task.state === 'held' ? await store.claimOne(id, 'held', leaseUntil) : await send(store, id)
  if (!held) return undefined
  const fact = factOf(`att ${id}`, 'accepted', `operation of ${id}`)
  const running: Task = { ...held, state: 'running', startedAt: held.createdAt }
  return (await store.record({ task: running, fact, keepsLease: true })) ? running : undefined
}

/** Opens an attempt, and keeps the lease. */
async function send(store: Store, id: string): Promise<Task | undefined> {
  const leased = await store.claimOne(id, 'queued', leaseUntil)
  if (!leased) return undefined
  const attempt = `att ${id}`
  const held: Task = { ...leased, state: 'held', attempt, attempts: 1 }
  return (await store.record({ task: held, opened: newAttempt(attempt, leased), keepsLease: true })) ? held : undefined
}

/** The provider accepts it after it was given up. */
async function abandon(store: Store, { id }: Life, task: Task, report: (step: Step) => void): Promise<void> {
  const attempt = `att ${id}`
  const held = task.state === 'queued' ? await send(store, id) : await store.claimOne(id, 'held', leaseUntil)
  if (held) {
    await store.record(decide(held, { state: 'failed', error }, { fact: factOf(attempt, 'abandoned') }))
    report('step')
  }
  await store.settle(id, factOf(attempt, 'accepted', `operation of ${id}`))
  report('step')
}

import assert from 'node:assert/strict'
import type { Attempt, AttemptFact } from '../../core/attempt.ts'
import type { DecisionRecord } from '../../core/plan.ts'
import { queueTask, type Task } from '../../core/task.ts'
import type { QueueCard } from '../../core/turns.ts'
import type { QueueClaim, Store } from '../store.ts'

export interface StoreWorld {
  open(): Promise<Store>
  wipe(): Promise<void>
}

export async function fresh(world: StoreWorld): Promise<Store> {
  await world.wipe()
  return world.open()
}

const farFuture = 4_000_000_000_000

export function newTask(number: string, fields: Partial<Task> = {}): Task {
  const submission = {
    id: `video_${number.padStart(48, '0')}`,
    owner: 'alice',
    model: 'm',
    card: 'm',
    prompt: 'a fox',
    seconds: 4,
    size: { width: 1280, height: 720 },
    parameters: {},
    digest: 0,
    finishBy: farFuture,
    startBy: farFuture,
    image: null,
  }
  return { ...queueTask(submission, 1), ...fields }
}

/** An attempt without a response. */
export function newAttempt(id: string, task: Task, fields: Partial<Attempt> = {}): Attempt {
  return {
    id,
    task: task.id,
    number: task.attempts + 1,
    account: task.account ?? 'p',
    keyVersion: 'k',
    upstreamModel: 'u',
    openedAt: 5,
    state: 'open',
    operation: null,
    settledAt: null,
    problem: null,
    ...fields,
  }
}

export function factOf(
  id: string,
  state: AttemptFact['state'],
  operation: AttemptFact['operation'] = null,
): AttemptFact {
  return { id, state, operation, settledAt: state === 'open' ? null : 7, problem: null }
}

/** A card with its accounts in the order of preference, each with its slots. */
export function cardOf(card: string, slots: Record<string, number>, cap: number | null = null): QueueCard {
  const accounts = Object.entries(slots).map(([name, cap]) => ({ name, cap, maxNewTasks: 1e9, spare: 0 }))
  return { card, cap, accounts }
}

/** A claim of card `m` at 10, until 100, with more slots than any test needs. */
export function queueClaim(fields: Partial<QueueClaim> = {}): QueueClaim {
  return { cards: [cardOf('m', { p: 9999 })], ownerCaps: {}, limit: 10, now: 10, leaseUntil: 100, ...fields }
}

/** Claims, and again at once as long as the store says that there may be more. */
export async function take(store: Store, fields: Partial<QueueClaim> = {}): Promise<Task[]> {
  const wanted = queueClaim(fields)
  const taken: Task[] = []
  for (;;) {
    const { tasks, nextDue } = await store.claimQueued({ ...wanted, limit: wanted.limit - taken.length })
    taken.push(...tasks)
    if (taken.length === wanted.limit || nextDue === null || nextDue > wanted.now) return taken
  }
}

/** Inserts a queued task and claims it. */
export async function taken(store: Store, number: string, fields: Partial<Task> = {}): Promise<Task> {
  await store.insert(newTask(number, fields))
  const [task] = await take(store, { limit: 1 })
  assert.equal(task?.id, newTask(number).id)
  return task as Task
}

/** Inserts a queued task, claims it and opens an attempt, as a submit does: it is held, and under lease until 100. */
export async function sent(store: Store, number: string, attempt: string, fields: Partial<Task> = {}): Promise<Task> {
  const task = await taken(store, number, fields)
  const held: Task = { ...task, state: 'held', attempt, attempts: 1 }
  assert.ok(await store.record({ task: held, opened: newAttempt(attempt, task), keepsLease: true }))
  return held
}

/** A decision that makes this change. */
export function decide(task: Task, change: Partial<Task>, rest: Omit<DecisionRecord, 'task'> = {}): DecisionRecord {
  return { task: { ...task, ...change }, ...rest }
}

export function ids(tasks: readonly Pick<Task, 'id'>[]): string[] {
  return tasks.map(({ id }) => id)
}

export function idsOf(...numbers: string[]): string[] {
  return numbers.map((number) => newTask(number).id)
}

/** The same numbers below `limit` for the same seed. */
export function seeded(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

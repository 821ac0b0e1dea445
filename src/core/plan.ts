import { hash } from 'node:crypto'
import { fromAudit } from './access-row.ts'
import { type Attempt, type AttemptFact, type AttemptState, operationKey } from './attempt.ts'
import type { AuditEntry } from './audit.ts'
import type { JobEnd } from './ledger.ts'
import { costOfEnd, costOfRemoval, isReserved, postClose, postCost, postReserve, settlementOf } from './ledger.ts'
import type { Notice, NoticeKind } from './notice.ts'
import type { Refusal } from './quotas.ts'
import { deliveryColumns, fromAttempt, fromDelivery, fromFact, json, type Row, subscribesTo, toMutable } from './row.ts'
import { type Admission, type CapCounter, counterKey, isFree, largestCap } from './spend.ts'
import { statements, type Write, write } from './statements.ts'
import { isFinished, type Json, type Task, type TaskError, type TaskEvent, wireStatus } from './task.ts'
import { fromUsage, type UsageRecord } from './usage.ts'
import { eventTypeOf, newDelivery } from './webhook.ts'

/*
 * Which rows each change of a task writes. A store reads and locks the rows that the change depends on (`needsOf`),
 * plans it (`planOf`), and executes the plan in the same transaction. Stores have no rules of their own.
 */

/** A lease is identified by its task and its fence. */
export type Lease = Pick<Task, 'id' | 'fence'>

/** One transaction: a decision about a task under lease, and the facts that came with it. */
export interface DecisionRecord {
  task: Task
  /** The lease is kept: another decision follows. */
  keepsLease?: boolean
  /** A held task gives its slots back. */
  releasesSlots?: boolean
  /** It was decided with the knowledge that the awaited attempt was accepted. */
  knowsAccepted?: true
  opened?: Attempt
  /**
   * About an attempt of this task. It is written even if the lease is lost. An accepted attempt that its task does not
   * wait for becomes an orphan.
   */
  fact?: AttemptFact
  /** The fact is written only under the lease: it is true only if no other process has claimed the task. */
  isFactFenced?: true
  events?: readonly TaskEvent[]
  /** An operator made the decision. */
  audit?: AuditEntry
}

/** One change of one task. */
export type Mutation = { task: string } & (
  | { verb: 'record'; entry: DecisionRecord }
  | { verb: 'settle'; fact: AttemptFact }
  | { verb: 'remove'; fence: number; orphans: boolean; end?: JobEnd | undefined }
  | { verb: 'delete'; owner: string; at: number }
  | { verb: 'disown'; attempt: string; at: number }
)

type MutationOf<Verb> = Extract<Mutation, { verb: Verb }>

export type TaskBefore = Pick<Task, 'owner' | 'state' | 'startBy' | 'startedAt' | 'attempt' | 'attempts' | 'dueAt'> &
  Pick<Task, 'fence' | 'deletedAt' | 'createdAt' | 'price'> &
  Pick<Task, 'card' | 'seconds' | 'token' | 'account'> & { leased: boolean }

/** The rows that a change depends on, by id. */
export interface Before {
  tasks: ReadonlyMap<string, TaskBefore>
  attempts: ReadonlyMap<string, Attempt>
  /** `id`, `owner` and `event_types` of endpoints that are not disabled. */
  endpoints: readonly Row[]
}

/** The rows that have to be read besides the tasks. */
interface Needs {
  attempts: string[]
  /** Tasks whose attempts are all read. */
  attemptsOf: string[]
  /** Owners whose endpoints are read. */
  owners: string[]
}

interface Plan {
  /** False if the lease is lost, or could not be kept, or nothing changes. A fact may still be written. */
  isApplied: boolean
  writes: readonly Write[]
}

export function needsOf(mutations: readonly Mutation[], tasks: Before['tasks']): Needs {
  const needs: Needs = { attempts: [], attemptsOf: [], owners: [] }
  for (const mutation of mutations) {
    if (mutation.verb === 'remove') needs.attemptsOf.push(mutation.task)
    if (mutation.verb === 'settle') needs.attempts.push(mutation.fact.id)
    if (mutation.verb !== 'record') continue
    const { task, fact } = mutation.entry
    if (fact) needs.attempts.push(fact.id)
    const was = tasks.get(mutation.task)
    if (!was) continue
    if (was.state === 'held' && was.attempt !== null && was.attempt !== fact?.id) needs.attempts.push(was.attempt)
    // For an owner without endpoints this costs one lookup in an index.
    const kind = noticeOf(was, task)
    if (kind && eventTypeOf(kind)) needs.owners.push(task.owner)
  }
  return needs
}

export function planOf(mutation: Mutation, before: Before): Plan {
  const was = before.tasks.get(mutation.task)
  switch (mutation.verb) {
    case 'record':
      return planRecord(mutation.entry, was, before)
    case 'settle':
      return { isApplied: true, writes: planFact(mutation.task, mutation.fact, before) }
    case 'remove':
      return was && hasLease(was, mutation.fence) ? planRemoval(mutation, was, before) : nothing
    case 'delete':
      return was?.owner === mutation.owner && was.deletedAt === null ? planDeletion(mutation, was) : nothing
    case 'disown':
      return planDisowning(mutation, was)
  }
}

/** Whether a decision may write a notice: a change of status is always in the timeline, too. */
export function mayNotify({ events = [] }: DecisionRecord): boolean {
  return events.length > 0
}

/** Whether the task keeps its slots: it runs, or the holder of its lease is about to submit it. */
export function keepsSlots({ task: { state }, keepsLease = false, releasesSlots = false }: DecisionRecord): boolean {
  return (state === 'held' || state === 'running' || (state === 'queued' && keepsLease)) && !releasesSlots
}

const nothing: Plan = { isApplied: false, writes: [] }

const addEvent = (task: string, { at, name, detail }: TaskEvent) =>
  write(statements.eventAdded, task, at, name, json(detail))
const settle = (fact: AttemptFact) => write(statements.settled, fact.id, ...fromFact(fact), fact.state)

function hasLease({ leased, fence }: TaskBefore, by: number): boolean {
  return leased && fence === by
}

function planRecord(entry: DecisionRecord, was: TaskBefore | undefined, before: Before): Plan {
  const { task, opened, fact, isFactFenced = false, events = [], audit } = entry
  // Nothing is sent for a deleted task.
  const isGone = opened !== undefined && was?.deletedAt !== null
  const known = () => (fact && !isFactFenced ? planFact(task.id, fact, before) : [])
  if (!was || !hasLease(was, task.fence) || isGone) return { isApplied: false, writes: known() }
  if (isOvertaken(entry, was, before))
    return { isApplied: false, writes: [write(statements.handedBack, task.id, 0, 0), ...known()] }
  const kind = noticeOf(was, task)
  // A deleted task keeps no lease: its holder would go on with work that no client needs.
  const keepsLease = (entry.keepsLease ?? false) && was.deletedAt === null
  const settlement = settlementOf(was, task)
  const ended = settlement ? { ...task, usage: settlement.usage } : task
  return {
    isApplied: keepsLease || !entry.keepsLease,
    writes: [
      planTask({ task: ended, keepsLease }, was),
      ...planAttempts(entry, was, before),
      ...(keepsSlots(entry) ? [] : [write(statements.slotsFreed, task.id)]),
      ...events.map((event) => addEvent(task.id, event)),
      ...(audit ? [write(statements.audited, ...fromAudit(audit))] : []),
      ...(kind ? planNotice({ owner: task.owner, task: task.id, at: decidedAt(entry), kind }, before) : []),
      ...(settlement ? planClose(task.id, was, settlement, decidedAt(entry)) : []),
      ...planEnd(entry, was, settlement?.charge ?? 0),
    ],
  }
}

/**
 * Another process has recorded meanwhile that the awaited attempt was accepted: the next claim goes on with that. A task
 * that ran with another operation would leave the accepted one paid for and not shown. The decider may have known of an
 * adopted operation that the response has replaced since.
 */
function isOvertaken({ task, knowsAccepted }: DecisionRecord, was: TaskBefore, { attempts }: Before): boolean {
  if (was.state !== 'held' || was.attempt === null) return false
  const awaited = attempts.get(was.attempt)
  if (awaited?.state !== 'accepted') return false
  if (task.state === 'running') return !isSame(task.operation, awaited.operation)
  return !knowsAccepted && was.deletedAt === null
}

function isSame(operation: Json, other: Json): boolean {
  return operationKey(operation) === operationKey(other)
}

/** A task that keeps its lease is due when that ends. A task that was deleted meanwhile is due at once. */
function planTask({ task, keepsLease }: { task: Task; keepsLease: boolean }, was: TaskBefore): Write {
  // A deleted task that is queued is due by `start_by`: at once, and later if its bytes could not be removed.
  const isKnown = was.deletedAt === task.deletedAt
  const startBy = was.deletedAt === null ? task.startBy : isKnown ? (task.dueAt ?? 0) : 0
  const dueAt = keepsLease ? was.dueAt : isKnown ? task.dueAt : 0
  return write(statements.decided, task.id, Number(keepsLease), ...toMutable({ ...task, startBy, dueAt }))
}

/** The attempt that the decision opens, the attempt of its fact, and the attempt that the task no longer waits for. */
function planAttempts(entry: DecisionRecord, was: TaskBefore, before: Before): Write[] {
  const { attempts } = before
  const { task, opened, fact } = entry
  const dropped = droppedAttempt(was, task)
  const known = fact && (fact.id === opened?.id ? opened : attempts.get(fact.id))
  const learnt = fact && learn(fact, known?.state, task.attempt === fact.id && dropped !== fact.id)
  const writes: Write[] = []
  if (opened) {
    const attempt = learnt?.id === opened.id ? { ...opened, ...learnt } : opened
    writes.push(write(statements.opened, ...fromAttempt(attempt)))
  }
  if (learnt && learnt.id !== opened?.id) writes.push(settle(learnt))
  if (known && learnt?.state === 'orphan') writes.push(...planOrphanCost(known, before, decidedAt(entry)))
  // The operation that the task runs with is used.
  if (fact && !learnt && !isSame(fact.operation, task.operation)) writes.push(...planSecond(fact, before))
  if (dropped === null || dropped === learnt?.id) return writes
  const left = attempts.get(dropped)
  if (left?.state === 'accepted')
    writes.push(write(statements.stateChanged, dropped, 'orphan'), ...planOrphanCost(left, before, decidedAt(entry)))
  // A process that counts fewer attempts opened the last one itself and got no response to its COMMIT: it never sent it.
  if (left?.state === 'open' && was.attempts > task.attempts)
    writes.push(settle({ ...unsent, id: dropped, settledAt: decidedAt(entry) }))
  return writes
}

/** A fact without a decision. If the task still waits for it, the task is due now, or when its lease ends. */
function planFact(task: string, fact: AttemptFact, before: Before): Write[] {
  const { tasks, attempts } = before
  const was = tasks.get(task)
  const isAwaited = was?.state === 'held' && was.attempt === fact.id
  const known = attempts.get(fact.id)
  const learnt = learn(fact, known?.state, isAwaited)
  if (!known || !learnt) return planSecond(fact, before)
  return [
    settle(learnt),
    ...(isAwaited && !was.leased ? [write(statements.handedBack, task, 0, 0)] : []),
    ...(learnt.state === 'orphan' ? planOrphanCost(known, before, fact.settledAt ?? 0) : []),
  ]
}

/** The first response stays: a later one only fills in what was unknown. Undefined if nothing changes. */
function learn(fact: AttemptFact, was: AttemptState | undefined, isAwaited: boolean): AttemptFact | undefined {
  // A repeat of an attempt may be accepted, although the first request was refused or not sent.
  const isRepeated = was === 'refused' && fact.state === 'accepted'
  if (was !== 'open' && was !== 'abandoned' && !isRepeated) return undefined
  if (fact.state === 'accepted' && !isAwaited) return { ...fact, state: 'orphan' }
  return fact.state === 'open' ? { ...fact, state: was } : fact
}

/**
 * The response names another operation than the attempt has, such as one that the operator adopted. The provider accepted
 * that work, too: it is an orphan with a row of its own. Its id is derived, so that it is recorded once. If a lookup found
 * one of the two, nothing is written: a response replaces it (`recordFact`).
 */
function planSecond(fact: AttemptFact, before: Before): Write[] {
  const first = before.attempts.get(fact.id)
  const { operation, settledAt } = fact
  if (!first || !isNamed(first) || !isNamed(fact) || isSame(operation, first.operation)) return []
  const id = `att_${hash('sha256', `${fact.id} ${operationKey(operation)}`).slice(0, 36)}`
  const message = `The response to attempt '${fact.id}' named this operation. The attempt had another one by then.`
  const problem: TaskError = { code: 'operation_taken', message }
  const second: Attempt = { ...first, id, state: 'orphan', operation, settledAt, problem }
  return [write(statements.orphaned, ...fromAttempt(second)), ...planOrphanCost(second, before, settledAt ?? 0)]
}

/** The operation is known, and not from a lookup. */
function isNamed({ operation, adopted }: Pick<Attempt, 'operation' | 'adopted'>): boolean {
  return operation !== null && !adopted
}

/**
 * The attempt that a held task no longer waits for after a decision. The process that decided did not know its outcome:
 * another process may have recorded meanwhile that it was accepted.
 */
function droppedAttempt(was: TaskBefore, { state, attempt }: Task): string | null {
  const leaves = state === 'queued' || state === 'failed' || was.attempt !== attempt
  return was.state === 'held' && leaves ? was.attempt : null
}

/** The notice of a decision; none for a deleted task. */
function noticeOf(was: TaskBefore, task: Task): NoticeKind | null {
  const status = wireStatus(task)
  return was.deletedAt !== null || status === 'queued' || status === wireStatus(was) ? null : status
}

/** When a decision was made, by the events that it writes. */
function decidedAt({ events, task }: DecisionRecord): number {
  return events?.at(-1)?.at ?? task.completedAt ?? task.startedAt ?? task.createdAt
}

function planNotice({ owner, task, at, kind }: Omit<Notice, 'number'>, { endpoints }: Before): Write[] {
  const notice = write(statements.notified, owner, task, at, kind)
  const type = eventTypeOf(kind)
  if (!type) return [notice]
  const deliveries = endpoints
    .filter((row) => row.owner === owner && subscribesTo(row, type))
    .map(({ id }) => fromDelivery(newDelivery({ id: String(id), owner }, { task, at, type })))
  return [
    notice,
    ...deliveries.map((row) => write(statements.delivered, ...deliveryColumns.map((name) => row[name] ?? null))),
  ]
}

/** Attempts that may have cost money are kept. */
function planRemoval({ task, orphans, end }: MutationOf<'remove'>, was: TaskBefore, before: Before): Plan {
  const last = was.state === 'held' || orphans ? was.attempt : null
  const cost = costOfRemoval(was, end)
  const own = [...before.attempts].filter(([, attempt]) => attempt.task === task)
  const at = was.deletedAt ?? was.createdAt
  return {
    isApplied: true,
    writes: [
      write(statements.removed, task),
      write(statements.slotsFreed, task),
      write(statements.eventsRemoved, task),
      ...own.flatMap(([id, { state }]) => {
        if (state === 'open') return [write(statements.stateChanged, id, 'abandoned')]
        if (state === 'accepted') return [write(statements.stateChanged, id, id === last ? 'orphan' : 'removed')]
        return state === 'refused' ? [write(statements.attemptRemoved, id)] : []
      }),
      ...own.flatMap(([attempt, { state, account }]) =>
        state === 'accepted' && attempt === was.attempt ? planUnused({ task, attempt, account, at }, was, cost) : [],
      ),
    ],
  }
}

const cancelled = { outcome: 'cancelled', code: null, revenue: 0, cost: 0 } as const

/** Hides the task from its owner, and makes it due. */
function planDeletion({ task, owner, at }: MutationOf<'delete'>, was: TaskBefore): Plan {
  const dueAt = was.leased ? was.dueAt : at
  const startBy = was.state === 'queued' ? 0 : was.startBy
  return {
    isApplied: true,
    writes: [
      write(statements.hidden, task, at, dueAt, startBy),
      write(statements.notified, owner, task, at, 'deleted'),
      ...(isFinished(was) ? [] : [planUsage({ ...cancelled, id: task, task, at, account: was.account }, was)]),
      ...(was.price && isReserved(was) ? planClose(task, was, { charge: 0, refund: was.price.charge }, at) : []),
    ],
  }
}

/**
 * The attempt loses the operation that it adopted. If the task uses the attempt, it is held without a lease: a decision to
 * run with that operation is void.
 */
function planDisowning({ task, attempt, at }: MutationOf<'disown'>, was: TaskBefore | undefined): Plan {
  const isHeldAgain = was?.attempt === attempt && ['held', 'running', 'storing'].includes(was.state)
  const fact: AttemptFact = {
    id: attempt,
    state: isHeldAgain ? 'open' : 'abandoned',
    operation: null,
    settledAt: isHeldAgain ? null : at,
    problem: overruled,
  }
  const heldAgain = () => [
    write(statements.heldAgain, task, 'held', null, null, null, 0, at, 0, Number(was?.fence) + 1),
    addEvent(task, { at, name: 'adoption overruled', detail: { attempt } }),
  ]
  return { isApplied: true, writes: [settle(fact), ...(isHeldAgain ? heldAgain() : [])] }
}

const unsent: Omit<AttemptFact, 'id' | 'settledAt'> = {
  state: 'refused',
  operation: null,
  problem: { code: 'storage_unavailable', message: 'It was never sent: the store was unavailable.' },
}

/** Why an attempt lost the operation that it had adopted. */
const overruled: TaskError = {
  code: 'operation_taken',
  message: 'A lookup found this operation. Later the provider returned it for another submit.',
}

/** The end of a reservation. What is given back counts in the periods of the submit. */
function planClose(task: string, was: TaskBefore, settlement: { charge: number; refund: number }, at: number): Write[] {
  const { owner, createdAt, price } = was
  const { refund } = settlement
  return [
    ...postClose(task, was, settlement, at).map((row) => write(statements.posted, ...row)),
    ...(refund > 0 && price ? [write(statements.spent, owner, price.currency, createdAt, -refund)] : []),
  ]
}

/** What the provider charges for the last attempt of a task that ends, and the usage of that task. */
function planEnd(entry: DecisionRecord, was: TaskBefore, revenue: number): Write[] {
  const { id, attempt, account, state, error } = entry.task
  if (isFinished(was) || (state !== 'completed' && state !== 'failed')) return []
  const at = decidedAt(entry)
  const about = attempt === null || account === null ? null : { task: id, attempt, account, at }
  const cost = about && costOfEnd(was, entry.task)
  // A task that was deleted is counted already.
  if (was.deletedAt !== null) return about ? planUnused(about, was, cost) : []
  const usage = { id, task: id, at, outcome: state, account, code: error?.code ?? null, revenue, cost: cost ?? 0 }
  return [...(about ? planCost(about, was, cost) : []), planUsage(usage, was)]
}

/** An attempt that was accepted and is not used. If the row of its task is gone, its price is unknown. */
function planOrphanCost({ id: attempt, task, account }: Attempt, { tasks }: Before, at: number): Write[] {
  const was = tasks.get(task)
  return was?.price ? planUnused({ task, attempt, account, at }, was, was.price.cost) : []
}

type CostOf = Parameters<typeof postCost>[0]

function planCost(about: CostOf, was: TaskBefore, amount: number | null): Write[] {
  return postCost(about, was, amount).map((row) => write(statements.costPosted, ...row))
}

/** The cost of an attempt whose result no task has. */
function planUnused(about: CostOf, was: TaskBefore, amount: number | null): Write[] {
  if (!amount) return []
  const { task, attempt: id, account, at } = about
  const usage = { id, task, at, outcome: 'unused', account, code: null, revenue: 0, cost: amount } as const
  return [...planCost(about, was, amount), planUsage(usage, was)]
}

type Ended = Pick<UsageRecord, 'id' | 'task' | 'at' | 'outcome' | 'account' | 'code' | 'revenue' | 'cost'>

function planUsage(ended: Ended, { owner, token, card, seconds, createdAt, price }: TaskBefore): Write {
  const tookMs = Math.max(0, ended.at - createdAt)
  const about = { owner, token, model: card, seconds, tookMs, currency: price?.currency ?? null }
  return write(statements.used, ...fromUsage({ ...ended, ...about }))
}

/** Whether a new task is admitted, and the rows that are written besides its own. */
type AdmissionPlan = { refusal: Refusal } | { writes: readonly Write[] }

/**
 * In their order: the first take what the limits allow. `spent` has the amount of every counter, by its `counterKey`, and
 * `queued` how many tasks wait, by owner.
 */
export function planAdmissions(
  admissions: readonly Admission[],
  spent: ReadonlyMap<string, number>,
  queued: ReadonlyMap<string, number> = new Map(),
): AdmissionPlan[] {
  const admitted: Admission['task'][] = []
  const spentIn = (cap: CapCounter) =>
    admitted
      .filter(
        ({ owner, createdAt, price }) =>
          owner === cap.scope && price?.currency === cap.currency && isWithin(cap, createdAt),
      )
      .reduce((sum, { price }) => sum + (price?.charge ?? 0), spent.get(counterKey(cap)) ?? 0)
  const queuedOf = (owner: string) => admitted.filter((task) => task.owner === owner).length + (queued.get(owner) ?? 0)
  return admissions.map(({ task, caps, mostQueued }) => {
    const { owner, createdAt, price } = task
    if (mostQueued !== undefined && queuedOf(owner) >= mostQueued) return { refusal: { mostQueued } }
    if (price === null || isFree(price)) {
      admitted.push(task)
      return { writes: [] }
    }
    const { charge, currency } = price
    for (const cap of [...caps, largestCap({ owner, currency })]) {
      const used = spentIn(cap)
      if (used + charge > cap.limit) return { refusal: { cap, spent: used, charge } }
    }
    admitted.push(task)
    const entries = postReserve(task).map((row) => write(statements.posted, ...row))
    return { writes: [...entries, write(statements.spent, owner, currency, createdAt, charge)] }
  })
}

function isWithin({ starts, ends }: CapCounter, at: number): boolean {
  return starts <= at && at < ends
}

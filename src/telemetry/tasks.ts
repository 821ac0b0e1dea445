import type { Attempt, AttemptFact } from '../core/attempt.ts'
import { openBounded } from '../core/bounded.ts'
import { costOfEnd, costOfRemoval, type JobEnd, settlementOf } from '../core/ledger.ts'
import { fromMicros } from '../core/money.ts'
import type { DecisionRecord } from '../core/plan.ts'
import { isFinished, type Task } from '../core/task.ts'
import { families } from './families.ts'
import type { Instruments } from './instruments.ts'
import type { LabelNames } from './labels.ts'

/** Counts what happens to tasks and attempts. */
export interface TaskMeter {
  created(card: string): void
  /** An attempt was committed. */
  opened(account: string): void
  /** A decision was written. */
  decided(before: Task, written: DecisionRecord): void
  /** A deleted task was removed, with its last attempt and what is known about the end of its job. */
  removed(task: Task, last: LastAttempt): void
}

interface LastAttempt {
  attempt: Pick<Attempt, 'state'> | undefined
  end: JobEnd | undefined
}

/** The outcome of a task that was deleted before it ended. */
const cancelled = 'cancelled'

/** How many tasks are followed from their end at the provider to ours, and how many attempts of unknown outcome. About 1 MB each. */
const mostFollowed = 10_000

interface TaskMeterOptions {
  names: LabelNames
  /** Their amounts begin with 0. */
  currencies: readonly string[]
  now: () => number
}

export function openTaskMeter(
  { counter, histogram }: Pick<Instruments, 'counter' | 'histogram'>,
  { names, currencies, now }: TaskMeterOptions,
): TaskMeter {
  const [created, ended] = [counter(families.tasksCreated), counter(families.tasksEnded)]
  const attempts = counter(families.attempts)
  const [started, completed] = [histogram(families.startSeconds), histogram(families.completionSeconds)]
  const collected = histogram(families.collectionSeconds)
  const money = openMoney({ counter }, currencies)
  /** When the provider reported the end of each task. */
  const reportedAt = openBounded<number>(mostFollowed)
  /** The attempts that are counted as unknown. */
  const unknown = openBounded<true>(mostFollowed)

  function end(before: Task, task: Task): void {
    const { id, state, error, createdAt } = task
    const labels = { model: names.model(task.card), account: names.account(task.account) }
    const outcome = state === 'completed' ? state : (error?.code ?? 'internal')
    const isDeleted = before.deletedAt !== null
    ended({ model: labels.model, outcome: isDeleted ? cancelled : outcome })
    money.ended(before, task)
    const reported = reportedAt.get(id)
    reportedAt.delete(id)
    if (state !== 'completed' || isDeleted) return
    completed(labels, (now() - createdAt) / 1_000)
    if (reported !== undefined) collected(labels, (now() - reported) / 1_000)
  }

  /** An attempt may be repeated again and again, each time without a response. */
  function count(account: string, { id, state }: Pick<AttemptFact, 'id' | 'state'>): void {
    const isUnknown = state === 'open'
    if (isUnknown && unknown.get(id)) return
    if (isUnknown) unknown.set(id, true)
    else unknown.delete(id)
    attempts({ account, outcome: isUnknown ? 'unknown' : state })
  }

  return {
    created: (card) => created({ model: names.model(card) }),
    opened: (account) => attempts({ account: names.account(account), outcome: 'opened' }),
    decided(before, { task, fact }) {
      const { id, state, startedAt, createdAt } = task
      const account = names.account(task.account)
      if (fact) count(account, fact)
      if (before.startedAt === null && startedAt !== null) {
        const model = names.model(task.card)
        started({ model, account }, (startedAt - createdAt) / 1_000)
        // So that the first video of a model counts as growth.
        ended({ model, outcome: 'completed' }, 0)
      }
      // A result that has to be requested again was reported when it was first there.
      if (before.state === 'running' && state === 'storing' && reportedAt.get(id) === undefined)
        reportedAt.set(id, now())
      if (isFinished(task) && !isFinished(before)) end(before, task)
    },
    removed(task, last) {
      reportedAt.delete(task.id)
      if (isFinished(task)) return
      ended({ model: names.model(task.card), outcome: cancelled })
      money.removed(task, last)
    },
  }
}

/** The same amounts as the plan of the change writes to the ledger. */
function openMoney({ counter }: Pick<Instruments, 'counter'>, currencies: readonly string[]) {
  const [cost, revenue] = [counter(families.usageCost), counter(families.usageRevenue)]
  for (const currency of currencies) for (const count of [cost, revenue]) count({ currency }, 0)
  return {
    ended(before: Task, task: Task): void {
      const currency = before.price?.currency
      if (currency === undefined) return
      revenue({ currency }, fromMicros(settlementOf(before, task)?.charge ?? 0))
      const isSent = task.attempt !== null && task.account !== null
      cost({ currency }, fromMicros((isSent && costOfEnd(before, task)) || 0))
    },
    removed(task: Task, { attempt, end }: LastAttempt): void {
      const currency = task.price?.currency
      if (currency === undefined || attempt?.state !== 'accepted') return
      cost({ currency }, fromMicros(costOfRemoval(task, end) ?? 0))
    },
  }
}

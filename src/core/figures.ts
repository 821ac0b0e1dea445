import type { Row } from './row.ts'
import type { TaskPrice } from './task.ts'

/*
 * Figures over all tasks, for metrics, alarms and the status. A store counts entries of an index up to a limit and reads a
 * limited number of attempts, so that a read costs the same however many tasks there are.
 */
export interface Figures {
  /** The cards that have queued tasks. */
  readonly queues: readonly QueueFigure[]
  readonly fetching: number
  readonly work: readonly WorkFigure[]
  /** Of the accounts that were asked for. */
  readonly slots: readonly SlotFigure[]
  /** Attempts without a recorded outcome, the oldest. */
  readonly open: readonly AttemptFigure[]
  /** The newest. */
  readonly orphans: readonly AttemptFigure[]
  /** Attempts whose outcome stays unknown, the newest. */
  readonly abandoned: readonly AttemptFigure[]
  readonly pendingDeliveries: number
}

export interface FigureRequest {
  /** The accounts whose slots are counted. */
  readonly accounts: readonly string[]
  /** How far the tasks of a card, of an account in a state, and deliveries are counted. */
  readonly mostCounted: number
  /** How many attempts of a state are read. */
  readonly mostAttempts: number
}

interface QueueFigure {
  readonly card: string
  readonly tasks: number
  /** When the oldest task was created, among the first of each owner, up to `mostOwners` owners; null if none is left. */
  readonly oldestAt: number | null
}

/** Of so many owners of a card the oldest queued task is read. */
export const mostOwners = 1_000

/** How far a service counts. docs/metrics.md says it, too. */
export const figureLimits = { mostCounted: 10_000, mostAttempts: 1_000 }

export const workStates = ['held', 'running', 'storing'] as const

interface WorkFigure {
  readonly account: string
  readonly state: (typeof workStates)[number]
  readonly tasks: number
}

interface SlotFigure {
  readonly account: string
  readonly used: number
}

export interface AttemptFigure {
  readonly task: string
  readonly account: string
  readonly openedAt: number
  /** Something is known about it: it is not being sent. */
  readonly hasProblem: boolean
  /** What it costs, or may cost, in micros; null if that is unknown. */
  readonly cost: number | null
  readonly currency: string | null
}

/** How many unfinished tasks are in each state. */
export function tasksByState({ fetching, queues, work }: Figures) {
  const sum = (of: readonly { readonly tasks: number }[]) => of.reduce((total, { tasks }) => total + tasks, 0)
  const inState = (wanted: WorkFigure['state']) => sum(work.filter(({ state }) => state === wanted))
  return {
    fetching,
    queued: sum(queues),
    held: inState('held'),
    running: inState('running'),
    storing: inState('storing'),
  }
}

export function toQueueFigure({ card, tasks, oldest }: Row): QueueFigure {
  return { card: String(card), tasks: Number(tasks), oldestAt: oldest === null ? null : Number(oldest) }
}

export function toWorkFigure({ account, state, tasks }: Row): WorkFigure {
  return { account: String(account), state: state as WorkFigure['state'], tasks: Number(tasks) }
}

/** The attempt, the price of its task, and its own usage, each if there is one. */
export const figureColumns = `attempts.task AS task, attempts.account AS account, attempts.opened_at AS opened_at, attempts.problem AS problem,
  tasks.price AS price, usages.cost AS cost, usages.currency AS currency`

/** What an attempt cost is known by its usage. Until then its price says what it may cost. */
export function toAttemptFigure({
  task,
  account,
  opened_at: openedAt,
  problem,
  price,
  cost,
  currency,
}: Row): AttemptFigure {
  const about = {
    task: String(task),
    account: String(account),
    openedAt: Number(openedAt),
    hasProblem: problem !== null,
  }
  if (cost !== null) return { ...about, cost: Number(cost), currency: currency as string | null }
  const frozen = price === null ? null : (JSON.parse(String(price)) as TaskPrice)
  return { ...about, cost: frozen?.cost ?? null, currency: frozen?.currency ?? null }
}

/** A request that was sent longer ago has ended. An attempt without a response is of unknown outcome then. */
const longestSendMs = 150_000

/** Whether the outcome of an open attempt is unknown. Otherwise it is being sent. */
export function isHeldAttempt({ openedAt, hasProblem }: AttemptFigure, now: number): boolean {
  return hasProblem || now - openedAt > longestSendMs
}

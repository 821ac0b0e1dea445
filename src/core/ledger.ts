import { amountOf } from './prices.ts'
import type { ColumnValue } from './row.ts'
import { isFinished, type PricePart, type Task, type TaskPrice, type TaskUsage } from './task.ts'

/*
 * The ledger: double entries that are only ever added. The entries of a step sum to 0, so all entries do. A step of a task
 * is posted once, in the transaction of the change that causes it. These accounts are never below 0:
 *   reserved OWNER     the maximum price of the owner's unfinished tasks
 *   revenue OWNER      what was charged for completed tasks
 *   cost ACCOUNT       what a provider account charges the operator, paid for by a client or not
 * and these two, their other sides, are never above 0:
 *   funds OWNER        what the owner owes or has reserved
 *   providers ACCOUNT  what the operator owes to the provider
 */

/** An entry, for the operator. */
export interface LedgerEntry {
  readonly task: string
  /** `reserve`, `close`, or `cost` and the id of an attempt. */
  readonly step: string
  readonly account: string
  /** Micros. */
  readonly amount: number
  readonly currency: string
  readonly at: number
}

/** What the entries of a task depend on, besides its change. */
type Priced = Pick<Task, 'owner' | 'state' | 'createdAt' | 'deletedAt' | 'price'>

/** The end of a reservation: the owner pays a part of it, or nothing, and gets the rest back. */
interface Settlement {
  readonly charge: number
  readonly refund: number
  readonly usage: TaskUsage
}

/** How a change of a task ends its reservation; null if it has none, or keeps it. */
export function settlementOf(was: Priced, task: Pick<Task, 'state' | 'usage'>): Settlement | null {
  const { price } = was
  if (price === null || !isReserved(was) || !isFinished(task)) return null
  const charge = task.state === 'completed' ? chargeOf(price, task.usage) : 0
  return { charge, refund: price.charge - charge, usage: { ...task.usage, cost: charge, currency: price.currency } }
}

/** A deletion ends the reservation of an unfinished task: its video can never be downloaded. */
export function isReserved({ price, state, deletedAt }: Priced): boolean {
  return price !== null && deletedAt === null && !isFinished({ state })
}

/** By what the provider reported, and never more than was reserved: the operator pays the excess. */
function chargeOf({ charge, metered }: TaskPrice, usage: TaskUsage | null): number {
  return Math.min(charge, reportedAmount(metered?.charge, usage) ?? charge)
}

/** Infinite if it is larger than an amount can be. */
function reportedAmount(parts: readonly PricePart[] | null | undefined, usage: TaskUsage | null): number | undefined {
  const quantity = usage?.outputTokens
  if (!parts || quantity === undefined) return undefined
  return amountOf(parts.map((part) => (part.metered ? { ...part, quantity } : part))) ?? Number.POSITIVE_INFINITY
}

/** A provider that reports more than this many times the frozen cost is wrong, and must not decide the operator's figures. */
const mostTimesTheCost = 100

/** The most that is posted as cost, if the provider reported more than can be true. */
export function boundOfCost(price: TaskPrice | null, usage: TaskUsage | null): number | undefined {
  const reported = reportedAmount(price?.metered?.cost, usage)
  if (!price?.cost || reported === undefined) return undefined
  const most = Math.min(mostTimesTheCost * price.cost, Number.MAX_SAFE_INTEGER)
  return reported > most ? most : undefined
}

/** What the provider charges for the last attempt of a task that ends; null if that is nothing, or unknown. */
export function costOfEnd(was: Priced, task: Pick<Task, 'state' | 'usage' | 'error'>): number | null {
  if (was.price === null || isFinished(was) || !isFinished(task) || !isBilled(was.price, was, task)) return null
  const { price } = was
  return boundOfCost(price, task.usage) ?? reportedAmount(price.metered?.cost, task.usage) ?? price.cost
}

/** How a job ended at its provider. */
export type JobEnd = Pick<Task, 'state' | 'usage' | 'error'>

/** What the provider charges for the last attempt of a task that is removed unfinished: all of it, unless `end` is known. */
export function costOfRemoval(was: Priced, end?: JobEnd): number | null {
  // A queued task had failed at the provider of its last attempt, which did not bill that.
  if (was.price === null || was.state === 'queued' || isFinished(was)) return null
  return end ? costOfEnd(was, end) : was.price.cost
}

/** Work that was accepted is billed, even if it brought nothing. Only a failure at the provider may be free. */
function isBilled(
  { billsFailures }: TaskPrice,
  was: Pick<Task, 'state'>,
  { state, error }: Pick<Task, 'state' | 'error'>,
): boolean {
  if (state === 'completed' || was.state === 'storing') return true
  const isProvidersFault = error?.code === 'generation_failed' || error?.code === 'content_policy'
  return was.state === 'running' && (billsFailures || !isProvidersFault)
}

/** Rows in the order of `entryColumns`. */
type EntryRow = ColumnValue[]

interface Step {
  task: string
  step: string
  at: number
  submittedAt: number
  currency: string
}

function post(step: Step, amounts: Readonly<Record<string, number>>): EntryRow[] {
  return Object.entries(amounts)
    .filter(([, amount]) => amount !== 0)
    .map(([account, amount]) => [step.task, step.step, account, amount, step.currency, step.at, step.submittedAt])
}

export function postReserve({ id, owner, createdAt, price }: Pick<Task, 'id' | 'owner' | 'createdAt' | 'price'>) {
  if (price === null) return []
  const step = { task: id, step: 'reserve', at: createdAt, submittedAt: createdAt, currency: price.currency }
  return post(step, { [`funds ${owner}`]: -price.charge, [`reserved ${owner}`]: price.charge })
}

export function postClose(task: string, was: Priced, settlement: Pick<Settlement, 'charge' | 'refund'>, at: number) {
  const { owner, createdAt, price } = was
  if (price === null) return []
  const { charge, refund } = settlement
  const step = { task, step: 'close', at, submittedAt: createdAt, currency: price.currency }
  return post(step, {
    [`reserved ${owner}`]: -price.charge,
    [`revenue ${owner}`]: charge,
    [`funds ${owner}`]: refund,
  })
}

/** What one attempt costs the operator. */
export function postCost(
  { task, attempt, account, at }: { task: string; attempt: string; account: string; at: number },
  { createdAt, price }: Priced,
  amount: number | null,
): EntryRow[] {
  if (price === null || amount === null) return []
  const step = { task, step: `cost ${attempt}`, at, submittedAt: createdAt, currency: price.currency }
  return post(step, { [`cost ${account}`]: amount, [`providers ${account}`]: -amount })
}

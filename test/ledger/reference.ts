import { capsAt } from '../../src/core/spend.ts'
import { capsOf, type Life, lifeOf } from './lives.ts'

/*
 * What the ledger must contain, from what happened to the tasks: a few rules, written without the code that they judge.
 */

/** What a database has. */
export interface Found {
  tasks: { id: string; state: string; deleted: boolean; usage: string | null }[]
  /** The sum for each task and account. */
  balances: { task: string; account: string; amount: number }[]
  /** Tasks whose attempt is an orphan. */
  orphans: string[]
}

/** What was acknowledged to the clients. */
export interface Acknowledged {
  admitted: ReadonlySet<number>
  refused: ReadonlySet<number>
  ended: ReadonlySet<number>
}

/** Everything that is not as it must be; empty if all is well. */
export function judge(found: Found, { admitted, refused, ended }: Acknowledged, count: number): string[] {
  const violations: string[] = []
  const tasks = new Map(found.tasks.map((task) => [task.id, task]))
  const orphans = new Set(found.orphans)
  const balances = Map.groupBy(found.balances, ({ task }) => task)
  const spending = openSpending()
  for (let number = 0; number < count; number += 1) {
    const life = lifeOf(number)
    const [task, own] = [tasks.get(life.id), balances.get(life.id) ?? []]
    const actual = Object.fromEntries(
      own.map(({ account, amount }) => [account, amount]).filter(([, amount]) => amount),
    )
    const complain = (what: string) => violations.push(`${number} (${life.kind}): ${what}`)
    if (refused.has(number) && (task || own.length > 0)) complain('it was refused, and left something behind')
    if (admitted.has(number) && own.length === 0) complain('it was admitted, and has no entry')
    if (admitted.has(number) && !task && life.kind !== 'remove') complain('it was admitted, and is gone')
    if (ended.has(number) && task && isOpen(task)) complain(`it ended, and is ${task.state}`)
    const expected = own.length === 0 ? {} : expectedOf(life, task, orphans.has(life.id))
    if (!isEqual(actual, expected)) complain(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`)
    spending.add(life, -Number(actual[`funds ${life.owner}`] ?? 0))
  }
  return [...violations, ...spending.violations()]
}

function isOpen({ deleted, state }: Found['tasks'][number]): boolean {
  return !deleted && state !== 'completed' && state !== 'failed'
}

/** The balances of one task, without those that are 0. */
function expectedOf(life: Life, task: Found['tasks'][number] | undefined, isOrphan: boolean): Record<string, number> {
  const { owner, price, kind } = life
  const usage = task?.usage ? (JSON.parse(task.usage) as { cost?: number }) : {}
  // Of a race, the task itself says who was first.
  const isCharged = task?.state === 'completed' && (!task.deleted || usage.cost !== undefined)
  const charge = kind === 'metered' ? Math.min(price.charge, life.outputTokens) : price.charge
  if (isCharged && usage.cost !== charge) return { 'the task has another cost': usage.cost ?? 0 }
  const paid = isCharged ? charge : 0
  const reserved = task && isOpen(task) ? price.charge : 0
  const isFailureBilled = task?.state === 'failed' && (kind === 'fail' || isOrphan)
  const isBilled = task === undefined || task.state === 'completed' || isFailureBilled
  const cost = isBilled ? (kind === 'metered' ? life.outputTokens : (price.cost ?? 0)) : 0
  const all = {
    [`funds ${owner}`]: -reserved - paid,
    [`reserved ${owner}`]: reserved,
    [`revenue ${owner}`]: paid,
    'cost p': cost,
    'providers p': -cost,
  }
  return Object.fromEntries(Object.entries(all).filter(([, amount]) => amount !== 0))
}

function isEqual(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return names.every((name) => one[name] === other[name])
}

/** Sums what each owner spent in the periods of its caps. */
function openSpending() {
  const spent = new Map<string, { amount: number; limit: number }>()
  return {
    add(life: Life, amount: number): void {
      for (const { scope, period, limit } of amount === 0 ? [] : capsAt(capsOf(life.owner), life)) {
        const key = `${scope}, ${period}`
        spent.set(key, { limit, amount: (spent.get(key)?.amount ?? 0) + amount })
      }
    },
    violations: () =>
      [...spent]
        .filter(([, { amount, limit }]) => amount > limit)
        .map(([key, { amount, limit }]) => `${key}: ${amount} was spent, and the cap is ${limit}`),
  }
}

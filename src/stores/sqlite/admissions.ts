import type { DatabaseSync } from 'node:sqlite'
import { planAdmissions } from '../../core/plan.ts'
import type { Refusal } from '../../core/quotas.ts'
import { type Admission, counterKey, countersOf, largestTotal } from '../../core/spend.ts'
import { prepareWrites } from './mutations.ts'

interface Admitted {
  /** Why the task is refused; null if it was inserted. */
  refusal: Refusal | null
  /** How many tasks of the owner waited before, if they were counted: no further than the limit. */
  queued: number | null
}

/**
 * Inserts tasks that have a price, or whose owner may have too many waiting tasks; runs in the writer thread, inside its
 * transaction. A counter that is missing, because its period or its cap is new, is made from the ledger.
 */
export function prepareAdmissions(database: DatabaseSync) {
  const execute = prepareWrites(database)
  // Earlier releases stored larger sums, which can't be returned.
  const amount = `min(amount, ${largestTotal}) AS amount`
  const read = database.prepare(`SELECT ${amount} FROM spends WHERE scope = ? AND currency = ? AND period = ?`)
  const make = database.prepare(
    `INSERT INTO spends (scope, currency, period, starts, ends, amount) VALUES (?1, ?2, ?3, ?4, ?5, (
       SELECT coalesce(-sum(amount), 0) FROM entries
       WHERE account = 'funds ' || ?1 AND currency = ?2 AND submitted_at >= ?4 AND submitted_at < ?5
     )) RETURNING ${amount}`,
  )
  const count = prepareQueued(database)
  return (admission: Admission, insert: () => void): Admitted => {
    const { task, mostQueued } = admission
    const counters = countersOf(admission).map((counter) => {
      const { scope, currency, period, starts, ends } = counter
      const row = read.get(scope, currency, period) ?? make.get(scope, currency, period, starts, ends)
      return [counterKey(counter), Number(row?.amount)] as const
    })
    const queued = mostQueued === undefined ? null : count(task.owner, mostQueued)
    const [plan] = planAdmissions([admission], new Map(counters), new Map([[task.owner, queued ?? 0]]))
    if (!plan || 'refusal' in plan) return { refusal: plan?.refusal ?? null, queued }
    insert()
    for (const write of plan.writes) execute(write)
    return { refusal: null, queued }
  }
}

/**
 * Counts the waiting tasks of an owner, up to a limit. By steps from one card to the next in the index, which has the card
 * first: an index by owner would cost every submit and every change of a task.
 */
export function prepareQueued(database: DatabaseSync): (owner: string, most: number) => number {
  const nextCard = (condition: string) =>
    `(SELECT card FROM tasks INDEXED BY tasks_queue WHERE state = 'queued' ${condition} ORDER BY card LIMIT 1)`
  const count = database.prepare(
    `WITH RECURSIVE cards (name) AS (
       SELECT ${nextCard('')} UNION ALL SELECT ${nextCard('AND card > cards.name')} FROM cards WHERE cards.name IS NOT NULL
     )
     SELECT count(*) AS queued FROM (
       SELECT 1 FROM cards CROSS JOIN tasks INDEXED BY tasks_queue
       WHERE tasks.state = 'queued' AND tasks.card = cards.name AND tasks.owner = ?1
       UNION ALL SELECT 1 FROM tasks INDEXED BY tasks_fetching WHERE state = 'fetching' AND owner = ?1
       LIMIT ?2
     )`,
  )
  return (owner, most) => Number(count.get(owner, most)?.queued ?? 0)
}

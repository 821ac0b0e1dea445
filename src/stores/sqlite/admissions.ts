import type { DatabaseSync } from 'node:sqlite'
import { planAdmissions } from '../../core/plan.ts'
import { type Admission, type CapRefusal, counterKey, countersOf } from '../../core/spend.ts'
import { prepareWrites } from './mutations.ts'

/**
 * Inserts tasks with a price; runs in the writer thread, inside its transaction. A counter that is missing, because its
 * period or its cap is new, is made from the ledger.
 */
export function prepareAdmissions(database: DatabaseSync) {
  const execute = prepareWrites(database)
  const read = database.prepare('SELECT amount FROM spends WHERE scope = ? AND currency = ? AND period = ?')
  const make = database.prepare(
    `INSERT INTO spends (scope, currency, period, starts, ends, amount) VALUES (?1, ?2, ?3, ?4, ?5, (
       SELECT coalesce(-sum(amount), 0) FROM entries
       WHERE account = 'funds ' || ?1 AND currency = ?2 AND submitted_at >= ?4 AND submitted_at < ?5
     )) RETURNING amount`,
  )
  /** Returns why the task is refused; null if it was inserted. */
  return (admission: Admission, insert: () => void): CapRefusal | null => {
    const counters = countersOf(admission).map((counter) => {
      const { scope, currency, period, starts, ends } = counter
      const row = read.get(scope, currency, period) ?? make.get(scope, currency, period, starts, ends)
      return [counterKey(counter), Number(row?.amount)] as const
    })
    const [plan] = planAdmissions([admission], new Map(counters))
    if (!plan || 'refusal' in plan) return plan?.refusal ?? null
    insert()
    for (const write of plan.writes) execute(write)
    return null
  }
}

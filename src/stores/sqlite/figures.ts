import type { DatabaseSync } from 'node:sqlite'
import {
  figureColumns,
  mostOwners,
  toAttemptFigure,
  toQueueFigure,
  toWorkFigure,
  workStates,
} from '../../core/figures.ts'
import { accountScope } from '../../core/turns.ts'
import type { Store } from '../store.ts'

/** How many entries of an index the statement finds, up to its last parameter. */
const countUpTo = (from: string) => `SELECT count(*) AS tasks FROM (SELECT 1 FROM ${from} LIMIT ?)`

/** They run on the main thread, so each statement is a turn of its own: polls come between them. */
export function prepareFigures(reader: DatabaseSync, accountsInUse: Store['accountsInUse']): Pick<Store, 'figures'> {
  const { cards, queueOf, oldestOf, workOf } = prepareSteps(reader)
  const fetching = reader.prepare(countUpTo("tasks INDEXED BY tasks_fetching WHERE state = 'fetching'"))
  const pending = reader.prepare(countUpTo("deliveries INDEXED BY deliveries_due WHERE state = 'pending'"))
  const used = reader.prepare('SELECT count(*) AS used FROM slots WHERE scope = ?')
  const attemptsIn = (state: 'open' | 'orphan' | 'abandoned', order: 'ASC' | 'DESC') =>
    reader.prepare(
      `SELECT ${figureColumns} FROM attempts INDEXED BY attempts_state
         LEFT JOIN tasks ON tasks.id = attempts.task LEFT JOIN usages ON usages.id = attempts.id
       WHERE attempts.state IN ('open', 'abandoned', 'orphan') AND attempts.state = '${state}'
       ORDER BY attempts.opened_at ${order} LIMIT ?`,
    )
  const [open, orphans] = [attemptsIn('open', 'ASC'), attemptsIn('orphan', 'DESC')]
  const abandoned = attemptsIn('abandoned', 'DESC')

  return {
    async figures({ accounts, mostCounted, mostAttempts }) {
      const queues = await inTurns(cards(), (card) =>
        toQueueFigure({ card, oldest: oldestOf(card), ...queueOf.get(card, mostCounted) }),
      )
      const work = await inTurns(await accountsInUse(), (account) =>
        workStates.map((state) => toWorkFigure({ account, state, ...workOf.get(account, state, mostCounted) })),
      )
      const usedOf = (account: string) => Number(used.get(accountScope(account))?.used)
      return {
        queues,
        work: work.flat(),
        slots: await inTurns(accounts, (account) => ({ account, used: usedOf(account) })),
        fetching: Number(fetching.get(mostCounted)?.tasks),
        pendingDeliveries: Number(pending.get(mostCounted)?.tasks),
        open: open.all(mostAttempts).map(toAttemptFigure),
        orphans: orphans.all(mostAttempts).map(toAttemptFigure),
        abandoned: abandoned.all(mostAttempts).map(toAttemptFigure),
      }
    },
  }
}

/** By steps from one card to the next in the index: a DISTINCT would read all queued tasks. */
function prepareSteps(reader: DatabaseSync) {
  const nextCard = reader.prepare(
    "SELECT card FROM tasks INDEXED BY tasks_queue WHERE state = 'queued' AND card > ? ORDER BY card LIMIT 1",
  )
  const head = reader.prepare(
    `SELECT owner, created_at FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND card = ? AND owner > ? ORDER BY owner, due_at LIMIT 1`,
  )
  return {
    *cards() {
      for (let row = nextCard.get(''); row; row = nextCard.get(String(row.card))) yield String(row.card)
    },
    queueOf: reader.prepare(countUpTo("tasks INDEXED BY tasks_queue WHERE state = 'queued' AND card = ?")),
    /** When the oldest of a card was created, among the first of each owner. */
    oldestOf(card: string): number | null {
      let oldest: number | null = null
      let row = head.get(card, '')
      for (let owners = 0; row && owners < mostOwners; owners += 1) {
        oldest = Math.min(Number(row.created_at), oldest ?? Number.POSITIVE_INFINITY)
        row = head.get(card, String(row.owner))
      }
      return oldest
    },
    workOf: reader.prepare(
      countUpTo(
        "tasks INDEXED BY tasks_work WHERE state IN ('held', 'running', 'storing') AND account = ? AND state = ?",
      ),
    ),
  }
}

async function inTurns<Item, Result>(items: Iterable<Item>, read: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) {
    results.push(read(item))
    await new Promise(setImmediate)
  }
  return results
}

import type { DatabaseSync } from 'node:sqlite'
import {
  figureColumns,
  mostOwners,
  toAttemptFigure,
  toQueueFigure,
  toWorkFigure,
  workStates,
} from '../../core/figures.ts'
import type { Row } from '../../core/row.ts'
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
      const queues = await forEach(cards(), async (card) => {
        const oldest = await oldestOf(card)
        return toQueueFigure({ card, oldest, ...(await inTurn(() => queueOf.get(card, mostCounted))) })
      })
      const work = await forEach(await inTurn(accountsInUse), (account) =>
        forEach(workStates, async (state) =>
          toWorkFigure({ account, state, ...(await inTurn(() => workOf.get(account, state, mostCounted))) }),
        ),
      )
      const usedOf = (account: string) => inTurn(() => Number(used.get(accountScope(account))?.used))
      return {
        queues,
        work: work.flat(),
        slots: await forEach(accounts, async (account) => ({ account, used: await usedOf(account) })),
        fetching: await inTurn(() => Number(fetching.get(mostCounted)?.tasks)),
        pendingDeliveries: await inTurn(() => Number(pending.get(mostCounted)?.tasks)),
        open: await inTurn(() => open.all(mostAttempts).map(toAttemptFigure)),
        orphans: await inTurn(() => orphans.all(mostAttempts).map(toAttemptFigure)),
        abandoned: await inTurn(() => abandoned.all(mostAttempts).map(toAttemptFigure)),
      }
    },
  }
}

/** Of so many owners the first task is read at once. */
const ownersAtOnce = 100

/** By steps from one card to the next in the index: a DISTINCT would read all queued tasks. */
function prepareSteps(reader: DatabaseSync) {
  const nextCard = reader.prepare(
    "SELECT card FROM tasks INDEXED BY tasks_queue WHERE state = 'queued' AND card > ? ORDER BY card LIMIT 1",
  )
  const head = reader.prepare(
    `SELECT owner, created_at FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND card = ? AND owner > ? ORDER BY owner, due_at LIMIT 1`,
  )
  /** The times of the next heads, and the owner of the last one, or null if there are no more. */
  const headsAfter = (card: string, after: string) => {
    const times: number[] = []
    let last: string | null = after
    while (last !== null && times.length < ownersAtOnce) {
      const row: Row | undefined = head.get(card, last)
      if (row) times.push(Number(row.created_at))
      last = row ? String(row.owner) : null
    }
    return { last, times }
  }
  return {
    async *cards() {
      const after = (card: string) => inTurn(() => nextCard.get(card))
      for (let row = await after(''); row; row = await after(String(row.card))) yield String(row.card)
    },
    queueOf: reader.prepare(countUpTo("tasks INDEXED BY tasks_queue WHERE state = 'queued' AND card = ?")),
    /** When the oldest of a card was created, among the first of each owner. */
    async oldestOf(card: string): Promise<number | null> {
      let oldest = Number.POSITIVE_INFINITY
      let after: string | null = ''
      for (let owners = 0; after !== null && owners < mostOwners; owners += ownersAtOnce) {
        const from: string = after
        const { last, times } = await inTurn(() => headsAfter(card, from))
        oldest = Math.min(oldest, ...times)
        after = last
      }
      return Number.isFinite(oldest) ? oldest : null
    },
    workOf: reader.prepare(
      countUpTo(
        "tasks INDEXED BY tasks_work WHERE state IN ('held', 'running', 'storing') AND account = ? AND state = ?",
      ),
    ),
  }
}

/** Reads in a turn of the event loop that has no other statement of the figures. */
async function inTurn<Result>(read: () => Result | Promise<Result>): Promise<Result> {
  await new Promise(setImmediate)
  return read()
}

async function forEach<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  read: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for await (const item of items) results.push(await read(item))
  return results
}

import { type FairTurns, openFairTurns } from '../core/fair.ts'
import { promptBytes, type TaskView } from '../core/task.ts'

/** About so much text is read and made into JSON in a millisecond: six times as many bytes at the worst. */
export const pieceBytes = 32_000

/**
 * The turns of this process in which anything large is made for a token, a piece in each. Between two of them the event
 * loop serves all that waits: a poll of another token waits for one piece, and its list for its own turn.
 */
export function openPieceTurns(): FairTurns {
  const turns = openFairTurns({ slots: 1 })
  return {
    async take(owner, signal) {
      const slot = await turns.take(owner, signal)
      return { [Symbol.dispose]: () => void setImmediate(() => slot[Symbol.dispose]()) }
    },
  }
}

/** How many tasks to read in a turn, by how long the prompts of those before were. */
interface Step {
  size(): number
  learn(views: readonly (TaskView | undefined)[]): void
}

/** Long prompts may follow short ones: so many are read in a few milliseconds at the worst. */
const most = 16

export function openStep(): Step {
  let size = 1
  return {
    size: () => size,
    learn(views) {
      const bytes = promptBytes(views.filter((view) => view !== undefined))
      const fitting = Math.floor((pieceBytes * views.length) / Math.max(1, bytes))
      size = Math.max(1, Math.min(most, size * 4, fitting))
    },
  }
}

/** About what it costs to tell a client of a task: its text is copied, and a short one costs as much as 500 bytes. */
export function tellingCost(view: TaskView | undefined): number {
  return 500 + (view?.prompt.length ?? 0)
}

/** So much is told in a turn. */
export const tellingPiece = 4 * pieceBytes

interface Telling<Item> {
  turn(): Promise<Disposable>
  costOf(item: Item): number
  tell(item: Item): void
}

/** Takes each out and tells it, a piece in each turn; more may be put in meanwhile. */
export async function tellPieces<Item>(items: Set<Item>, { turn, costOf, tell }: Telling<Item>): Promise<void> {
  while (items.size > 0) {
    using _turn = await turn()
    let spent = 0
    for (const item of items) {
      items.delete(item)
      spent += costOf(item)
      tell(item)
      if (spent >= tellingPiece) break
    }
  }
}

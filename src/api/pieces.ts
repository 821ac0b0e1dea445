import type { FastifyReply } from 'fastify'
import { type FairTurns, openFairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { promptBytes, type TaskView } from '../core/task.ts'

/** About so much text is read and turned into JSON in a millisecond. As JSON it may have six times as many bytes. */
export const pieceBytes = 32_000

/** How many steps of reports and searches the store reads at once: polls and submits need its connections, too. */
const readsAtOnce = 2

export interface PieceTurns extends FairTurns {
  /**
   * Starts a read in a turn. SQLite reads at once, on this thread. PostgreSQL reads on its own: the turn ends when the request
   * is sent, so that a slow database does not hold up the responses to others. Few such reads are under way at once.
   */
  read<Found>(owner: string, read: () => Promise<Found>): Promise<Found>
}

/**
 * The turns in which large responses are built, one piece in each turn. Between two turns the event loop serves all
 * other requests: a poll of another token waits for one piece, and its list waits for its own turn.
 */
export function openPieceTurns(): PieceTurns {
  const turns = openFairTurns({ slots: 1 })
  const reads = openFairTurns({ slots: readsAtOnce })
  const take: FairTurns['take'] = async (owner, signal) => {
    const slot = await turns.take(owner, signal)
    return { [Symbol.dispose]: () => void setImmediate(() => slot[Symbol.dispose]()) }
  }
  async function begin<Found>(owner: string, read: () => Promise<Found>): Promise<{ reading: Promise<Found> }> {
    using _turn = await take(owner)
    return { reading: read() }
  }
  return {
    take,
    async read(owner, read) {
      using _place = await reads.take(owner)
      const { reading } = await begin(owner, read)
      return await reading
    },
  }
}

/** Throws if the client has disconnected: the results of a long search or report would not be read. */
export function refuseDisconnected({ raw }: Pick<FastifyReply, 'raw'>): void {
  if (raw.destroyed) throw new Problem('overloaded', 'The client disconnected.')
}

/** How many tasks to read in a turn, based on the prompts of the tasks before. */
interface Step {
  size(): number
  learn(views: readonly (TaskView | undefined)[]): void
}

/** Long prompts may follow short ones: in the worst case so many are read in a few milliseconds. */
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

/**
 * The cost of sending a task to a client, in bytes: its text is copied, and the rest costs about as much as 500 bytes.
 */
export function sendCost(view: TaskView | undefined): number {
  return 500 + (view?.prompt.length ?? 0)
}

/** How much is sent in one turn. */
export const costPerTurn = 4 * pieceBytes

interface Sending<Item> {
  turn(): Promise<Disposable>
  costOf(item: Item): number
  send(item: Item): void
}

/** Removes and sends all items, one piece in each turn. More may be added meanwhile. */
export async function sendInPieces<Item>(items: Set<Item>, { turn, costOf, send }: Sending<Item>): Promise<void> {
  while (items.size > 0) {
    using _turn = await turn()
    let spent = 0
    for (const item of items) {
      items.delete(item)
      spent += costOf(item)
      send(item)
      if (spent >= costPerTurn) break
    }
  }
}

import { type FairTurns, openFairTurns } from '../core/fair.ts'

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

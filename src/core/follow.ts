import { openBell } from './bell.ts'
import type { Clock } from './clock.ts'
import type { Outage } from './outage.ts'
import { Problem } from './problem.ts'

/** How often a process looks for changes of other processes. A message makes it look at once, but may be lost. */
const lookMs = 500

interface FollowOptions {
  /** Applies what other processes changed since the last call. */
  look: () => Promise<void>
  /** Calls back soon after another process may have changed something. Returns a function that ends this. */
  onMessage: (listener: () => void) => () => void
  clock: Clock
  /** Of the looks. */
  outage: Outage
}

export interface Following extends AsyncDisposable {
  /** A look, if the last one is so old that this process must have been stopped meanwhile; undefined if it is not. */
  catchUp(): Promise<void> | undefined
}

/** Longer than a look and the wait for the next one take, also if the store is away. */
const stoppedMs = 3_000

/** Keeps a registry of this process the same as the rows of a store that processes share. */
export function follow({ look, onMessage, clock, outage }: FollowOptions): Following {
  const stop = new AbortController()
  const bell = openBell(clock)
  const leave = onMessage(bell.ring)
  let lookedAt = clock.now()
  let catching: Promise<void> | undefined

  async function keepLooking(): Promise<void> {
    while (!stop.signal.aborted) {
      await bell.wait(lookMs, stop.signal)
      bell.mute()
      if (stop.signal.aborted) return
      lookedAt = clock.now()
      try {
        await look()
        outage.worked()
      } catch (error) {
        outage.failed({ cause: Problem.from(error) })
      }
    }
  }
  const looking = keepLooking()
  return {
    catchUp() {
      // The clock may have been set back.
      if (!catching && Math.abs(clock.now() - lookedAt) < stoppedMs) return undefined
      lookedAt = clock.now()
      // A failure is reported by the next look.
      catching ??= look()
        .catch(() => {})
        .finally(() => {
          catching = undefined
        })
      return catching
    },
    async [Symbol.asyncDispose]() {
      leave()
      stop.abort()
      await looking
    },
  }
}

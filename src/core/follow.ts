import { openBell } from './bell.ts'
import type { Clock } from './clock.ts'
import { Problem } from './problem.ts'

/** How often a process looks for changes of other processes. A message makes it look at once, but may be lost. */
const lookMs = 500

interface FollowOptions {
  /** Applies what other processes changed since the last call. */
  look: () => Promise<void>
  /** Calls back soon after another process may have changed something. Returns a function that ends this. */
  onMessage: (listener: () => void) => () => void
  clock: Clock
  /** Called when a look fails after one that succeeded. */
  onLost: (cause: Problem) => void
}

/** Keeps a registry of this process the same as the rows of a store that processes share. */
export function follow({ look, onMessage, clock, onLost }: FollowOptions): AsyncDisposable {
  const stop = new AbortController()
  const bell = openBell(clock)
  const leave = onMessage(bell.ring)
  let isLost = false

  async function keepLooking(): Promise<void> {
    while (!stop.signal.aborted) {
      await bell.wait(lookMs, stop.signal)
      bell.mute()
      if (stop.signal.aborted) return
      try {
        await look()
        isLost = false
      } catch (error) {
        if (!isLost) onLost(Problem.from(error))
        isLost = true
      }
    }
  }
  const looking = keepLooking()
  return {
    async [Symbol.asyncDispose]() {
      leave()
      stop.abort()
      await looking
    },
  }
}

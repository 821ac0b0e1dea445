import type { Clock } from './clock.ts'

/** Ends a wait. A ring since the last `mute` counts, so a ring between a look and the wait is not lost. */
export interface Bell {
  ring(): void
  mute(): void
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/** Two waits end at least `restMs` apart, however often it rings. A ring after a pause ends a wait at once. */
export function openBell(clock: Clock, restMs = 0): Bell {
  let rung = Promise.withResolvers<void>()
  let endedAt = Number.NEGATIVE_INFINITY
  const rest = async (signal: AbortSignal) => {
    const left = endedAt + restMs - clock.now()
    // The clock may have been set back.
    if (left > 0 && left <= restMs) await clock.sleep(left, signal)
    endedAt = clock.now()
  }
  return {
    ring: () => rung.resolve(),
    mute() {
      rung = Promise.withResolvers<void>()
    },
    async wait(ms, signal) {
      if (signal.aborted) return
      // Not AbortSignal.any: it leaves a trace in each of its signals until it is collected, and a busy bell waits often.
      const wake = new AbortController()
      const end = () => wake.abort(awake)
      signal.addEventListener('abort', end, { once: true })
      await Promise.race([rung.promise, clock.sleep(ms, wake.signal)])
      await rest(wake.signal)
      signal.removeEventListener('abort', end)
      end()
    },
  }
}

/** A reason costs less than the error that `abort` creates without one. */
const awake = Symbol('awake')

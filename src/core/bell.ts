import type { Clock } from './clock.ts'

/** Ends a wait. A ring since the last `mute` counts, so a ring between a look and the wait is not lost. */
export interface Bell {
  ring(): void
  mute(): void
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/**
 * Two waits end at least `restMs` apart, however often it rings. A ring after a pause ends a wait at once. If the work
 * between two waits takes long, because a database is busy, they end further apart: looking at it less often helps it.
 */
export function openBell(clock: Clock, restMs = 0): Bell {
  let rung = Promise.withResolvers<void>()
  let endedAt = Number.NEGATIVE_INFINITY
  const rest = async (apartMs: number, signal: AbortSignal) => {
    const left = endedAt + apartMs - clock.now()
    // The clock may have been set back.
    if (left > 0 && left <= apartMs) await clock.sleep(left, signal)
    endedAt = clock.now()
  }
  return {
    ring: () => rung.resolve(),
    mute() {
      rung = Promise.withResolvers<void>()
    },
    async wait(ms, signal) {
      if (signal.aborted) return
      const workedMs = clock.now() - endedAt
      const apartMs = Math.min(longest * restMs, Math.max(restMs, longest * workedMs))
      // Not AbortSignal.any: it leaves a trace in each of its signals until it is collected, and a busy bell waits often.
      const wake = new AbortController()
      const end = () => wake.abort(awake)
      signal.addEventListener('abort', end, { once: true })
      await Promise.race([rung.promise, clock.sleep(ms, wake.signal)])
      await rest(apartMs, wake.signal)
      signal.removeEventListener('abort', end)
      end()
    },
  }
}

/** The longest rest, in shortest ones. Work takes up to this part of the time. */
const longest = 5

/** A reason costs less than the error that `abort` creates without one. */
const awake = Symbol('awake')

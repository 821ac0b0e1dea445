import type { Clock } from './clock.ts'

/** Ends a wait. A ring since the last `mute` counts, so a ring between a look and the wait is not lost. */
export interface Bell {
  ring(): void
  mute(): void
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/** How far apart two waits end, however often it rings. A ring after a pause ends a wait at once. */
export interface Rests {
  leastMs(): number
  /** If the work between two waits takes long, because a database is busy: looking at it less often helps it. */
  readonly mostMs: number
}

export function openBell(clock: Clock, rests: Rests = noRests): Bell {
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
      const apartMs = Math.min(rests.mostMs, Math.max(rests.leastMs(), workShare * workedMs))
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

const noRests: Rests = { leastMs: () => 0, mostMs: 0 }

/** Work takes up to one part in so many of the time. */
const workShare = 5

/** A reason costs less than the error that `abort` creates without one. */
const awake = Symbol('awake')

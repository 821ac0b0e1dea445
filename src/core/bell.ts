import { type Clock, chance, type Random } from './clock.ts'

/** Ends a wait. A ring since the last `mute` counts, so a ring between a look and the wait is not lost. */
export interface Bell {
  ring(): void
  mute(): void
  /** `isShort`: ends `leastMs` after the last wait at the earliest, because more work is probably due. */
  wait(ms: number, signal: AbortSignal, isShort?: boolean): Promise<void>
}

/** How far apart two waits end, however often it rings. A ring after a pause ends a wait at once. */
export interface Spacing {
  readonly leastMs: number
  /** Read at each wait. */
  usualMs(): number
  /** The limit of `usualMs`, and of the longer time after long work, which spares a busy database. */
  readonly longestMs: number
}

/**
 * For processes that share a store. The looks of several would each find little, and cost the database as much as the tasks, so
 * their number hardly grows with the processes. At random, because a message of the database wakes all at the same moment.
 */
export function sharedSpacing(processes: () => number, random: Random): Spacing {
  return {
    leastMs,
    usualMs() {
      const meanMs = Math.min(longestMeanMs, leastMs * processes())
      const shortestMs = Math.max(leastMs, 2 * meanMs - longestMs)
      return shortestMs + 2 * (meanMs - shortestMs) * chance(random)
    },
    longestMs,
  }
}

const [leastMs, longestMeanMs, longestMs] = [50, 200, 250]

export function openBell(clock: Clock, spacing: Spacing = noSpacing): Bell {
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
    async wait(ms, signal, isShort = false) {
      if (signal.aborted) return
      const workedMs = clock.now() - endedAt
      const shortestMs = isShort ? spacing.leastMs : spacing.usualMs()
      const apartMs = Math.min(spacing.longestMs, Math.max(shortestMs, workFactor * workedMs))
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

const noSpacing: Spacing = { leastMs: 0, usualMs: () => 0, longestMs: 0 }

/** After long work, waits end this many times its length apart. */
const workFactor = 5

/** A reason costs less than the error that `abort` creates without one. */
const awake = Symbol('awake')

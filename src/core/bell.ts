import type { Clock } from './clock.ts'

/** Ends a wait. A ring since the last `mute` counts, so a ring between a look and the wait is not lost. */
export interface Bell {
  ring(): void
  mute(): void
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export function openBell(clock: Clock): Bell {
  let rung = Promise.withResolvers<void>()
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
      signal.removeEventListener('abort', end)
      end()
    },
  }
}

/** A reason costs less than the error that `abort` creates without one. */
const awake = Symbol('awake')

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
      const wake = new AbortController()
      await Promise.race([rung.promise, clock.sleep(ms, AbortSignal.any([wake.signal, signal]))])
      wake.abort()
    },
  }
}

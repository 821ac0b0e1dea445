import type { Clock } from './clock.ts'

/** Wakes the one who waits. A ring since `mute` counts: nothing is missed that happened while he looked around. */
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
      const nap = new AbortController()
      await Promise.race([rung.promise, clock.sleep(ms, AbortSignal.any([nap.signal, signal]))])
      nap.abort()
    },
  }
}

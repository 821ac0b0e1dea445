import type { Clock } from './clock.ts'

/** A clock that only `advance` moves. */
export interface ManualClock extends Clock {
  advance(ms: number): void
}

export function manualClock(start = 0): ManualClock {
  let now = start
  const sleepers = new Set<{ until: number; wake: () => void }>()
  return {
    now: () => now,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const sleeper = { until: now + ms, wake: resolve }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper)
          resolve()
        })
      })
    },
    advance(ms) {
      now += ms
      for (const sleeper of sleepers) {
        if (sleeper.until > now) continue
        sleepers.delete(sleeper)
        sleeper.wake()
      }
    },
  }
}

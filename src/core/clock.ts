/** Time and randomness are passed in, so that tests control them. Only `main.ts` creates the real ones. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms`, or at once when the signal aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Waits until the work has ended, but not longer than this. */
export async function waitAtMost(ms: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  const ended = new AbortController()
  await Promise.race([work, clock.sleep(ms, ended.signal)])
  ended.abort()
}

/** Returns that many unpredictable bytes. */
export type Random = (bytes: number) => Uint8Array

/** A random number in [0, 1). */
export function chance(random: Random): number {
  const [a = 0, b = 0, c = 0] = random(3)
  return ((a << 16) | (b << 8) | c) / 0x1000000
}

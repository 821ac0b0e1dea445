/** How many requests of a kind a token may make in a minute. */
export interface Rate {
  readonly perMinute: number
}

/** What is left of it: an allowance that fills evenly and holds a minute's worth. Times are milliseconds. */
export interface Allowance {
  left: number
  at: number
}

export function fullAllowance({ perMinute }: Rate, now: number): Allowance {
  return { left: perMinute, at: now }
}

/** As it is by now. A clock that was set back fills nothing. */
export function refill({ left, at }: Allowance, { perMinute }: Rate, now: number): Allowance {
  return { left: Math.min(perMinute, left + (Math.max(0, now - at) * perMinute) / 60_000), at: now }
}

/** Takes one, or says how long until there is one. */
export function takeOne(allowance: Allowance, rate: Rate, now: number): { allowance: Allowance; waitMs: number } {
  const filled = refill(allowance, rate, now)
  const waitMs = waitFor(1, filled, rate)
  return { allowance: waitMs > 0 ? filled : { ...filled, left: filled.left - 1 }, waitMs }
}

/** How long until that many are there. */
export function waitFor(wanted: number, { left }: Allowance, { perMinute }: Rate): number {
  return Math.max(0, Math.ceil(((wanted - left) * 60_000) / perMinute))
}

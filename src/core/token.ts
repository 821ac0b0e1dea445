import { hash } from 'node:crypto'
import type { Random } from './clock.ts'
import type { SpendCap } from './spend.ts'

/** An access token. Only the digest of its secret is stored. */
export interface Token {
  /** An operator sees and manages all tasks, and can't create videos. */
  readonly kind: 'client' | 'operator'
  /** The owner of its tasks: a new secret with the same name sees the same videos. */
  readonly name: string
  readonly digest: string
  /** Globs of model names; `*` stands for any run of characters. */
  readonly models: readonly string[]
  /** How many of its tasks may run at once; by default, as many as there are slots. */
  readonly concurrency?: number
  /** How many videos it may create in a minute; 0: no limit; by default, the rate of the service. */
  readonly rate?: number
  /** How much its videos may cost; by default, any amount. */
  readonly spend?: readonly SpendCap[]
  /** What happens to an unknown parameter; by default, the setting of the service. */
  readonly unknownParameters?: UnknownParameters
}

/** Refuse the request, or leave the parameter out and add a warning. */
export type UnknownParameters = 'refuse' | 'warn'

export function digestSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** `fg_` and 40 characters of base62: about 238 bits. */
export function newSecret(random: Random): string {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let text = 'fg_'
  while (text.length < 43) {
    for (const byte of random(64)) {
      // 248 = 4 × 62: greater bytes would make the first letters more likely.
      if (byte < 248 && text.length < 43) text += alphabet[byte % 62]
    }
  }
  return text
}

/** Only these secrets can be sent in a header: HTTP trims it, and only ASCII is safe. */
export function isPossibleSecret(text: string): boolean {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
}

export function matchesGlob(glob: string, name: string): boolean {
  const parts = glob.split('*')
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (parts.length === 1) return glob === name
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let from = first.length
  for (const part of parts.slice(1, -1)) {
    const at = name.indexOf(part, from)
    if (at < 0 || at + part.length > name.length - last.length) return false
    from = at + part.length
  }
  return true
}

/** How many requests of one kind a token may send in a minute. */
export interface Rate {
  readonly perMinute: number
}

/** The requests that are left. They refill evenly, up to one minute's worth. Times are milliseconds. */
export interface Allowance {
  left: number
  at: number
}

export function fullAllowance({ perMinute }: Rate, now: number): Allowance {
  return { left: perMinute, at: now }
}

/** The allowance now. If the clock was set back, nothing is refilled. */
export function refill({ left, at }: Allowance, { perMinute }: Rate, now: number): Allowance {
  return { left: Math.min(perMinute, left + (Math.max(0, now - at) * perMinute) / 60_000), at: now }
}

/** Takes one request, or says how long until one is available. */
export function takeOne(allowance: Allowance, rate: Rate, now: number): { allowance: Allowance; waitMs: number } {
  const filled = refill(allowance, rate, now)
  const waitMs = waitFor(1, filled, rate)
  return { allowance: waitMs > 0 ? filled : { ...filled, left: filled.left - 1 }, waitMs }
}

/** How long until that many requests are available. */
export function waitFor(wanted: number, { left }: Allowance, { perMinute }: Rate): number {
  return Math.max(0, Math.ceil(((wanted - left) * 60_000) / perMinute))
}

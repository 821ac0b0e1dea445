import { hash } from 'node:crypto'
import type { Random } from './clock.ts'
import type { SpendCap } from './spend.ts'

/** What an operator sets for a token. Null stands for the default. */
export interface TokenFields {
  /** Tokens of a project share its videos. A token without a project is its own project. */
  readonly project: string | null
  /** Globs of model names; `*` stands for any run of characters. */
  readonly models: readonly string[]
  /** How many videos it may create in a minute; 0: no limit; by default, the rate of the service. */
  readonly rate: number | null
  /** How many tasks of its project may run at once; by default, as many as there are slots. */
  readonly concurrency: number | null
  /** How many tasks of its project may wait when it creates one; 0: no limit; by default, the setting of the service. */
  readonly queued: number | null
  /** How many bytes of its project may be stored when it creates a video; 0: no limit; by default, as for `queued`. */
  readonly storedBytes: number | null
  /** The addresses and ranges that it may be used from; by default, all. */
  readonly ipRanges: readonly string[] | null
  /** How much the videos of its project may cost; by default, any amount. */
  readonly spend: readonly SpendCap[] | null
  readonly expiresAt: number | null
  readonly enabled: boolean
  /** Of an operator token; by default `admin`. */
  readonly role: OperatorRole | null
  /** Names and values that the service does not use. */
  readonly metadata: Readonly<Record<string, string>> | null
}

/** The settings of a client token that an operator has set nothing for. */
export const plainFields: TokenFields = {
  project: null,
  models: ['*'],
  rate: null,
  concurrency: null,
  queued: null,
  storedBytes: null,
  ipRanges: null,
  spend: null,
  expiresAt: null,
  enabled: true,
  role: null,
  metadata: null,
}

/** An access token. Only digests of its secrets are stored. */
export interface Token extends Partial<TokenFields> {
  /** An operator sees and manages all tasks, and can't create videos. */
  readonly kind: TokenKind
  readonly name: string
  /** Of its newest secret. */
  readonly digest: string
  /** Earlier secrets, each valid until its time. */
  readonly older?: readonly OldSecret[]
  readonly models: readonly string[]
  /** Its public id. Only tokens of the store have one. */
  readonly id?: string
  readonly revokedAt?: number | null
  /** What happens to an unknown parameter; by default, the setting of the service. */
  readonly unknownParameters?: UnknownParameters
}

/** A token that was created while the service ran, or that a start generated. */
export interface StoredToken extends TokenFields {
  readonly kind: TokenKind
  readonly name: string
  readonly digest: string
  readonly older: readonly OldSecret[]
  readonly id: string
  readonly createdAt: number
  readonly changedAt: number
  readonly revokedAt: number | null
  /** Each change of any token gets the next number. */
  readonly revision: number
}

interface OldSecret {
  readonly digest: string
  readonly until: number
}

export const tokenKinds = ['client', 'operator'] as const
export type TokenKind = (typeof tokenKinds)[number]

/** The names of the tokens that FILMGATE_TOKEN and FILMGATE_OPERATOR_TOKEN set, or that a start generates. */
export const generatedNames: Readonly<Record<TokenKind, string>> = { client: 'default', operator: 'operator' }

/** A viewer may send every GET that an admin may, and nothing else: no quotes, for example. */
export const operatorRoles = ['admin', 'viewer'] as const
type OperatorRole = (typeof operatorRoles)[number]

/** `overridden`: the configuration has a token of the same name, which is used instead. */
export const tokenStatuses = ['active', 'disabled', 'expired', 'overridden', 'revoked'] as const
export type TokenStatus = (typeof tokenStatuses)[number]

/** The largest limits of a token. To count more waiting tasks would take too long. */
export const mostQueuedTasks = 100_000
export const mostStoredBytes = 1e15

/** Waiting tasks are shown up to this number: counting takes a millisecond for each few thousand. */
export const mostCountedTasks = 10_000

/** Refuse the request, or leave the parameter out and add a warning. */
export type UnknownParameters = 'refuse' | 'warn'

/** Who owns the videos of a token. */
export function ownerOf({ project, id, name }: Token): string {
  return project ?? id ?? name
}

/** Of the secrets that the token has at that time: the current one, and replaced ones until their end. */
export function digestsOf({ digest, older = [] }: Token, now: number): string[] {
  return [digest, ...older.flatMap((one) => (now < one.until ? one.digest : []))]
}

/** The id that operators use. A configured token is known by its name. */
export function idOf({ id, name }: Pick<Token, 'id' | 'name'>): string {
  return id ?? `config:${name}`
}

export function digestSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** In order of creation. */
export function newTokenId(now: number, random: Random): string {
  const [a = 0, b = 0, c = 0] = random(3)
  const chance = (((a << 16) | (b << 8) | c) % 36 ** 4).toString(36).padStart(4, '0')
  return `tok_${now.toString(36).padStart(8, '0')}${chance}`
}

export function isTokenId(text: string): boolean {
  return /^tok_[0-9a-z]{12}$/.test(text)
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * `fg_`, the id of the token, 22 characters of base62 (131 bits), and a checksum of 6. The banner has room for all 44.
 */
export function newSecret(id: string, random: Random): string {
  let chance = ''
  while (chance.length < 22) {
    for (const byte of random(64)) {
      // 248 = 4 × 62: greater bytes would make the first letters more likely.
      if (byte < 248 && chance.length < 22) chance += alphabet[byte % 62]
    }
  }
  const text = `fg_${id.replace('tok_', '')}_${chance}`
  return text + checksumOf(text)
}

/** The id of the token that a secret of that form belongs to; null for another form, as configured secrets may have. */
export function idInSecret(secret: string): string | null {
  const [, id] = /^fg_([0-9a-z]{12})_/.exec(secret) ?? []
  return id === undefined ? null : `tok_${id}`
}

/** Whether the text has the form of a secret, but was not copied as a whole, or has a typo. */
export function isMistyped(secret: string): boolean {
  if (idInSecret(secret) === null) return false
  return secret.length !== 44 || checksumOf(secret.slice(0, -6)) !== secret.slice(-6)
}

/** 32 bits of its digest in base62. */
function checksumOf(text: string): string {
  let rest = Number.parseInt(digestSecret(text).slice(0, 8), 16)
  let checksum = ''
  for (let place = 0; place < 6; place += 1) {
    checksum = `${alphabet[rest % 62]}${checksum}`
    rest = Math.floor(rest / 62)
  }
  return checksum
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

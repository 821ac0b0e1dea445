import { hash } from 'node:crypto'
import type { Random } from './clock.ts'

/** An access token. Only the digest of its secret is ever kept. */
export interface Token {
  /** An operator sees and decides what concerns all tasks, and makes none. */
  readonly kind: 'client' | 'operator'
  /** Owns the tasks: a new secret under the same name sees the same videos. */
  readonly name: string
  readonly digest: string
  /** Globs of model names; `*` stands for any run of characters. */
  readonly models: readonly string[]
  /** How many of its tasks may be in work at once; as many as there are slots if nothing is said. */
  readonly concurrency?: number
  /** How many videos it may ask for in a minute; 0 is no limit, and nothing is what the service says. */
  readonly rate?: number
  /** What becomes of a parameter that is not known; nothing is what the service says. */
  readonly unknownParameters?: UnknownParameters
}

/** Refuse the request, or leave the parameter out and warn of that. */
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
      // 248 = 4 × 62: bytes above it would make the first letters likelier.
      if (byte < 248 && text.length < 43) text += alphabet[byte % 62]
    }
  }
  return text
}

/** HTTP trims a header and carries ASCII safely, so only such secrets can ever match. */
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

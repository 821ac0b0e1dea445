import type { Token } from './core/token.ts'

/** Tokens to add or to replace, and the digests of tokens to remove. */
interface TokenChange {
  set?: readonly Token[]
  remove?: readonly string[]
}

/**
 * The access tokens that are valid now. Every part of the service looks up a token, a rate or a cap when it needs one
 * and keeps no copy, so a change takes effect at once. `change` is the only way to change them.
 */
export interface Access {
  /** By the digest of its secret: the time that a comparison of digests takes says nothing about the secret. */
  find(digest: string): Token | undefined
  has(kind: Token['kind']): boolean
  /** Whether a client token has this name. Always true in a process that never had a client token, such as a worker. */
  knows(owner: string): boolean
  /** How many videos the token may create per minute; 0 means no limit. */
  rateOf(token: Token): number
  /** How many tasks an owner may have running at once, for each owner that has such a limit. */
  ownerCaps(): Readonly<Record<string, number>>
  change(change: TokenChange): void
  /** Calls the listener after each change, before `change` returns. */
  onChange(listener: () => void): void
}

/** `ratePerMinute` applies to tokens without a rate of their own. */
export function openAccess({ tokens = [] as readonly Token[], ratePerMinute = 0 } = {}): Access {
  const byDigest = new Map<string, Token>()
  const listeners: (() => void)[] = []
  let owners: ReadonlySet<string> = new Set()
  let caps: Readonly<Record<string, number>> = {}
  let hadOwners = false

  const change = ({ set = [], remove = [] }: TokenChange): void => {
    for (const digest of remove) byDigest.delete(digest)
    for (const token of set) byDigest.set(token.digest, token)
    const clients = [...byDigest.values()].filter(({ kind }) => kind === 'client')
    owners = new Set(clients.map(({ name }) => name))
    hadOwners ||= owners.size > 0
    caps = Object.fromEntries(
      clients.flatMap(({ name, concurrency }) => (concurrency === undefined ? [] : [[name, concurrency]])),
    )
    for (const listener of listeners) listener()
  }
  change({ set: tokens })

  return {
    find: (digest) => byDigest.get(digest),
    has: (kind) => [...byDigest.values()].some((token) => token.kind === kind),
    knows: (owner) => !hadOwners || owners.has(owner),
    rateOf: ({ rate }) => rate ?? ratePerMinute,
    ownerCaps: () => caps,
    change,
    onChange: (listener) => void listeners.push(listener),
  }
}

import { idOf, ownerOf, type Token, type TokenStatus } from './core/token.ts'

/** Tokens to add or to replace, and the ids of tokens to remove (`idOf`). */
interface TokenChange {
  set?: readonly Token[]
  remove?: readonly string[]
}

/** What a secret opens. */
export interface Credential {
  readonly token: Token
  /** Of the secret: while one is replaced, a token has two. */
  readonly digest: string
  /** When the secret or the token ends; null if neither ends. */
  readonly until: number | null
}

/**
 * The access tokens that exist now. Every part of the service looks up a token, a rate or a cap when it needs one and
 * keeps no copy, so a change takes effect at once. `change` is the only way to change them.
 */
export interface Access {
  /** By the digest of its secret: the time that a comparison of digests takes says nothing about the secret. */
  find(digest: string): Credential | undefined
  /** The token with this id (`idOf`). */
  token(id: string): Token | undefined
  /** All tokens: configured ones first, then those of the store, the newest first. */
  all(): readonly Token[]
  /** What a token is at that time. Only an active one opens anything. */
  statusOf(token: Token, now: number): TokenStatus
  /** Whether there is a token of this kind that is not revoked. */
  has(kind: Token['kind']): boolean
  /** Whether a client token of this owner exists. Always true in a process that never had a client token. */
  knows(owner: string): boolean
  /** How many videos the token may create per minute; 0 means no limit. */
  rateOf(token: Token): number
  /** How many tasks of its project may wait when the token creates one; undefined: no limit. */
  mostQueued(token: Token): number | undefined
  /** How many bytes of its project may be stored when the token creates a video; undefined: no limit. */
  mostStored(token: Token): number | undefined
  /** How many tasks an owner may have running at once at that time, for each owner that has such a limit. */
  ownerCaps(now: number): Readonly<Record<string, number>>
  change(change: TokenChange): void
  /** Calls the listener after each change, before `change` returns. */
  onChange(listener: () => void): void
}

/** What follows from all tokens together. */
interface Derived {
  all: readonly Token[]
  /** The names of configured tokens. A token of the store with such a name is not used. */
  configured: ReadonlySet<string>
  owners: ReadonlySet<string>
  revoked: ReadonlySet<string>
  /** Client tokens, revoked ones too. */
  clients: readonly Token[]
}

interface AccessOptions {
  tokens?: readonly Token[]
  /** For tokens without a rate of their own. */
  ratePerMinute?: number
  /** How many tasks of a project may wait, for tokens without a limit of their own; 0: no limit. */
  queued?: number
  /** The same for stored bytes. */
  storedBytes?: number
  /** Other processes have client tokens that this one was not given: a worker may be configured without them. */
  isPartial?: boolean
}

export function openAccess(options: AccessOptions = {}): Access {
  const { tokens = [], ratePerMinute = 0, queued: usualQueued = 0, storedBytes: usualBytes = 0 } = options
  const { isPartial = false } = options
  const byId = new Map<string, Token>()
  const byDigest = new Map<string, Credential>()
  const listeners: (() => void)[] = []
  let hadClients = false
  // Derived when it is needed: many tokens may change in a row.
  let derived: Derived | undefined
  let caps: Caps | undefined
  const current = () => {
    derived ??= derive([...byId.values()])
    return derived
  }

  const drop = (id: string): void => {
    const token = byId.get(id)
    byId.delete(id)
    for (const { digest } of token ? [token, ...(token.older ?? [])] : [])
      if (byDigest.get(digest)?.token === token) byDigest.delete(digest)
  }
  const add = (token: Token): void => {
    byId.set(idOf(token), token)
    const { expiresAt = null, older = [] } = token
    const sooner = (until: number) => (expiresAt === null ? until : Math.min(until, expiresAt))
    // A configured secret wins over the same one in the store.
    const put = (digest: string, until: number | null) => {
      if (token.id === undefined || byDigest.get(digest)?.token.id !== undefined || !byDigest.has(digest))
        byDigest.set(digest, { token, digest, until })
    }
    for (const { digest, until } of older) put(digest, sooner(until))
    put(token.digest, expiresAt)
    hadClients ||= token.kind === 'client' && isLive(token)
  }
  const change = ({ set = [], remove = [] }: TokenChange): void => {
    for (const id of remove) drop(id)
    for (const token of set) {
      if (isOlder(token, byId.get(idOf(token)))) continue
      drop(idOf(token))
      add(token)
    }
    derived = undefined
    caps = undefined
    for (const listener of listeners) listener()
  }
  change({ set: tokens })

  return {
    find: (digest) => byDigest.get(digest),
    token: (id) => byId.get(id),
    all: () => current().all,
    statusOf: (token, at) => statusAt(token, current().configured, at),
    has: (kind) => current().all.some((token) => token.kind === kind && isLive(token)),
    knows: (owner) => current().owners.has(owner) || (isPartial ? !current().revoked.has(owner) : !hadClients),
    rateOf: ({ rate }) => rate ?? ratePerMinute,
    mostQueued: ({ queued }) => (queued ?? usualQueued) || undefined,
    mostStored: ({ storedBytes }) => (storedBytes ?? usualBytes) || undefined,
    ownerCaps(now) {
      // The clock may have been set back.
      if (!caps || now < caps.from || now >= caps.until) caps = deriveCaps(current(), now)
      return caps.byOwner
    },
    change,
    onChange: (listener) => void listeners.push(listener),
  }
}

/** A token may be read before a change of it is committed, and arrive here after that change. */
function isOlder(token: Token, known: Token | undefined): boolean {
  const revisionOf = (one: Token | undefined) => (one && 'revision' in one ? Number(one.revision) : 0)
  return revisionOf(token) < revisionOf(known)
}

function derive(tokens: readonly Token[]): Derived {
  const clients = tokens.filter(({ kind }) => kind === 'client')
  const [live, revoked] = [clients.filter(isLive), clients.filter((token) => !isLive(token))]
  const owners = new Set(live.map(ownerOf))
  return {
    all: tokens.toSorted(byAge),
    configured: new Set(tokens.filter(({ id }) => id === undefined).map(({ name }) => name)),
    owners,
    revoked: new Set(revoked.map(ownerOf).filter((owner) => !owners.has(owner))),
    clients,
  }
}

function statusAt(token: Token, configured: ReadonlySet<string>, at: number): TokenStatus {
  const { revokedAt = null, expiresAt = null } = token
  if (revokedAt !== null) return 'revoked'
  if (token.id !== undefined && configured.has(token.name)) return 'overridden'
  if (token.enabled === false) return 'disabled'
  return expiresAt !== null && at >= expiresAt ? 'expired' : 'active'
}

/** The caps of owners, from a time until a token expires. */
interface Caps {
  byOwner: Readonly<Record<string, number>>
  from: number
  until: number
}

/**
 * Tokens of a project share its tasks: the largest cap applies, and a token without a cap lifts it. Only active tokens
 * count. If a project has none, the smallest cap of its tokens stays in force for the tasks that are left.
 */
function deriveCaps({ clients, configured }: Derived, now: number): Caps {
  const byOwner = [...Map.groupBy(clients, ownerOf)].flatMap(([owner, all]) => {
    const active = all.filter((token) => statusAt(token, configured, now) === 'active')
    const caps = (active.length > 0 ? active : all).map(({ concurrency }) => concurrency ?? Number.POSITIVE_INFINITY)
    const cap = caps.reduce((a, b) => (active.length > 0 ? Math.max(a, b) : Math.min(a, b)))
    return Number.isFinite(cap) ? [[owner, cap] as const] : []
  })
  const until = clients
    .map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY)
    .filter((at) => at > now)
    .reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  return { byOwner: Object.fromEntries(byOwner), from: now, until }
}

function isLive({ revokedAt = null }: Token): boolean {
  return revokedAt === null
}

/** Configured tokens stay in their order, before the others. */
function byAge(a: Token, b: Token): number {
  if (a.id === undefined || b.id === undefined) return Number(a.id !== undefined) - Number(b.id !== undefined)
  return a.id < b.id ? 1 : -1
}

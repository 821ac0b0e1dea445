import type { Access } from '../access.ts'
import type { Random } from '../core/clock.ts'
import {
  digestSecret,
  generatedNames,
  newSecret,
  newTokenId,
  plainFields,
  type StoredToken,
  type Token,
} from '../core/token.ts'
import type { NewToken, TokenStore } from '../stores/store.ts'

/* Reads the tokens from the configuration and the store when the service starts, or generates them if none exists. */

/** Executes a write now, or later if the store can't be written yet. */
type Write = (description: string, write: () => Promise<unknown>) => Promise<unknown>
type Warn = (event: string, fields: Record<string, unknown>) => void

interface Gathering {
  store: TokenStore
  now: number
  write: Write
  warn: Warn
}

/**
 * The configured tokens, and those of the store. If a token of a kind is configured, the generated one of that kind is
 * revoked: it must not stay valid beside the operator's own. Clients may still use it, so the log warns.
 */
export async function gatherTokens(
  configured: readonly Token[],
  { store, now, write, warn }: Gathering,
): Promise<{ tokens: Token[]; revision: number }> {
  const stored = await store.tokens()
  const live = stored.filter(({ revokedAt }) => revokedAt === null)
  for (const { name, kind, digest } of configured) {
    const same = live.find((token) => token.digest === digest && token.kind !== kind)
    if (same)
      throw new Error(
        `the ${kind} token '${name}' has the same secret as the ${same.kind} token '${same.name}'; choose another secret`,
      )
  }
  const generated = new Set(configured.map(({ kind }) => generatedNames[kind]))
  const replaced = live.filter(({ name }) => generated.has(name))
  for (const token of replaced) {
    const { name, kind, digest } = token
    const revoked = { ...token, revokedAt: now, changedAt: now }
    await write(`the generated token '${name}' is revoked`, () => store.updateToken(revoked, null))
    if (!configured.some((token) => token.digest === digest))
      warn(`the generated token '${name}' is no longer valid, because another is configured`, {
        fix: `to keep it, set ${kind === 'client' ? 'FILMGATE_TOKEN' : 'FILMGATE_OPERATOR_TOKEN'} to its secret`,
      })
  }
  warnOfNames(live, configured, warn)
  const others = stored.map((token) => (replaced.includes(token) ? { ...token, revokedAt: now } : token))
  return { tokens: [...others, ...configured], revision: stored.at(-1)?.revision ?? 0 }
}

/** The token of the configuration is used. */
function warnOfNames(stored: readonly StoredToken[], configured: readonly Token[], warn: Warn): void {
  const generated = Object.values(generatedNames)
  for (const { id, name } of stored)
    if (!generated.includes(name) && configured.some((token) => token.name === name))
      warn(`the token '${name}' of the store is not valid, because the configuration has a token of that name`, {
        token: id,
        fix: 'rename one of them, or revoke the token of the store',
      })
}

/**
 * Generates a token if none of that kind exists, and returns its secret; null if another process generated it. Call it
 * only after the service listens: a failed start can't show the secret.
 */
export async function generateToken(
  kind: Token['kind'],
  access: Pick<Access, 'has' | 'change'>,
  { store, now, random }: { store: TokenStore; now: number; random: Random },
): Promise<string | null> {
  if (access.has(kind)) return null
  const id = newTokenId(now, random)
  const secret = newSecret(id, random)
  const name = generatedNames[kind]
  const token: NewToken = {
    ...{ ...plainFields, project: name, models: kind === 'client' ? ['*'] : [] },
    ...{ id, kind, name, digest: digestSecret(secret), older: [], createdAt: now, changedAt: now, revokedAt: null },
  }
  const insert = () => store.insertToken(token, null)
  // The first insert may still be running if its response was lost. The second waits for it, and finds the name in use.
  const inserted = await insert().catch(insert)
  const stored = inserted ?? (await store.tokens()).findLast((one) => one.name === name && one.revokedAt === null)
  if (!stored) throw new Error(`the token '${name}' was created and revoked by another process; start again`)
  access.change({ set: [stored] })
  // Either another process of the same store was quicker and shows its own secret, or the stored token is ours.
  return stored.digest === token.digest ? secret : null
}

/** No token can be generated if the store can't be written. Without a client token, no client could read anything. */
export function requireToken(kind: Token['kind'], access: Pick<Access, 'has'>): null {
  if (kind === 'client' && !access.has('client'))
    throw new Error(
      "there is no token, and none can be generated because the store can't be written; set FILMGATE_TOKEN",
    )
  return null
}

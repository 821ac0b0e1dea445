import type { Access } from '../access.ts'
import { defaultTokenName, operatorTokenName } from '../config/tokens.ts'
import type { Random } from '../core/clock.ts'
import { digestSecret, newSecret, type Token } from '../core/token.ts'
import type { Store } from '../stores/store.ts'

/* Reads the tokens from the configuration and the store when the service starts, or generates them if none exists. */

const generatedNames = { client: defaultTokenName, operator: operatorTokenName }

/** Executes a write now, or later if the store can't be written yet. */
type Write = (description: string, write: () => Promise<unknown>) => Promise<unknown>
type Warn = (event: string, fields: Record<string, unknown>) => void

/**
 * The configured tokens, and those of the store. If a token of a kind is configured, the generated one of that kind is
 * deleted: it must not stay valid beside the operator's own. Clients may still use it, so the log warns.
 */
export async function gatherTokens(
  configured: readonly Token[],
  { store, write, warn }: { store: Store; write: Write; warn: Warn },
): Promise<Token[]> {
  const stored = await store.tokens()
  for (const { name, kind, digest } of configured) {
    const same = stored.find((token) => token.digest === digest && token.kind !== kind)
    if (same)
      throw new Error(
        `the ${kind} token '${name}' has the same secret as the ${same.kind} token '${same.name}'; choose another secret`,
      )
  }
  const replaced = new Set(configured.map(({ kind }) => generatedNames[kind]))
  const isReplaced = ({ name }: Token) => replaced.has(name)
  for (const { name, kind, digest } of stored.filter(isReplaced)) {
    await write(`the generated token '${name}' is deleted`, () => store.deleteToken(name))
    if (!configured.some((token) => token.digest === digest))
      warn(`the generated token '${name}' is no longer valid, because another is configured`, {
        fix: `to keep it, set ${kind === 'client' ? 'FILMGATE_TOKEN' : 'FILMGATE_OPERATOR_TOKEN'} to its secret`,
      })
  }
  return [...stored.filter((token) => !isReplaced(token)), ...configured]
}

/**
 * Generates a token if none of that kind exists, and returns its secret; null if another process generated it. Call it
 * only after the service listens: a failed start can't show the secret.
 */
export async function generateToken(
  kind: Token['kind'],
  access: Pick<Access, 'has' | 'change'>,
  { store, now, random }: { store: Store; now: number; random: Random },
): Promise<string | null> {
  if (access.has(kind)) return null
  const secret = newSecret(random)
  const models = kind === 'client' ? ['*'] : []
  const token: Token = { kind, name: generatedNames[kind], digest: digestSecret(secret), models }
  const insert = () => store.insertToken(token, now)
  try {
    // The first insert may still be running if its response was lost. The second waits for it, and one of them fails.
    await insert().catch(insert)
  } catch (error) {
    const stored = (await store.tokens()).find(({ name }) => name === token.name)
    if (!stored) throw error
    access.change({ set: [stored] })
    // Either another process of the same store was quicker and shows its own secret, or the stored token is ours.
    return stored.digest === token.digest ? secret : null
  }
  access.change({ set: [token] })
  return secret
}

/** No token can be generated if the store can't be written. Without a client token, no client could read anything. */
export function requireToken(kind: Token['kind'], access: Pick<Access, 'has'>): null {
  if (kind === 'client' && !access.has('client'))
    throw new Error(
      "there is no token, and none can be generated because the store can't be written; set FILMGATE_TOKEN",
    )
  return null
}

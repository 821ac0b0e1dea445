import type { Access } from '../access.ts'
import { defaultTokenName, operatorTokenName } from '../config/tokens.ts'
import type { Random } from '../core/clock.ts'
import { digestSecret, newSecret, type Token } from '../core/token.ts'
import type { Store } from '../stores/store.ts'

/* The tokens that a start reads from the configuration and the store, or generates where it finds none. */

const generatedNames = { client: defaultTokenName, operator: operatorTokenName }

/** Makes a write of the start, now or later. */
type Write = (what: string, write: () => Promise<unknown>) => Promise<unknown>

/**
 * The configured tokens, and those of the store. If a token of a kind is configured, the generated one of that kind is
 * deleted: it must not stay valid beside the operator's own.
 */
export async function gatherTokens(configured: readonly Token[], store: Store, write: Write): Promise<Token[]> {
  const stored = await store.tokens()
  for (const { name, kind, digest } of configured) {
    const same = stored.find((token) => token.digest === digest && token.kind !== kind)
    if (same)
      throw new Error(
        `the ${kind} token '${name}' is the secret of the ${same.kind} token '${same.name}'; choose another`,
      )
  }
  const replaced = new Set(configured.map(({ kind }) => generatedNames[kind]))
  const isReplaced = ({ name }: Token) => replaced.has(name)
  for (const { name } of stored.filter(isReplaced))
    await write(`the generated token '${name}' is deleted`, () => store.deleteToken(name))
  return [...stored.filter((token) => !isReplaced(token)), ...configured]
}

/**
 * Generates a token if none of that kind exists, and returns its secret; null if another process generated it. Only once
 * the service listens: a start that fails has nowhere to show the secret.
 */
export async function makeToken(
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
    // The first insert may still be running if its response was lost: the second waits for it, and one of them fails.
    await insert().catch(insert)
  } catch (error) {
    const stored = (await store.tokens()).find(({ name }) => name === token.name)
    if (!stored) throw error
    access.change({ set: [stored] })
    // Another process of the same store was quicker and shows its own secret; or the stored token is ours.
    return stored.digest === token.digest ? secret : null
  }
  access.change({ set: [token] })
  return secret
}

/** A store that can't be written takes no generated token. Without a client token, no client could read anything. */
export function needToken(kind: Token['kind'], access: Pick<Access, 'has'>): null {
  if (kind === 'client' && !access.has('client'))
    throw new Error(
      "there is no token, and the store can't be written, so that none can be generated; set FILMGATE_TOKEN",
    )
  return null
}

import { Problem } from '../core/problem.ts'
import { stepRows } from '../core/row.ts'
import {
  type SecretColumn,
  type SecretKeys,
  sealedPrefix,
  sealedWith,
  secretColumns,
  type Vault,
} from '../core/vault.ts'
import type { SecretStore, StoredSecret } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

interface RenewOptions {
  store: SecretStore
  keys: SecretKeys
  vault: Vault
  /** Where the key comes from if the setting has none; null if processes share the store. */
  file: string | null
  /** Executes a write now, or later if the store can't be written yet. */
  write: (description: string, write: () => Promise<unknown>) => Promise<unknown>
  log: Pick<Log, 'info' | 'warn'>
}

/** A secret that is in clear, or encrypted with another key than the first. */
interface Found extends StoredSecret {
  column: SecretColumn
  keyId: string | null
}

const mostNamed = 3

/**
 * Encrypts everything with the first key: secrets of an earlier version, which are in clear, and those of older keys.
 * Throws if there are secrets that no key of this process can read.
 */
export async function renewSecrets(options: RenewOptions): Promise<void> {
  const { store, keys, file, write, log } = options
  const first = keys.all()[0]?.id ?? ''
  const found = await findOthers(store, first)
  const known = new Set(keys.all().map(({ id }) => id))
  const lost = found.filter(({ keyId }) => keyId !== null && !known.has(keyId))
  if (lost.length > 0) throw new Error(describeLost(lost, options))
  if (first === '' && file === null) return warnOfClear(found, log)
  await write('secrets are encrypted', async () => {
    // Creates the key of the data folder, even if there is no secret yet.
    keys.current()
    let count = 0
    for (const secret of found) {
      const sealed = sealAgain(secret, options)
      if (sealed !== null && (await store.replaceSecret(secret.column, secret, sealed))) count += 1
    }
    if (count > 0) log.info('secrets were encrypted with the first key', { secrets: count })
  })
}

/** Null if it is damaged: that must not keep the service from starting. */
function sealAgain({ column, id, text }: Found, { vault, log }: RenewOptions): string | null {
  const place = { ...column, id }
  let secret: string
  try {
    secret = vault.open(text, place)
  } catch (error) {
    log.warn("a secret can't be read", { of: column.of, id, cause: Problem.from(error).cause })
    return null
  }
  return vault.seal(secret, place)
}

async function findOthers(store: SecretStore, keyId: string): Promise<Found[]> {
  const found: Found[] = []
  for (const column of Object.values(secretColumns) as SecretColumn[])
    for (let after = ''; ; ) {
      const page = await store.otherSecrets(column, sealedPrefix(keyId), { after, limit: stepRows })
      found.push(...page.map((secret) => ({ ...secret, column, keyId: sealedWith(secret.text) })))
      const last = page.at(-1)
      if (!last || page.length < stepRows) break
      after = last.id
    }
  return found
}

/** A shared store without a key: nothing new can be stored. */
function warnOfClear(found: readonly Found[], { warn }: RenewOptions['log']): void {
  if (found.length === 0) return
  warn('secrets are stored without encryption, because FILMGATE_SECRET_KEY is not set', {
    secrets: describe(found),
    fix: 'set it in every process, to the output of openssl rand -base64 32; no secret can be added without it',
  })
}

function describeLost(lost: readonly Found[], { keys, file }: RenewOptions): string {
  const needed = [...new Set(lost.map(({ keyId }) => keyId))].join(', ')
  const known = keys.all().map(({ id, from }) => `${id} of ${from}`)
  const restore = file === null ? '' : `restore ${file} from a backup of the data folder, or `
  return [
    `FILMGATE_SECRET_KEY: secrets can't be read: ${describe(lost)}.`,
    `This process has ${known.length === 0 ? 'no key' : `the keys ${known.join(', ')}`}.`,
    `They were encrypted with another key (id ${needed}); ${restore}add that key to FILMGATE_SECRET_KEY, after a comma.`,
    'If they came from a data folder, it is in its secret.key',
  ].join(' ')
}

/** `2 webhook endpoints (whe_1, whe_2)` */
function describe(found: readonly Found[]): string {
  const parts = Map.groupBy(found, ({ column }) => column.of)
  const texts = [...parts].map(([of, some]) => {
    const ids = [...new Set(some.map(({ id }) => id))]
    const named = ids.slice(0, mostNamed).join(', ') + (ids.length > mostNamed ? ', …' : '')
    return `${ids.length} ${of}${ids.length === 1 ? '' : 's'} (${named})`
  })
  return texts.join(', ')
}

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Random } from './core/clock.ts'
import { type Declaration, declarationId } from './core/declaration.ts'
import { messageOf, Problem } from './core/problem.ts'
import {
  newSecretKey,
  readSecretKeys,
  type SecretKey,
  type SecretKeys,
  type SecretPlace,
  secretColumns,
  type Vault,
} from './core/vault.ts'
import type { Endpoint } from './core/webhook.ts'
import { syncFolder } from './data-folder.ts'
import type { Store } from './stores/store.ts'

interface KeyOptions {
  /** The keys of FILMGATE_SECRET_KEY; none if it is not set. */
  given: readonly SecretKey[]
  /** The key file of the data folder; null if processes share the store, because each has a folder of its own. */
  file: string | null
  random: Random
}

/** The keys of the setting, then those of the file. Without both, the file is created when a key is first needed. */
export function openSecretKeys({ given, file, random }: KeyOptions): SecretKeys {
  const ofSetting = given.map((key) => ({ ...key, from: 'FILMGATE_SECRET_KEY' }))
  const ofFile = file === null ? [] : readKeyFile(file).map((key) => ({ ...key, from: file }))
  let keys = [...ofSetting, ...ofFile]
  return {
    all: () => keys,
    current() {
      if (keys.length === 0 && file !== null) keys = [{ ...createKeyFile(file, random), from: file }]
      const [key] = keys
      if (!key) throw noKey()
      return key
    },
  }
}

const howToSet = 'set it in every process, to the output of openssl rand -base64 32'

function noKey(): Problem {
  const message = 'This service has no key to encrypt secrets. Its operator has to set FILMGATE_SECRET_KEY.'
  return new Problem('storage_unavailable', message, {
    cause: new Error(`FILMGATE_SECRET_KEY is not set; ${howToSet}`),
    retryable: true,
  })
}

function readKeyFile(file: string): SecretKey[] {
  if (!existsSync(file)) return []
  let keys: SecretKey[] | undefined
  try {
    keys = readSecretKeys(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} can't be read (${messageOf(error)}); make it readable for this user`, { cause: error })
  }
  if (keys && keys.length > 0) return keys
  throw new Error(`${file} has no key of 32 bytes in base64; restore it from a backup`)
}

/** A key that is partial, or gone after a power cut, would lose what is encrypted with it: by a rename, and synced. */
function createKeyFile(file: string, random: Random): SecretKey {
  const key = newSecretKey(random)
  try {
    writeFileSync(`${file}.new`, `${Buffer.from(key.bytes).toString('base64')}\n`, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
    syncFolder(dirname(file))
  } catch (error) {
    rmSync(`${file}.new`, { force: true })
    throw Problem.ofStorage(error)
  }
  return key
}

interface SealOptions {
  vault: Vault
  warn: (event: string, fields: Record<string, unknown>) => void
}

/** How many unreadable rows are remembered, so that each is logged once. */
const mostWarned = 1_000

/** The same store, with its secrets encrypted in the database. */
export function withSealedSecrets(store: Store, options: SealOptions): Store {
  const endpoints = openEndpointSeals(options)
  const declarations = openDeclarationSeals(options)
  return {
    ...store,
    endpoints: async (owner, page) => (await store.endpoints(owner, page)).map(endpoints.open),
    async endpoint(owner, id) {
      const found = await store.endpoint(owner, id)
      return found && endpoints.open(found)
    },
    insertEndpoint: async (endpoint, most) =>
      store.insertEndpoint({ ...endpoint, ...endpoints.seal(endpoint.id, endpoint) }, most),
    async updateEndpoint(owner, id, change) {
      const changed = await store.updateEndpoint(owner, id, { ...change, ...endpoints.seal(id, change) })
      return changed && endpoints.open(changed)
    },
    async dueEndpoints(now) {
      const { endpoints: due, next } = await store.dueEndpoints(now)
      return { endpoints: due.flatMap(endpoints.openOrSkip), next }
    },
    declarations: async (since) => (await store.declarations(since)).flatMap(declarations.openOrSkip),
    async saveDeclaration(declaration, ...more) {
      const saved = await store.saveDeclaration(declarations.seal(declaration), ...more)
      return saved && declarations.open(saved)
    },
  }
}

function openEndpointSeals({ vault, warn }: SealOptions) {
  const { signing, oldSigning } = secretColumns
  const sealIn = (text: string | null, place: SecretPlace) => (text === null ? null : vault.seal(text, place))
  const open = (endpoint: Endpoint): Endpoint => {
    const { id, secret, oldSecret } = endpoint
    const opened = oldSecret === null ? null : vault.open(oldSecret, { ...oldSigning, id })
    return { ...endpoint, secret: vault.open(secret, { ...signing, id }), oldSecret: opened }
  }
  const event = "the signing secret of a webhook endpoint can't be read: its deliveries wait"
  return {
    open,
    /** An endpoint that can't be read must not stop the deliveries of the others. */
    openOrSkip: skipUnreadable(
      open,
      ({ id }) => id,
      (endpoint, cause) => warn(event, { endpoint, cause }),
    ),
    seal: (id: string, { secret, oldSecret }: Partial<Pick<Endpoint, 'secret' | 'oldSecret'>>) => ({
      ...(secret !== undefined && { secret: vault.seal(secret, { ...signing, id }) }),
      ...(oldSecret !== undefined && { oldSecret: sealIn(oldSecret, { ...oldSigning, id }) }),
    }),
  }
}

function openDeclarationSeals({ vault, warn }: SealOptions) {
  const placeOf = (declaration: Declaration) => ({ ...secretColumns.accountKey, id: declarationId(declaration) })
  const open = (declaration: Declaration): Declaration => {
    const { key } = declaration
    return key === null ? declaration : { ...declaration, key: vault.open(key, placeOf(declaration)) }
  }
  const event = "the key of an account can't be read: the account stays as it was in this process"
  return {
    open,
    openOrSkip: skipUnreadable(open, declarationId, (account, cause) => warn(event, { account, cause })),
    seal(declaration: Declaration): Declaration {
      const { key } = declaration
      return key === null ? declaration : { ...declaration, key: vault.seal(key, placeOf(declaration)) }
    },
  }
}

/** Opens a row, or leaves it out. `complain` is called once for each row. */
function skipUnreadable<Row>(
  open: (row: Row) => Row,
  idOf: (row: Row) => string,
  complain: (id: string, cause: unknown) => void,
): (row: Row) => Row[] {
  const known = new Set<string>()
  return (row) => {
    try {
      return [open(row)]
    } catch (error) {
      const id = idOf(row)
      if (!known.has(id) && known.size < mostWarned) complain(id, Problem.from(error).cause)
      known.add(id)
      return []
    }
  }
}

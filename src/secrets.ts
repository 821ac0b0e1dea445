import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Random } from './core/clock.ts'
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
  let keys = file === null ? given : [...given, ...readKeyFile(file)]
  return {
    all: () => keys,
    current() {
      if (keys.length === 0 && file !== null) keys = [createKeyFile(file, random)]
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

/** By a rename, because secrets that were encrypted with a partial key would be lost. */
function createKeyFile(file: string, random: Random): SecretKey {
  const key = newSecretKey(random)
  try {
    writeFileSync(`${file}.new`, `${Buffer.from(key.bytes).toString('base64')}\n`, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
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

/** How many unreadable endpoints are remembered, so that each is logged once. */
const mostWarned = 1_000

/** The same store, with its secrets encrypted in the database. */
export function withSealedSecrets(store: Store, { vault, warn }: SealOptions): Store {
  const { signing, oldSigning } = secretColumns
  const sealIn = (text: string | null, place: SecretPlace) => (text === null ? null : vault.seal(text, place))
  const seal = (id: string, { secret, oldSecret }: Partial<Pick<Endpoint, 'secret' | 'oldSecret'>>) => ({
    ...(secret !== undefined && { secret: vault.seal(secret, { ...signing, id }) }),
    ...(oldSecret !== undefined && { oldSecret: sealIn(oldSecret, { ...oldSigning, id }) }),
  })
  const open = (endpoint: Endpoint): Endpoint => {
    const { id, secret, oldSecret } = endpoint
    const opened = oldSecret === null ? null : vault.open(oldSecret, { ...oldSigning, id })
    return { ...endpoint, secret: vault.open(secret, { ...signing, id }), oldSecret: opened }
  }
  const warned = new Set<string>()
  /** An endpoint that can't be read must not stop the deliveries of the others. */
  const openOrSkip = (endpoint: Endpoint): Endpoint[] => {
    try {
      return [open(endpoint)]
    } catch (error) {
      if (!warned.has(endpoint.id) && warned.size < mostWarned)
        warn("the signing secret of a webhook endpoint can't be read: its deliveries wait", {
          endpoint: endpoint.id,
          cause: Problem.from(error).cause,
        })
      warned.add(endpoint.id)
      return []
    }
  }
  return {
    ...store,
    endpoints: async (owner, page) => (await store.endpoints(owner, page)).map(open),
    async endpoint(owner, id) {
      const found = await store.endpoint(owner, id)
      return found && open(found)
    },
    insertEndpoint: async (endpoint, most) =>
      store.insertEndpoint({ ...endpoint, ...seal(endpoint.id, endpoint) }, most),
    async updateEndpoint(owner, id, change) {
      const changed = await store.updateEndpoint(owner, id, { ...change, ...seal(id, change) })
      return changed && open(changed)
    },
    async dueEndpoints(now) {
      const { endpoints, next } = await store.dueEndpoints(now)
      return { endpoints: endpoints.flatMap(openOrSkip), next }
    },
  }
}

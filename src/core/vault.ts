import { createCipheriv, createDecipheriv, hash } from 'node:crypto'
import type { Random } from './clock.ts'
import { Problem } from './problem.ts'

/* Encryption of the secrets in the store: AES-256-GCM, with a random nonce for each text. */

/** A column that has secrets, and the column that names its row. */
export interface SecretColumn {
  readonly table: string
  readonly row: string
  readonly column: string
  /** What its secrets belong to, for messages. */
  readonly of: string
}

const signing = { table: 'endpoints', row: 'id', of: 'webhook endpoint' } as const

/** Every column that has secrets. */
export const secretColumns = {
  signing: { ...signing, column: 'secret' },
  oldSigning: { ...signing, column: 'old_secret' },
  accountKey: { table: 'declarations', row: 'id', column: 'secret', of: 'account' },
} as const satisfies Record<string, SecretColumn>

/** Where a secret is stored. What is encrypted for one place can't be decrypted at another. */
export interface SecretPlace extends Pick<SecretColumn, 'table' | 'column'> {
  /** The id of the row. */
  readonly id: string
}

export interface SecretKey {
  /** A short digest of the key. Each encrypted text names the key that it needs. */
  readonly id: string
  readonly bytes: Uint8Array
}

/** The keys of this process. */
export interface SecretKeys {
  /** The first one encrypts, and all of them decrypt. `from` is the setting or the file, for messages. */
  all(): readonly (SecretKey & { readonly from: string })[]
  /** The key that encrypts. Throws `storage_unavailable` if no key is available. */
  current(): SecretKey
}

export interface Vault {
  /** Throws `storage_unavailable` if there is no key. */
  seal(text: string, place: SecretPlace): string
  /**
   * Returns text that is not encrypted as it is: an earlier version stored it. Throws `storage_unavailable` if the key
   * is missing, or if the text was damaged or belongs to another place.
   */
  open(text: string, place: SecretPlace): string
}

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const cipher = 'aes-256-gcm'
/** No secret in clear begins like this. */
const mark = 'sealed:'
const form = /^sealed:1:([0-9a-f]{8}):([A-Za-z0-9_-]+)$/

/** Keys in base64, with commas or line breaks between them; undefined if one of them is not 32 bytes long. */
export function readSecretKeys(text: string): SecretKey[] | undefined {
  const parts = text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (!parts.every((part) => /^[A-Za-z0-9+/_-]{43}=?$/.test(part))) return undefined
  return parts.map((part) => toSecretKey(Buffer.from(part, 'base64')))
}

export function newSecretKey(random: Random): SecretKey {
  return toSecretKey(Uint8Array.from(random(keyBytes)))
}

function toSecretKey(bytes: Uint8Array): SecretKey {
  const digest = hash('sha256', Buffer.concat([Buffer.from('filmgate secret key '), bytes]), 'hex')
  return { id: digest.slice(0, 8), bytes }
}

/** The beginning of every text that this key has encrypted. */
export function sealedPrefix(keyId: string): string {
  return `sealed:1:${keyId}:`
}

/** The id of the key that encrypted the text; null if it is not encrypted. */
export function sealedWith(text: string): string | null {
  return form.exec(text)?.[1] ?? null
}

export function openVault(keys: SecretKeys, random: Random): Vault {
  return {
    seal(text, place) {
      const { id, bytes } = keys.current()
      const nonce = Uint8Array.from(random(nonceBytes))
      const sealing = createCipheriv(cipher, bytes, nonce, { authTagLength: tagBytes })
      sealing.setAAD(boundTo(id, place))
      const parts = [nonce, sealing.update(text, 'utf8'), sealing.final(), sealing.getAuthTag()]
      return `${sealedPrefix(id)}${Buffer.concat(parts).toString('base64url')}`
    },
    open(text, place) {
      const [, id, data = ''] = form.exec(text) ?? []
      if (id === undefined && !text.startsWith(mark)) return text
      if (id === undefined) throw unreadable(place, 'it is cut off, or was encrypted by a newer version')
      const key = keys.all().find((one) => one.id === id)
      if (!key) throw unreadable(place, `it was encrypted with the key ${id}, which this process does not have`)
      const bytes = Buffer.from(data, 'base64url')
      const end = bytes.length - tagBytes
      try {
        const opening = createDecipheriv(cipher, key.bytes, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        opening.setAAD(boundTo(id, place)).setAuthTag(bytes.subarray(end))
        return Buffer.concat([opening.update(bytes.subarray(nonceBytes, end)), opening.final()]).toString('utf8')
      } catch {
        throw unreadable(place, 'it is damaged, or was copied from another row')
      }
    },
  }
}

/** Authenticated together with the text. */
function boundTo(keyId: string, { table, id, column }: SecretPlace): Buffer {
  return Buffer.from(JSON.stringify(['filmgate', 1, keyId, table, id, column]))
}

function unreadable({ table, id, column }: SecretPlace, why: string): Problem {
  const message = 'A secret of this service can’t be read. Its operator has to check FILMGATE_SECRET_KEY.'
  return new Problem('storage_unavailable', message, {
    cause: new Error(`'${column}' of '${id}' in the table '${table}' can't be decrypted: ${why}`),
    retryable: true,
  })
}

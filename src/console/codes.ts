import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Access } from '../access.ts'
import type { Clock, Random } from '../core/clock.ts'
import { digestsOf, idOf, type Token } from '../core/token.ts'
import type { SecretKey, SecretKeys } from '../core/vault.ts'
import type { TokenStore } from '../stores/store.ts'
import { digestStart, type SignedIn } from './sessions.ts'

interface CodeDependencies {
  access: Pick<Access, 'all' | 'statusOf'>
  keys: SecretKeys
  store: Pick<TokenStore, 'useCode'>
  clock: Pick<Clock, 'now'>
  random: Random
}

export interface Codes {
  /** Throws `storage_unavailable` if there is no key. */
  create(signedIn: SignedIn): { code: string; expiresAt: number }
  /**
   * What a valid code was created with. No process accepts the code again. Throws if the store can't remember that. If
   * `check` throws, the code stays valid.
   */
  redeem(code: string, check?: (token: Token) => void): Promise<SignedIn | undefined>
}

const validMs = 10 * 60_000
const bytesOf = { expiry: 4, chance: 4, token: 5, mac: 10 }
const signedBytes = bytesOf.expiry + bytesOf.chance + bytesOf.token
const codeBytes = signedBytes + bytesOf.mac

/**
 * Codes that sign in once. A code is signed, so that only one that was used needs a row in the store. 23 bytes, so that
 * the link fits into a line of the banner. A code ends with the secret that created it, and its session as well.
 */
export function openCodes({ access, keys, store, clock, random }: CodeDependencies): Codes {
  return {
    create(signedIn) {
      const expiry = Math.floor((clock.now() + validMs) / 1_000)
      const signed = Buffer.concat([Buffer.alloc(4), Uint8Array.from(random(bytesOf.chance)), markOf(signedIn)])
      signed.writeUInt32BE(expiry)
      const code = Buffer.concat([signed, macOf(signed, keys.current())]).toString('base64url')
      return { code, expiresAt: expiry * 1_000 }
    },
    async redeem(code, check) {
      const bytes = Buffer.from(code, 'base64url')
      // The decoder ignores foreign characters, and a second spelling would not be known as used.
      if (bytes.length !== codeBytes || bytes.toString('base64url') !== code) return undefined
      const [signed, mac] = [bytes.subarray(0, signedBytes), bytes.subarray(signedBytes)]
      if (!keys.all().some((key) => timingSafeEqual(mac, macOf(signed, key)))) return undefined
      const now = clock.now()
      const until = signed.readUInt32BE() * 1_000
      if (now >= until) return undefined
      const mark = signed.subarray(-bytesOf.token)
      const active = access.all().filter((token) => access.statusOf(token, now) === 'active')
      const secrets = active.flatMap((token) => digestsOf(token, now).map((digest) => ({ token, digest })))
      const found = secrets.find((one) => markOf(one).equals(mark))
      if (!found) return undefined
      check?.(found.token)
      return (await store.useCode(code, until, now)) ? found : undefined
    },
  }
}

/** Identifies a token with one of its secrets. */
function markOf({ token, digest }: SignedIn): Buffer {
  return hash('sha256', `${idOf(token)} ${digest.slice(0, digestStart)}`, 'buffer').subarray(0, bytesOf.token)
}

function macOf(signed: Buffer, { bytes }: SecretKey): Buffer {
  const mac = createHmac('sha256', bytes).update('filmgate console code ').update(signed).digest()
  return mac.subarray(0, bytesOf.mac)
}

import type { Access } from '../../access.ts'
import type { Clock } from '../../core/clock.ts'
import { idOf, ownerOf, type Token } from '../../core/token.ts'

/** Ends streams whose token was revoked or disabled, or belongs to another project now. */
export interface TokenWatch {
  add(token: Token, dismiss: () => void): void
  remove(dismiss: () => void): void
}

export function openTokenWatch(access: Access, clock: Clock): TokenWatch {
  const streams = new Map<() => void, Token>()
  const isValid = (token: Token) => {
    const current = access.token(idOf(token))
    if (!current || ownerOf(current) !== ownerOf(token)) return false
    return access.statusOf(current, clock.now()) === 'active'
  }
  access.onChange(() => {
    for (const [dismiss, token] of streams) if (!isValid(token)) dismiss()
  })
  return {
    add: (token, dismiss) => void streams.set(dismiss, token),
    remove: (dismiss) => void streams.delete(dismiss),
  }
}

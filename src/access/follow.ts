import type { Access } from '../access.ts'
import type { Clock } from '../core/clock.ts'
import { type Following, follow } from '../core/follow.ts'
import { type OutageLog, openOutage } from '../core/outage.ts'
import type { TokenStore } from '../stores/store.ts'

interface FollowOptions {
  store: Pick<TokenStore, 'tokens' | 'onTokens'>
  access: Pick<Access, 'change'>
  clock: Clock
  /** The newest revision that `access` has. */
  since: number
  log: OutageLog
}

/** Keeps the tokens of this process the same as those of the store. */
export function followTokens({ store, access, clock, since, log }: FollowOptions): Following {
  let known = since
  const lines = {
    down: "changes of tokens can't be read: revoked tokens may stay valid",
    up: 'changes of tokens are read again',
  }
  return follow({
    async look() {
      const changed = await store.tokens(known)
      const newest = changed.at(-1)
      if (!newest) return
      known = newest.revision
      access.change({ set: changed })
    },
    onMessage: store.onTokens,
    clock,
    outage: openOutage({ log, clock, ...lines, level: 'warn' }),
  })
}

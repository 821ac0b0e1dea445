import { type AccountView, type Healths, isLocalName } from './core/account.ts'
import type { Clock } from './core/clock.ts'
import type { Health } from './core/health.ts'
import type { Log } from './log.ts'
import type { Store } from './stores/store.ts'

export interface HealthsOptions {
  store: Store
  accounts: ReadonlyMap<string, AccountView>
  clock: Clock
  log: Log
  /** Nothing that was found out before is believed. A process that is alone starts afresh. */
  since: number
}

/** Several processes use the same accounts: what one finds out is told to all, and to the operator. */
export function openHealths({ store, accounts, clock, log, since }: HealthsOptions): Healths {
  /** What each account was like when it was last told or heard, and when that was. */
  const known = new Map<string, { health: Health; at: number }>()

  return {
    async tell(name) {
      const account = accounts.get(name)
      if (!account || isLocalName(name)) return
      const { health, keyVersion } = account
      if (known.get(name)?.health.pausedUntil === health.pausedUntil) return
      const changedAt = clock.now()
      known.set(name, { health, at: changedAt })
      try {
        await store.saveHealth({ account: name, keyVersion, health, changedAt })
      } catch (error) {
        log.warn('the others were not told how an account is doing', { account: name, error })
      }
    },
    async learn() {
      for (const { account: name, keyVersion, health, changedAt } of await store.healths()) {
        const account = accounts.get(name)
        // What was found out with another key says nothing of this one.
        if (!account || account.keyVersion !== keyVersion || changedAt <= (known.get(name)?.at ?? since)) continue
        known.set(name, { health, at: changedAt })
        account.health = health
      }
    },
  }
}

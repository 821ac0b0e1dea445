import { type AccountHealth, type AccountView, type Healths, isLocalName, type Presence } from '../core/account.ts'
import type { Clock } from '../core/clock.ts'
import { type Health, healthy } from '../core/health.ts'
import type { Store } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

interface HealthsOptions {
  store: Store
  accounts: ReadonlyMap<string, AccountView>
  clock: Clock
  log: Log
  /** Nothing that was found out before is believed. A process that is alone starts afresh. */
  since: number
}

/** A process says so often that it lives. */
const beatMs = 5_000

/** Several beats, since one may be late: a process that said nothing for so long is gone. */
export const goneMs = 20_000

/** Several processes use the same accounts: what one finds out is told to all, and to the operator. */
export function openHealths({ store, accounts, clock, log, since }: HealthsOptions): Healths & Presence {
  /** What each account was like when it was last told or heard, and when that was. */
  const known = new Map<string, { health: Health; at: number }>()
  const hearing = openHearing()
  let beatAt = Number.NEGATIVE_INFINITY

  return {
    async tell(name) {
      const account = accounts.get(name)
      if (!account || isLocalName(name)) return
      const { health, keyVersion } = account
      // That it is well is no news from one who never heard otherwise, and would end a pause that another has just made.
      if ((known.get(name)?.health ?? healthy).pausedUntil === health.pausedUntil) return
      const changedAt = clock.now()
      known.set(name, { health, at: changedAt })
      try {
        await store.saveHealth({ account: name, keyVersion, health, changedAt })
      } catch (error) {
        log.warn('the others were not told how an account is doing', { account: name, error })
      }
    },
    async learn() {
      const asked = clock.now()
      const all = await store.healths()
      hearing.hear(all, asked)
      for (const { account: name, keyVersion, health, changedAt } of all) {
        const account = accounts.get(name)
        // Of its own accounts nobody else knows more. What was found out with another key says nothing of this one.
        if (!account || isLocalName(name) || account.keyVersion !== keyVersion) continue
        if (changedAt <= (known.get(name)?.at ?? since)) continue
        known.set(name, { health, at: changedAt })
        account.health = health
      }
    },
    async beat() {
      const now = clock.now()
      // The clock may have been set back.
      if (Math.abs(now - beatAt) < beatMs) return
      const own = [...accounts.values()].filter(({ name }) => isLocalName(name))
      const beats = own.map(({ name, keyVersion, health }) => ({ account: name, keyVersion, health, changedAt: now }))
      await Promise.all(beats.map((beat) => store.saveHealth(beat)))
      beatAt = now
    },
    isGone: hearing.isGone,
  }
}

/**
 * When each process was last heard of. Its silence is counted up to our last look, and only while we looked without a
 * gap: after an outage, or a stall of our own, all would seem to have been silent.
 */
function openHearing() {
  let heard = new Map<string, number>()
  let [since, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  return {
    hear(all: readonly AccountHealth[], asked: number): void {
      if (Math.abs(asked - last) > goneMs / 2) since = asked
      last = asked
      heard = new Map(all.map(({ account, changedAt }) => [account, changedAt]))
    },
    isGone: (account: string) => Math.max(heard.get(account) ?? 0, since) < last - goneMs,
  }
}

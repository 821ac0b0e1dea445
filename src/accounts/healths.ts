import {
  type AccountHealth,
  type AccountView,
  type Healths,
  isLocalName,
  localName,
  type Presence,
  processOf,
} from '../core/account.ts'
import type { Clock } from '../core/clock.ts'
import { type Health, healthy } from '../core/health.ts'
import { openOutage } from '../core/outage.ts'
import type { Store } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

interface HealthsOptions {
  store: Store
  accounts: ReadonlyMap<string, AccountView>
  clock: Clock
  log: Log
  /** The unique name of this process; empty if no other shares the store. */
  process: string
  /** Reports from before this time are ignored: a process that starts alone starts with healthy accounts. */
  since: number
}

/** How often a process reports that it is alive. */
const beatMs = 5_000

/** A process without a report for this long is gone. Several beats, because one may be late. */
export const goneMs = 20_000

/** Processes that share accounts share their health through the store, where the operator sees it too. */
export function openHealths({ store, accounts, clock, log, process, since }: HealthsOptions): Healths & Presence {
  /** The health of each account that was last saved or read, and when. */
  const known = new Map<string, { health: Health; at: number }>()
  const heartbeats = openHeartbeats()
  const lines = { down: 'the health of an account could not be saved', up: 'the health of accounts is saved again' }
  const outage = openOutage({ log, clock, ...lines, level: 'warn' })
  let beatAt = Number.NEGATIVE_INFINITY

  return {
    async report(name) {
      const account = accounts.get(name)
      if (!account || isLocalName(name)) return
      const { health, keyVersion } = account
      // A process that never knew of a pause must not save "healthy": it would end the pause of another process.
      if ((known.get(name)?.health ?? healthy).pausedUntil === health.pausedUntil) return
      const changedAt = clock.now()
      known.set(name, { health, at: changedAt })
      try {
        await store.saveHealth({ account: name, keyVersion, health, changedAt })
        outage.worked()
      } catch (error) {
        outage.failed({ account: name, error })
      }
    },
    async refresh() {
      const readAt = clock.now()
      const all = await store.healths()
      heartbeats.update(all, readAt)
      for (const { account: name, keyVersion, health, changedAt } of all) {
        const account = accounts.get(name)
        // A process knows its local accounts best. A health with another key says nothing about this key.
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
      const local = [...accounts.values()].filter(({ name }) => isLocalName(name))
      const nameOnly = process ? [{ name: localName('', process), keyVersion: '', health: healthy }] : []
      const beats = (local.length > 0 ? local : nameOnly).map(({ name, keyVersion, health }) => ({
        account: name,
        keyVersion,
        health,
        changedAt: now,
      }))
      await Promise.all(beats.map((beat) => store.saveHealth(beat)))
      beatAt = now
    },
    isGone: heartbeats.isGone,
    processes: heartbeats.processes,
  }
}

/**
 * When each process last reported. Its silence is counted up to our last read, and only while we read without a gap: after
 * an outage, or a stall of this process, all others would seem to be silent.
 */
function openHeartbeats() {
  let beats = new Map<string, number>()
  let [since, lastRead] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  const isGone = (account: string) => Math.max(beats.get(account) ?? 0, since) < lastRead - goneMs
  return {
    update(all: readonly AccountHealth[], readAt: number): void {
      if (Math.abs(readAt - lastRead) > goneMs / 2) since = readAt
      lastRead = readAt
      beats = new Map(all.map(({ account, changedAt }) => [account, changedAt]))
    },
    isGone,
    processes() {
      const live = [...beats.keys()].filter((account) => isLocalName(account) && !isGone(account))
      return Math.max(1, new Set(live.map(processOf)).size)
    },
  }
}

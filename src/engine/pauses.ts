import type { Log } from '../log.ts'
import type { Tools } from '../workers/worker.ts'

/** Says once that an account pauses, and once that it is over: one that needs its operator must not go unnoticed. */
export function openPauses({ accounts }: Pick<Tools, 'accounts'>, log: Log): (account: string | null) => void {
  /** Until when each account was last said to be paused. */
  const said = new Map<string, number>()
  return (name) => {
    const health = accounts.get(name ?? '')?.health
    if (!name || !health || said.get(name) === health.pausedUntil) return
    const before = said.get(name) ?? 0
    said.set(name, health.pausedUntil)
    const until = new Date(health.pausedUntil).toISOString()
    if (health.reason === 'credentials') log.error('account paused', { account: name, reason: health.reason, until })
    else if (health.reason) log.warn('account paused', { account: name, reason: health.reason, until })
    else if (before > 0) log.info('account works again', { account: name })
  }
}

import { join } from 'node:path'
import { keepsSlots, mayNotify } from '../core/plan.ts'
import { openQueueCounts, problemOf } from '../core/quotas.ts'
import { toRow } from '../core/row.ts'
import { type CapCounter, isFree } from '../core/spend.ts'
import type { Task } from '../core/task.ts'
import { openRound } from '../core/turns.ts'
import type { Report } from './sqlite/check.ts'
import { openConnections } from './sqlite/connections.ts'
import type { Store, StoreMeter } from './store.ts'

interface SqliteOptions {
  /** The data folder, which must exist and belong to this process alone. */
  folder: string
  now: number
  /** Locks the folder for this process, if it was opened on a read-only disk that has become writable. */
  claimFolder?: () => void
  /** Called if the writer thread dies: nothing can be written any more. */
  onFatal: (error: Error) => void
  /** Receives the result of the check that follows an unclean end. */
  report?: Report
  /** Measures commits, for metrics. */
  meter?: StoreMeter
}

const silent: Report = { info() {}, warn() {} }

/**
 * The embedded store: it reads on this thread, and writes in groups on another. With the writer on this thread a slow
 * disk would stall every poll (p99 25 ms at a 5 ms fsync, instead of 5 ms).
 */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const { folder, claimFolder = () => {}, report = silent, ...others } = options
  const connections = await openConnections({ path: join(folder, 'filmgate.db'), claimFolder, report, ...others })
  const { reads, write } = connections
  const round = openRound()
  // No other process inserts, so a count holds until this one has inserted as many as it leaves room for.
  const counts = openQueueCounts({ processes: 1, freshMs: Number.POSITIVE_INFINITY, now: () => 0 })
  /** Inserts a task that a limit may not allow. With `mostQueued`, the waiting tasks of its owner are counted. */
  async function admit(task: Task, caps: readonly CapCounter[], mostQueued: number | undefined): Promise<void> {
    const { id, owner, createdAt, price } = task
    const mark = counts.mark(owner)
    if (mostQueued !== undefined) counts.add(owner)
    const admission = { task: { id, owner, createdAt, price }, caps, mostQueued }
    const { refusal, queued } = await write('admit', toRow(task), admission)
    // At the limit there may be more than were counted.
    if (mostQueued !== undefined && queued !== null && queued < mostQueued) counts.learn(owner, queued, mark)
    if (refusal && 'mostQueued' in refusal) counts.refuse(owner, refusal.mostQueued)
    if (refusal) throw problemOf(refusal)
  }

  const dueListeners = new Set<() => void>()
  const noticeListeners = new Set<() => void>()
  const wake = () => {
    for (const listener of dueListeners) listener()
  }
  const notify = () => {
    for (const listener of noticeListeners) listener()
  }

  return {
    ...reads,
    checkWritable: () => write('checkWritable'),
    async insert(task, caps = [], mostQueued) {
      const isAdmitted = counts.admits(task.owner, mostQueued)
      const isPlain = isFree(task.price) && isAdmitted
      const written = isPlain ? write('insert', toRow(task)) : admit(task, caps, isAdmitted ? undefined : mostQueued)
      await written
      wake()
    },
    async delete(owner, id, now) {
      const hidden = await write('mutate', { verb: 'delete', task: id, owner, at: now })
      wake()
      notify()
      return hidden
    },
    claim: (wanted) => write('claim', wanted),
    claimShares: (lane, shares, times) => write('claimShares', lane, shares, times),
    async claimQueued(wanted) {
      const stretches = round.stretches(wanted.cards.map(({ card }) => card))
      const { served, ...claimed } = await write('claimQueued', wanted, stretches)
      round.serve(served)
      return claimed
    },
    queueOf: (card, limit) => reads.queueOf(card, limit, round.stretches([card])),
    claimOne: async (id, state, leaseUntil) => (await write('claimOne', id, state, leaseUntil)) ?? undefined,
    renew: (leases, leaseUntil) => write('renew', leases, leaseUntil),
    async record(entry) {
      const held = await write('mutate', { verb: 'record', task: entry.task.id, entry })
      if (!entry.keepsLease || !held || !keepsSlots(entry)) wake()
      if (held && mayNotify(entry)) notify()
      return held
    },
    async remove({ id, fence }, { orphans = false, end } = {}) {
      const removed = await write('mutate', { verb: 'remove', task: id, fence, orphans, end })
      wake()
      return removed
    },
    async settle(task, fact) {
      await write('mutate', { verb: 'settle', task, fact })
      wake()
    },
    async disown(account, operation, now) {
      const attempt = await write('disown', account, operation, now)
      wake()
      return attempt ?? undefined
    },
    onDue(listener) {
      dueListeners.add(listener)
      return () => dueListeners.delete(listener)
    },
    onNotice(listener) {
      noticeListeners.add(listener)
      return () => noticeListeners.delete(listener)
    },
    trimNotices: (before, limit) => write('trimNotices', before, limit),
    insertEndpoint: (endpoint, most) => write('insertEndpoint', endpoint, most),
    updateEndpoint: async (owner, id, change) => (await write('updateEndpoint', owner, id, change)) ?? undefined,
    deleteEndpoint: (owner, id) => write('deleteEndpoint', owner, id),
    disableEndpoint: (id, at, why) => write('disableEndpoint', id, at, why),
    claimDeliveries: (wanted, now, leaseUntil) => write('claimDeliveries', wanted, now, leaseUntil),
    recordDelivery: (outcome) => write('recordDelivery', outcome),
    failDeliveries: (endpoint, step) => write('failDeliveries', endpoint, step),
    async replay(endpoint, id, now) {
      const delivery = await write('replay', endpoint, id, now)
      notify()
      return delivery ?? undefined
    },
    async replayFailed(endpoint, step) {
      const replayed = await write('replayFailed', endpoint, step)
      notify()
      return replayed
    },
    trimDeliveries: (before, limit) => write('trimDeliveries', before, limit),
    trimStrayDeliveries: (limit) => write('trimStrayDeliveries', limit),
    async repairDueTimes(now) {
      await write('repairDueTimes', now)
      wake()
    },
    saveHealth: (health) => write('saveHealth', health),
    trimHealths: (accounts, before) => write('trimHealths', accounts, before),
    trimRemovedAttempts: (keptMs, limit) => write('trimRemovedAttempts', keptMs, limit),
    insertToken: async (token, entry) => (await write('insertToken', token, entry)) ?? undefined,
    updateToken: async (token, entry) => (await write('updateToken', token, entry)) ?? undefined,
    // No other process uses the folder.
    onTokens: () => () => {},
    appendAudit: (entry) => write('appendAudit', entry),
    useCode: (code, until, now) => write('useCode', code, until, now),
    trimUsage: (before, limit) => write('trimUsage', before, limit),
    leaseUsageCursor: async (lease) => (await write('leaseUsageCursor', lease)) ?? undefined,
    moveUsageCursor: (holder, number) => write('moveUsageCursor', holder, number),
    replaceSecret: (column, secret, text) => write('replaceSecret', column, secret, text),
    saveDeclaration: async (...change) => (await write('saveDeclaration', ...change)) ?? undefined,
    onDeclarations: () => () => {},
    raiseAlarm: (report) => write('raiseAlarm', report),
    clearAlarm: async (kind, subject, at) => (await write('clearAlarm', kind, subject, at)) ?? undefined,
    clearUnseenAlarms: (kind, before, at) => write('clearUnseenAlarms', kind, before, at),
    acknowledgeAlarm: async (id, by, entry) => (await write('acknowledgeAlarm', id, by, entry)) ?? undefined,
    claimAlarm: async (receiver, id, now, until) => (await write('claimAlarm', receiver, id, now, until)) ?? undefined,
    shortenAlarmClaim: (receiver, id, until, at) => write('shortenAlarmClaim', receiver, id, until, at),
    recordAlarmSent: (receiver, id, event, at) => write('recordAlarmSent', receiver, id, event, at),
    trimAlarms: (before, limit) => write('trimAlarms', before, limit),
    [Symbol.asyncDispose]: connections.close,
  }
}

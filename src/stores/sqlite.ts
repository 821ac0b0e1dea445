import { join } from 'node:path'
import { isNews } from '../core/plan.ts'
import { toRow } from '../core/row.ts'
import type { Report } from './sqlite/check.ts'
import { openConnections } from './sqlite/connections.ts'
import type { Store } from './store.ts'

interface SqliteOptions {
  /** The data folder, which must exist and belong to this process alone. */
  folder: string
  now: number
  /** Takes the folder for this process alone, where it was opened on a read-only disk that can be written by now. */
  claimFolder?: () => void
  /** Called if the writer thread dies, after which nothing can be written any more. */
  onFatal: (error: Error) => void
  /** Told what a check of the database found, which is made after an unclean end. */
  report?: Report
}

const silent: Report = { info() {}, warn() {} }

/**
 * The embedded store: reads on this thread, writes in another, grouped. With the writer on this thread a slow disk
 * stalls every poll (p99 25 ms at a 5 ms fsync, against 5 ms so).
 */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const { folder, claimFolder = () => {}, report = silent, ...others } = options
  const connections = await openConnections({ path: join(folder, 'filmgate.db'), claimFolder, report, ...others })
  const { reads, write } = connections
  const listeners = new Set<() => void>()
  const hearers = new Set<() => void>()
  const wake = () => {
    for (const listener of listeners) listener()
  }
  const tell = () => {
    for (const hearer of hearers) hearer()
  }

  return {
    ...reads,
    checkWritable: () => write('checkWritable'),
    async insert(task) {
      await write('insert', toRow(task))
      wake()
    },
    async delete(owner, id, now) {
      const hidden = await write('mutate', { verb: 'delete', task: id, owner, at: now })
      wake()
      tell()
      return hidden
    },
    claim: (wanted) => write('claim', wanted),
    claimShares: (lane, shares, times) => write('claimShares', lane, shares, times),
    claimQueued: (wanted) => write('claimQueued', wanted),
    claimOne: async (id, state, leaseUntil) => (await write('claimOne', id, state, leaseUntil)) ?? undefined,
    renew: (leases, leaseUntil) => write('renew', leases, leaseUntil),
    async record(entry) {
      const held = await write('mutate', { verb: 'record', task: entry.task.id, entry })
      if (!entry.keep || !held) wake()
      if (held && isNews(entry)) tell()
      return held
    },
    async remove({ id, fence }, { orphans = false } = {}) {
      const removed = await write('mutate', { verb: 'remove', task: id, fence, orphans })
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
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onNotice(hearer) {
      hearers.add(hearer)
      return () => hearers.delete(hearer)
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
      tell()
      return delivery ?? undefined
    },
    async replayFailed(endpoint, step) {
      const replayed = await write('replayFailed', endpoint, step)
      tell()
      return replayed
    },
    trimDeliveries: (before, limit) => write('trimDeliveries', before, limit),
    trimStrayDeliveries: (limit) => write('trimStrayDeliveries', limit),
    async recover(now) {
      await write('recover', now)
      wake()
    },
    saveHealth: (health) => write('saveHealth', health),
    insertToken: (token, createdAt) => write('insertToken', token, createdAt),
    deleteToken: (name) => write('deleteToken', name),
    [Symbol.asyncDispose]: connections.close,
  }
}

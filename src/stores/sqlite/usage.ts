import type { DatabaseSync } from 'node:sqlite'
import { mapReadable } from '../../core/row.ts'
import { toUsage, usageColumns } from '../../core/usage.ts'
import type { CursorLease, Store } from '../store.ts'

/** Runs in the writer thread, inside its transaction. */
export function prepareUsage(database: DatabaseSync) {
  const trim = database.prepare(
    `DELETE FROM usages WHERE number IN (
       SELECT number FROM usages INDEXED BY usages_at WHERE at < ? ORDER BY at LIMIT ?)`,
  )
  const lease = database.prepare(
    `INSERT INTO cursors (name, number, holder, leased_until) VALUES ('usage', 0, ?1, ?3)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, leased_until = excluded.leased_until
     WHERE cursors.holder = excluded.holder OR cursors.leased_until <= ?2 RETURNING number`,
  )
  const move = database.prepare("UPDATE cursors SET number = ? WHERE name = 'usage' AND holder = ?")
  return {
    trimUsage: (before: number, limit: number) => Number(trim.run(before, limit).changes),
    leaseUsageCursor({ holder, now, until }: CursorLease): number | null {
      const [row] = lease.all(holder, now, until)
      return row ? Number(row.number) : null
    },
    moveUsageCursor: (holder: string, number: number) => Number(move.run(number, holder).changes) > 0,
  }
}

/** Reads; runs on the main thread. */
export function prepareUsageReads(reader: DatabaseSync): Pick<Store, 'usage' | 'usageBeyond' | 'lastUsage'> {
  const names = ['number', ...usageColumns].join(', ')
  // Entries of an index are in the order of their row numbers, too, so nothing is sorted.
  const steps = (index: string, owned: string) =>
    reader.prepare(
      `SELECT ${names} FROM usages INDEXED BY ${index}
       WHERE ${owned} at >= :since AND at < :before AND (at > :since OR number > :after)
       ORDER BY at, number LIMIT :limit`,
    )
  const [ofAll, ofOwner] = [steps('usages_at', ''), steps('usages_owner', 'owner = :owner AND')]
  const beyond = reader.prepare(`SELECT ${names} FROM usages WHERE number > ? ORDER BY number LIMIT ?`)
  const last = reader.prepare('SELECT max(number) AS number FROM usages')
  return {
    async usage({ since, before, owner }, { after, limit }) {
      const range = { since: after?.at ?? since, before, after: after?.number ?? 0, limit }
      return mapReadable(owner === undefined ? ofAll.all(range) : ofOwner.all({ ...range, owner }), toUsage)
    },
    usageBeyond: async (number, limit) => mapReadable(beyond.all(number, limit), toUsage),
    lastUsage: async () => Number(last.get()?.number ?? 0),
  }
}

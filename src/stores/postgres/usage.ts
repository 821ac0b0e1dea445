import { mapReadable } from '../../core/row.ts'
import { toUsage, usageColumns } from '../../core/usage.ts'
import type { UsageStore } from '../store.ts'
import type { Database } from './database.ts'

const names = ['number', ...usageColumns].join(', ')

export function openUsage(database: Database): UsageStore {
  return {
    async usage({ since, before, owner }, { after, limit }) {
      const values = [after?.at ?? since, before, after?.number ?? 0, limit]
      const rows = await (owner === undefined
        ? database.read(stepStatement(''), values)
        : database.read(stepStatement('owner = $5 AND'), [...values, owner]))
      return mapReadable(rows, toUsage)
    },
    async usageBeyond(number, limit) {
      const text = `SELECT ${names} FROM usages WHERE number > $1 ORDER BY number LIMIT $2`
      return mapReadable(await database.read(text, [number, limit]), toUsage)
    },
    async lastUsage() {
      const [row] = await database.read('SELECT max(number) AS number FROM usages')
      return Number(row?.number ?? 0)
    },
    async trimUsage(before, limit) {
      return (await database.run(trimStatement, [before, limit])).length
    },
    async leaseUsageCursor({ holder, now, until }) {
      const [row] = await database.run(leaseStatement, [holder, now, until])
      return row && Number(row.number)
    },
    async moveUsageCursor(holder, number) {
      const text = "UPDATE cursors SET number = $1 WHERE name = 'usage' AND holder = $2 RETURNING number"
      return (await database.run(text, [number, holder])).length > 0
    },
  }
}

const stepStatement = (owned: string) => `SELECT ${names} FROM usages
  WHERE ${owned} at >= $1::bigint AND at < $2::bigint AND (at > $1::bigint OR number > $3::bigint)
  ORDER BY at, number LIMIT $4`

const trimStatement = `DELETE FROM usages WHERE number IN (
    SELECT number FROM usages WHERE at < $1 ORDER BY at LIMIT $2
  ) RETURNING number`

const leaseStatement = `INSERT INTO cursors (name, number, holder, leased_until) VALUES ('usage', 0, $1, $3)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, leased_until = excluded.leased_until
  WHERE cursors.holder = excluded.holder OR cursors.leased_until <= $2::bigint RETURNING number`

import { statusConditions, toView, viewColumns } from '../../core/row.ts'
import type { Filter, Window } from '../window/window.ts'
import type { Database } from './database.ts'

/** So many rows are read well within the time that a statement has. */
const rows = 20_000

export function openWindow(database: Database, { owner, order, status, model }: Filter): Window {
  const [beyond, upTo] = order === 'asc' ? ['>', '<='] : ['<', '>=']
  const from = 'FROM tasks WHERE owner = $1 AND deleted_at IS NULL AND'
  const fits = [...(status ? [statusConditions[status]] : []), ...(model === undefined ? [] : ['model = $5'])]
  return {
    async end(after) {
      const text = `SELECT id ${from} id ${beyond} $2 ORDER BY id ${order} LIMIT 1 OFFSET ${rows - 1}`
      const [row] = await database.read(text, [owner, after])
      return row?.id as string | undefined
    },
    async fitting(after, last, limit) {
      const bound = `($3::text IS NULL OR id ${upTo} $3)`
      const text = `SELECT ${viewColumns.join(', ')} ${from} id ${beyond} $2 AND ${[bound, ...fits].join(' AND ')}
        ORDER BY id ${order} LIMIT $4`
      const values = [owner, after, last ?? null, limit, ...(model === undefined ? [] : [model])]
      return (await database.readByPlace(text, values)).map(toView)
    },
  }
}

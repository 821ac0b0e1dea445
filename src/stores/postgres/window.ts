import { statusConditions, toView, viewColumns } from '../../core/row.ts'
import type { Filter, Window } from '../window/window.ts'
import type { Database } from './database.ts'

/** So many rows are read well within the time that a statement has. */
const rows = 20_000

/**
 * The rows of a page up to the one that brings its prompts to so many bytes. The database tells the length of a long text
 * without reading it.
 */
export function upTo(bytes: string, page: string, order: Filter['order']): string {
  const [view, length] = [viewColumns.join(', '), 'octet_length(prompt)']
  return `SELECT ${view} FROM (
      SELECT *, sum(${length}) OVER (ORDER BY id ${order} ROWS UNBOUNDED PRECEDING) - ${length} AS before FROM (${page}) AS page
    ) AS summed WHERE before < ${bytes}::bigint ORDER BY id ${order}`
}

export function openWindow(database: Database, { owner, order, status, model }: Filter): Window {
  const [beyond, until] = order === 'asc' ? ['>', '<='] : ['<', '>=']
  const from = 'FROM tasks WHERE owner = $1 AND deleted_at IS NULL AND'
  const fits = [...(status ? [statusConditions[status]] : []), ...(model === undefined ? [] : ['model = $6'])]
  return {
    async end(after) {
      const text = `SELECT id ${from} id ${beyond} $2 ORDER BY id ${order} LIMIT 1 OFFSET ${rows - 1}`
      const [row] = await database.read(text, [owner, after])
      return row?.id as string | undefined
    },
    async fitting(after, last, { limit, enoughBytes }) {
      const bound = `($3::text IS NULL OR id ${until} $3)`
      const text = `SELECT ${viewColumns.join(', ')} ${from} id ${beyond} $2 AND ${[bound, ...fits].join(' AND ')}
        ORDER BY id ${order} LIMIT $4`
      const values = [owner, after, last ?? null, limit, enoughBytes, ...(model === undefined ? [] : [model])]
      return (await database.readByPlace(upTo('$5', text, order), values)).map(toView)
    },
  }
}

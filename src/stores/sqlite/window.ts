import type { DatabaseSync } from 'node:sqlite'
import { statusConditions, viewColumns } from '../../core/row.ts'
import type { Filter, Window } from '../window/window.ts'
import { readViews } from './views.ts'

/** So many rows are read in a few milliseconds. */
const rows = 2_000

export function prepareWindow(reader: DatabaseSync, { owner, order, status, model }: Filter): Window {
  const [beyond, upTo] = order === 'asc' ? ['>', '<='] : ['<', '>=']
  const from = 'FROM tasks INDEXED BY tasks_owner WHERE owner = ? AND deleted_at IS NULL AND'
  const end = reader.prepare(`SELECT id ${from} id ${beyond} ? ORDER BY id ${order} LIMIT 1 OFFSET ${rows - 1}`)
  const fits = [...(status ? [statusConditions[status]] : []), ...(model === undefined ? [] : ['model = ?'])]
  const fitting = reader.prepare(
    `SELECT ${viewColumns.join(', ')} ${from} ${[`id ${beyond} ? AND id ${upTo} ?`, ...fits].join(' AND ')}
     ORDER BY id ${order} LIMIT ?`,
  )
  fitting.setReturnArrays(true)
  return {
    end: async (after) => end.get(owner, after)?.id as string | undefined,
    async fitting(after, last, most) {
      const bound = last ?? (order === 'asc' ? '\u{10ffff}' : '')
      return readViews(fitting, [owner, after, bound, ...(model === undefined ? [] : [model])], most)
    },
  }
}

import type { DatabaseSync } from 'node:sqlite'
import { auditColumns, fromAudit } from '../../core/access-row.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { type Declaration, declarationColumns, fromDeclaration, toDeclaration } from '../../core/declaration.ts'
import { mapReadable } from '../../core/row.ts'
import type { Store } from '../store.ts'

const names = declarationColumns.join(', ')
const newestStatement = 'SELECT coalesce(max(revision), 0) AS revision FROM declarations'
const next = '(SELECT coalesce(max(revision), 0) + 1 FROM declarations)'

/** What operators declare; runs in the writer thread, inside its transaction. */
export function prepareDeclarations(database: DatabaseSync) {
  const marks = declarationColumns.map((name, at) => (name === 'revision' ? next : `?${at + 1}`))
  const insert = database.prepare(
    `INSERT INTO declarations (${names}) VALUES (${marks.join(', ')}) ON CONFLICT (id) DO NOTHING RETURNING ${names}`,
  )
  const update = database.prepare(
    `UPDATE declarations SET ${declarationColumns.map((name, at) => `${name} = ${marks[at]}`).join(', ')}
     WHERE id = ?1 AND revision = ?10 RETURNING ${names}`,
  )
  const last = database.prepare(newestStatement)
  const append = database.prepare(
    `INSERT INTO audit (${auditColumns.join(', ')}) VALUES (${auditColumns.map(() => '?').join(', ')})`,
  )
  return {
    saveDeclaration(declaration: Declaration, entry: AuditEntry | null, newest?: number): Declaration | null {
      if (newest !== undefined && Number(last.get()?.revision) > newest) return null
      const values = fromDeclaration(declaration)
      const { revision } = declaration
      const [row] = revision === 0 ? insert.all(...values) : update.all(...values, revision)
      if (!row) return null
      if (entry) append.run(...fromAudit(entry))
      return toDeclaration(row)
    },
  }
}

/** Reads; runs on the main thread. */
export function prepareDeclarationReads(reader: DatabaseSync): Pick<Store, 'declarations' | 'newestDeclaration'> {
  const changed = reader.prepare(`SELECT ${names} FROM declarations WHERE revision > ? ORDER BY revision`)
  const last = reader.prepare(newestStatement)
  return {
    declarations: async (since = 0) => mapReadable(changed.all(since), toDeclaration),
    newestDeclaration: async () => Number(last.get()?.revision),
  }
}

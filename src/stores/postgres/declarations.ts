import { auditColumns, fromAudit } from '../../core/access-row.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { type Declaration, declarationColumns, fromDeclaration, toDeclaration } from '../../core/declaration.ts'
import { mapReadable } from '../../core/row.ts'
import type { DeclarationStore } from '../store.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import { declarationLock } from './migrate.ts'
import type { Query } from './session.ts'

const names = declarationColumns.join(', ')
const marks = declarationColumns.map((name, at) =>
  name === 'revision' ? '(SELECT coalesce(max(revision), 0) + 1 FROM declarations)' : `$${at + 1}`,
)

/** What operators declare. `announce` notifies all processes of a change. */
export function openDeclarations(database: Database, announce: () => void): Omit<DeclarationStore, 'onDeclarations'> {
  const write = (work: (query: Query) => Promise<Declaration | undefined>) =>
    database.write(async (query) => {
      // One change at a time, so that revisions become visible in their order.
      await query('SELECT pg_advisory_xact_lock($1)', [declarationLock])
      return work(query)
    })
  /** After a COMMIT without a response, the row says whether it was written. */
  const writeOnce = (declaration: Declaration, work: (query: Query) => Promise<Declaration | undefined>) =>
    write(work).catch((error) => {
      if (!(error instanceof CommitUnknown)) throw error
      return write(async (query) => {
        const values = fromDeclaration(declaration)
        const [row] = await query(`SELECT ${names} FROM declarations WHERE id = $1`, [values[0]])
        const isWritten = (found: Declaration) => JSON.stringify(fromDeclaration(found)) === JSON.stringify(values)
        return row && isWritten(toDeclaration(row)) ? toDeclaration(row) : work(query)
      })
    })
  return {
    declarations: async (since = 0) => mapReadable(await database.read(changedStatement, [since]), toDeclaration),
    newestDeclaration: async () => Number((await database.read(newestStatement, []))[0]?.revision),
    async saveDeclaration(declaration, entry, newest) {
      const written = await writeOnce(declaration, async (query) => {
        const [last] = newest === undefined ? [] : await query(newestStatement)
        return last && Number(last.revision) > Number(newest) ? undefined : save(query, declaration, entry)
      })
      if (written) announce()
      return written
    },
  }
}

async function save(query: Query, declaration: Declaration, entry: AuditEntry | null) {
  const values = fromDeclaration(declaration)
  const { revision } = declaration
  const [row] = await (revision === 0 ? query(insertStatement, values) : query(updateStatement, [...values, revision]))
  if (!row) return undefined
  if (entry) await query(appendStatement, fromAudit(entry))
  return toDeclaration(row)
}

const newestStatement = 'SELECT coalesce(max(revision), 0) AS revision FROM declarations'

const changedStatement = `SELECT ${names} FROM declarations WHERE revision > $1 ORDER BY revision`

const insertStatement = `INSERT INTO declarations (${names}) VALUES (${marks.join(', ')})
  ON CONFLICT (id) DO NOTHING RETURNING ${names}`

const updateStatement = `UPDATE declarations
  SET ${declarationColumns.map((name, at) => `${name} = ${marks[at]}`).join(', ')}
  WHERE id = $1 AND revision = $10 RETURNING ${names}`

const appendStatement = `INSERT INTO audit (${auditColumns.join(', ')})
  VALUES (${auditColumns.map((_, at) => `$${at + 1}`).join(', ')})`

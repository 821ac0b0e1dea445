import type { DatabaseSync } from 'node:sqlite'
import { auditColumns, fromAudit, fromToken, toAudit, tokenColumns, toToken } from '../../core/access-row.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { mapReadable } from '../../core/row.ts'
import type { StoredToken } from '../../core/token.ts'
import type { NewToken, Store } from '../store.ts'

const names = tokenColumns.join(', ')
const next = '(SELECT coalesce(max(revision), 0) + 1 FROM tokens)'

/** Tokens, the audit log and used codes; runs in the writer thread, inside its transaction. */
export function prepareTokens(database: DatabaseSync) {
  const marks = tokenColumns.map((name, at) => (name === 'revision' ? next : `?${at + 1}`))
  const insert = database.prepare(
    `INSERT INTO tokens (${names}) VALUES (${marks.join(', ')})
     ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING RETURNING ${names}`,
  )
  const update = database.prepare(
    `UPDATE tokens SET ${tokenColumns.map((name, at) => `${name} = ${marks[at]}`).join(', ')}
     WHERE id = ?1 AND revision = ?10 AND (?9 IS NOT NULL OR NOT EXISTS (
       SELECT 1 FROM tokens AS other WHERE other.name = ?2 AND other.id <> ?1 AND other.revoked_at IS NULL
     )) RETURNING ${names}`,
  )
  const append = database.prepare(
    `INSERT INTO audit (${auditColumns.join(', ')}) VALUES (${auditColumns.map(() => '?').join(', ')})`,
  )
  const appendAudit = (entry: AuditEntry): void => {
    append.run(...fromAudit(entry))
  }
  const forget = database.prepare('DELETE FROM used_codes WHERE until <= ?')
  const use = database.prepare('INSERT INTO used_codes (code, until) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const written = ([row]: ReturnType<typeof insert.all>, entry: AuditEntry | null): StoredToken | null => {
    if (!row) return null
    if (entry) appendAudit(entry)
    return toToken(row)
  }
  return {
    insertToken: (token: NewToken, entry: AuditEntry | null) => written(insert.all(...fromToken(token)), entry),
    updateToken: (token: StoredToken, entry: AuditEntry | null) =>
      written(update.all(...fromToken(token), token.revision), entry),
    appendAudit,
    useCode(code: string, until: number, now: number): boolean {
      forget.run(now)
      return Number(use.run(code, until).changes) > 0
    },
  }
}

/** Reads; runs on the main thread. */
export function prepareTokenReads(reader: DatabaseSync): Pick<Store, 'tokens' | 'auditLog'> {
  const tokens = reader.prepare(`SELECT ${names} FROM tokens WHERE revision > ? ORDER BY revision`)
  const audit = reader.prepare(
    `SELECT number, ${auditColumns.join(', ')} FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?`,
  )
  return {
    tokens: async (since = 0) => mapReadable(tokens.all(since), toToken),
    auditLog: async ({ after = Number.MAX_SAFE_INTEGER, limit }) => mapReadable(audit.all(after, limit), toAudit),
  }
}

import { auditColumns, fromAudit, fromToken, toAudit, tokenColumns, toToken } from '../../core/access-row.ts'
import type { AuditEntry } from '../../core/audit.ts'
import { mapReadable } from '../../core/row.ts'
import type { StoredToken } from '../../core/token.ts'
import type { NewToken, TokenStore } from '../store.ts'
import type { Database } from './database.ts'
import { CommitUnknown } from './failures.ts'
import { tokenLock } from './migrate.ts'
import type { Query } from './session.ts'

const names = tokenColumns.join(', ')
const marks = tokenColumns.map((name, at) =>
  name === 'revision' ? '(SELECT coalesce(max(revision), 0) + 1 FROM tokens)' : `$${at + 1}`,
)

/** Tokens, the audit log and used codes. `announce` notifies all processes that a token changed. */
export function openTokens(database: Database, announce: () => void): Omit<TokenStore, 'onTokens'> {
  const write = async (work: (query: Query) => Promise<StoredToken | undefined>) => {
    const token = await database.write(async (query) => {
      // One change at a time, so that revisions become visible in their order.
      await query('SELECT pg_advisory_xact_lock($1)', [tokenLock])
      return work(query)
    })
    if (token) announce()
    return token
  }
  /** After a COMMIT without a response, the row says whether it was written. */
  const writeOnce = (token: NewToken, work: (query: Query) => Promise<StoredToken | undefined>) =>
    write(work).catch((error) => {
      if (!(error instanceof CommitUnknown)) throw error
      return write(async (query) => {
        const [row] = await query(`SELECT ${names} FROM tokens WHERE id = $1`, [token.id])
        return row && isSame(toToken(row), token) ? toToken(row) : work(query)
      })
    })
  return {
    tokens: async (since = 0) => mapReadable(await database.read(changedStatement, [since]), toToken),
    insertToken: (token, entry) =>
      writeOnce(token, async (query) => audited(query, await query(insertStatement, fromToken(token)), entry)),
    updateToken: (token, entry) =>
      writeOnce(token, async (query) =>
        audited(query, await query(updateStatement, [...fromToken(token), token.revision]), entry),
      ),
    async auditLog({ after = Number.MAX_SAFE_INTEGER, limit }) {
      return mapReadable(await database.read(auditStatement, [after, limit]), toAudit)
    },
    async appendAudit(entry) {
      await database.run(appendStatement, fromAudit(entry))
    },
    async useCode(code, until, now) {
      return (await database.run(useStatement, [code, until, now])).length > 0
    },
  }
}

async function audited(query: Query, [row]: Awaited<ReturnType<Query>>, entry: AuditEntry | null) {
  if (!row) return undefined
  if (entry) await query(appendStatement, fromAudit(entry))
  return toToken(row)
}

function isSame(stored: StoredToken, token: NewToken): boolean {
  return JSON.stringify(fromToken(stored)) === JSON.stringify(fromToken(token))
}

const changedStatement = `SELECT ${names} FROM tokens WHERE revision > $1 ORDER BY revision`

const insertStatement = `INSERT INTO tokens (${names}) VALUES (${marks.join(', ')})
  ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING RETURNING ${names}`

const updateStatement = `UPDATE tokens SET ${tokenColumns.map((name, at) => `${name} = ${marks[at]}`).join(', ')}
  WHERE id = $1 AND revision = $10 AND ($9::bigint IS NOT NULL OR NOT EXISTS (
    SELECT FROM tokens AS other WHERE other.name = $2 AND other.id <> $1 AND other.revoked_at IS NULL
  )) RETURNING ${names}`

const appendStatement = `INSERT INTO audit (${auditColumns.join(', ')})
  VALUES (${auditColumns.map((_, at) => `$${at + 1}`).join(', ')})`

const useStatement = `WITH forgotten AS (DELETE FROM used_codes WHERE until <= $3)
  INSERT INTO used_codes (code, until) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING code`

const auditStatement = `SELECT number, ${auditColumns.join(', ')} FROM audit WHERE number < $1
  ORDER BY number DESC LIMIT $2`

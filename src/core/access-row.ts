import type { AuditEntry, AuditRecord } from './audit.ts'
import { type ColumnValue, json, parse, type Row } from './row.ts'
import { plainFields, type StoredToken, type TokenFields, type TokenKind } from './token.ts'

/* How tokens and the audit log are stored in columns. It is the same in SQLite and PostgreSQL. */

export const tokenColumns = 'id name kind digest older settings created_at changed_at revoked_at revision'.split(' ')

/** In the order of `tokenColumns`, without the revision, which the store gives it. */
export function fromToken(token: Omit<StoredToken, 'revision'>): ColumnValue[] {
  const { id, name, kind, digest, older, createdAt, changedAt, revokedAt } = token
  const names = Object.keys(plainFields) as (keyof TokenFields)[]
  const settings = Object.fromEntries(names.map((name) => [name, token[name]]))
  return [id, name, kind, digest, JSON.stringify(older), JSON.stringify(settings), createdAt, changedAt, revokedAt]
}

/** A setting that the row lacks has its default: the row may be from before the setting existed. */
export function toToken(row: Row): StoredToken {
  return {
    ...plainFields,
    ...(JSON.parse(String(row.settings)) as Partial<TokenFields>),
    id: row.id as string,
    name: row.name as string,
    kind: row.kind as TokenKind,
    digest: row.digest as string,
    older: JSON.parse(String(row.older)),
    createdAt: row.created_at as number,
    changedAt: row.changed_at as number,
    revokedAt: row.revoked_at as number | null,
    revision: row.revision as number,
  }
}

/** Without its number, which the store gives it. */
export const auditColumns = 'at actor actor_name address action target was becomes'.split(' ')

/** In the order of `auditColumns`. */
export function fromAudit(entry: AuditEntry): ColumnValue[] {
  const { at, actor, actorName, address, action, target, before, after } = entry
  return [at, actor, actorName, address, action, target, json(before), json(after)]
}

export function toAudit(row: Row): AuditRecord {
  return {
    number: row.number as number,
    at: row.at as number,
    actor: row.actor as string,
    actorName: row.actor_name as string,
    address: row.address as string,
    action: row.action as AuditEntry['action'],
    target: row.target as string,
    before: parse(row.was),
    after: parse(row.becomes),
  }
}

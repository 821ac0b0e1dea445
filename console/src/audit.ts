import type { AuditEntry } from '../../src/wire/audit.ts'
import { withQuery } from './api.ts'

/** The query of the page's address: the last entry of the page before. Ids of entries are numbers. */
interface AuditPlace {
  after?: number
}

export function readAuditPlace({ after }: Readonly<Record<string, unknown>>): AuditPlace {
  const number = Number(after)
  return after !== undefined && Number.isSafeInteger(number) && number > 0 ? { after: number } : {}
}

export function auditPath({ after }: AuditPlace): string {
  return withQuery('/operator/v1/audit', { after, limit: 25 })
}

/** The whole log as a file. */
export function auditFile(format: 'csv' | 'jsonl'): string {
  return withQuery('/operator/v1/audit', { format })
}

/** A field that an entry changed, before and after as JSON; null if it had no value. */
interface Change {
  name: string
  before: string | null
  after: string | null
}

export function changesOf({ before, after }: AuditEntry): Change[] {
  const [old, now] = [(before ?? {}) as Record<string, unknown>, (after ?? {}) as Record<string, unknown>]
  const textOf = (value: unknown) => (value === undefined || value === null ? null : JSON.stringify(value))
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .map((name) => ({ name, before: textOf(old[name]), after: textOf(now[name]) }))
    .filter((change) => change.before !== change.after)
}

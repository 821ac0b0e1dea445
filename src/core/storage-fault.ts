import { codeOf, Problem } from './problem.ts'

/** Why nothing can be stored: the disk is full, it is read-only, or another reason, which is in the log. */
export const storageFaults = ['full', 'read_only', 'unavailable'] as const
export type StorageFault = (typeof storageFaults)[number]

/** By codes of the system, of SQLite (see `stores/sqlite/failures.ts`) and of PostgreSQL. */
const faults: Readonly<Record<string, StorageFault>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  SQLITE_FULL: 'full',
  53100: 'full',
  EROFS: 'read_only',
  SQLITE_READONLY: 'read_only',
  25006: 'read_only',
}

export function storageFaultOf(thrown: unknown): StorageFault {
  return faults[codeOf(thrown instanceof Problem ? thrown.cause : thrown) ?? ''] ?? 'unavailable'
}

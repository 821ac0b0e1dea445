import { Problem } from '../../core/problem.ts'

/** An error as the writer thread sends it: an Error would lose its fields. */
export interface Failure {
  message: string
  /** The code of SQLite. */
  errcode?: number | undefined
  /** The code of the system. */
  code?: string | undefined
}

export function toFailure(error: unknown): Failure {
  const { message, errcode, code } = error as Error & { errcode?: number; code?: string }
  return { message, errcode, code }
}

/**
 * Codes of SQLite that are about the disk, not the statement: PERM, BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN,
 * NOTADB.
 */
const diskCodes = new Set([3, 5, 8, 10, 11, 13, 14, 26])
/** SQLITE_IOERR_SHMSIZE: the disk has no space for the index of the log. */
const noRoomForIndex = 4874
/** SQLITE_CONSTRAINT_UNIQUE; its message ends with the columns. */
const uniqueCode = 2067

export function toProblem(failure: Failure): Error {
  const { message, errcode = 0, code = '' } = failure
  if (diskCodes.has(errcode & 0xff)) return Problem.ofStorage(withCode(message, errcode))
  if (errcode === uniqueCode && message.endsWith('tasks.owner, tasks.idempotency_key'))
    return Problem.ofTakenKey(message)
  if (errcode === uniqueCode && message.endsWith('attempts.account, attempts.operation'))
    return Problem.ofTakenOperation(message)
  const error = Object.assign(new Error(message), { code })
  const problem = Problem.from(error)
  return problem.code === 'storage_unavailable' ? problem : error
}

/** Adds the code that `storageFaultOf` reads. */
function withCode(message: string, errcode: number): Error {
  const [readOnly, full] = [8, 13]
  const isFull = errcode === noRoomForIndex || (errcode & 0xff) === full
  const code = isFull ? 'SQLITE_FULL' : (errcode & 0xff) === readOnly ? 'SQLITE_READONLY' : `SQLITE_${errcode}`
  return Object.assign(new Error(message), { code })
}

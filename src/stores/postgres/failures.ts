import { Problem } from '../../core/problem.ts'

/* Classifies failures of the database. */

/** The transaction may have been committed or not: read the rows, or repeat it. */
export class CommitUnknown extends Problem {
  constructor(cause: unknown) {
    const message = 'It is not known whether this was stored. Try again shortly.'
    super('storage_unavailable', message, { cause, retryable: true })
  }
}

interface Failure {
  message: string
  /** A SQLSTATE of the database, or a code of the system or of TLS if the connection failed. */
  code?: string
  /** Only errors of the database have one, in its own language. */
  severity?: string
  constraint?: string
}

/** SQLSTATEs with which the database refuses or ends a connection, or ends itself. 53100 and 58 may be its last error. */
const ending = /^(08|28|3D000|53[13]00|57P0|25P03|58)/

/** The database refused the statement: nothing was written, and the connection is still usable. */
export function isRefusal(error: unknown): boolean {
  const { code = '', severity } = error as Failure
  return severity !== undefined && !ending.test(code)
}

/** A row with that key exists. */
export function isDuplicate(error: unknown): boolean {
  return isRefusal(error) && (error as Failure).code === '23505'
}

/** The database did not respond, or ended the connection. */
function isBroken(error: unknown): boolean {
  const { code, message } = error as Failure
  return !isRefusal(error) && (code !== undefined || /timeout|terminated|not queryable|closed/i.test(message))
}

/** The connection was dead before the statement. After a timeout another try would take as long again. */
export function isDead(error: unknown): boolean {
  return isBroken(error) && !/timeout/i.test((error as Failure).message)
}

/**
 * SQLSTATEs that are about the database, not the statement: 25006 read-only (a replica), 40 deadlock, 53 out of
 * resources, 55P03 and 57 timeout or shutdown.
 */
const unavailable = /^(25006|40|53|55P03|57)/

/** The database can't write this now. */
export function isUnavailable(error: unknown): boolean {
  return Problem.from(error).code === 'storage_unavailable'
}

/** Another transaction holds a row, or the turn of an owner, that this one needs: what needs neither can still be written. */
export function isConflict(error: unknown): boolean {
  const { cause } = error as Error
  return cause instanceof Error && /^(55P03|40P01|40001)$/.test((cause as Failure).code ?? '')
}

export function toProblem(error: unknown): unknown {
  if (error instanceof Problem) return error
  const { code = '', constraint } = error as Failure
  if (constraint === 'tasks_key') return Problem.ofTakenKey(error)
  if (constraint === 'attempts_operation') return Problem.ofTakenOperation(error)
  return isBroken(error) || (isRefusal(error) && unavailable.test(code)) ? Problem.ofStorage(error) : error
}

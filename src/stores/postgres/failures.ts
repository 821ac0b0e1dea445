import { Problem } from '../../core/problem.ts'

/* What a failure of the database means. */

/** Whether it happened can only be found out by looking. Who can't look may simply do it again. */
export class CommitUnknown extends Problem {
  constructor(cause: unknown) {
    const message = 'It is not known whether this was stored. Try again shortly.'
    super('storage_unavailable', message, { cause, retryable: true })
  }
}

interface Failure {
  message: string
  /** Of the database: five characters of SQL's. Of the way to it: a word of the system's or of TLS. */
  code?: string
  /** In the database's own language, and of nobody else. */
  severity?: string
  constraint?: string
}

/** States of SQL with which the database ends a connection or itself, or takes none: 53100 and 58 may be its last words. */
const ending = /^(08|28|3D000|53[13]00|57P0|25P03|58)/

/** The database answered, and said no: nothing of it happened, and the connection is as good as before. */
export function isRefusal(error: unknown): boolean {
  const { code = '', severity } = error as Failure
  return severity !== undefined && !ending.test(code)
}

/** A row of that name is there already. */
export function isDuplicate(error: unknown): boolean {
  return isRefusal(error) && (error as Failure).code === '23505'
}

/** Nothing of the database was heard, or only that it ends the connection. */
function isBroken(error: unknown): boolean {
  const { code, message } = error as Failure
  return !isRefusal(error) && (code !== undefined || /timeout|terminated|not queryable|closed/i.test(message))
}

/** It was so before anything was asked on it. What takes too long would do so again. */
export function isDead(error: unknown): boolean {
  return isBroken(error) && !/timeout/i.test((error as Failure).message)
}

/**
 * States of SQL that speak of the database, not of the statement: 25006 read only (a replica), 40 deadlock, 53 out of
 * something, 55P03 and 57 waited too long or was told to stop.
 */
const unavailable = /^(25006|40|53|55P03|57)/

export function toProblem(error: unknown): unknown {
  if (error instanceof Problem) return error
  const { code = '', constraint } = error as Failure
  if (constraint === 'tasks_key') return Problem.ofTakenKey(error)
  if (constraint === 'attempts_operation') return Problem.ofTakenOperation(error)
  return isBroken(error) || (isRefusal(error) && unavailable.test(code)) ? Problem.ofStorage(error) : error
}

import { Problem } from '../../core/problem.ts'

/* What a failure of the database means. */

/** Whether it happened can only be found out by looking. Who can't look may simply do it again. */
export class CommitUnknown extends Problem {
  constructor(cause: unknown) {
    const message = 'It is not known whether this was stored. Try again shortly.'
    super('storage_unavailable', message, { cause, retryable: true })
  }
}

/** The database answered, and said no: nothing of it happened, and the connection is as good as before. */
export function isRefusal(error: unknown): boolean {
  return (error as { severity?: string }).severity === 'ERROR'
}

/** Nothing of the database was heard, or only that it ends the connection. */
function isBroken(error: unknown): boolean {
  const { code = '', severity, message } = error as Error & { code?: string; severity?: string }
  return severity === 'FATAL' || /^E[A-Z]+$/.test(code) || /timeout|terminated|not queryable|closed/i.test(message)
}

/** It was so before anything was asked on it. What takes too long would do so again. */
export function isDead(error: unknown): boolean {
  return !isRefusal(error) && isBroken(error) && !/timeout/i.test((error as Error).message)
}

/**
 * States of SQL that speak of the database, not of the statement: 08 connection, 25006 read only (a replica), 40 deadlock,
 * 53 out of something, 55P03 and 57 waited too long or shutting down, 58 its disk.
 */
const unavailable = /^(08|25006|40|53|55P03|57|58)/

export function toProblem(error: unknown): unknown {
  if (error instanceof CommitUnknown) return error
  const { code = '', message, constraint } = error as Error & { code?: string; constraint?: string }
  if (constraint === 'attempts_operation') return Problem.ofTakenOperation(message)
  if (isRefusal(error) ? unavailable.test(code) : isBroken(error)) return Problem.ofStorage(message)
  return error
}

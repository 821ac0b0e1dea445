import type { ProblemCode } from './codes.ts'
import type { TaskError } from './task.ts'

/**
 * The one error class. `message` is for the client and safe to show. `cause` is for the operator and appears only in
 * the log. `core/codes.ts` has the HTTP status of each code, `core/timing.ts` says how often the engine tries again.
 */
export class Problem extends Error {
  readonly code: ProblemCode
  /** The request field at fault, if there is one. */
  readonly param: string | null
  /** Whether the same action may succeed later. */
  readonly retryable: boolean

  constructor(code: ProblemCode, message: string, options: ProblemOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: unquoted(options.cause) })
    this.name = 'Problem'
    this.code = code
    this.param = options.param ?? null
    this.retryable = options.retryable ?? false
  }

  /**
   * Converts anything thrown. A fault of the disk is `storage_unavailable`; every other error is `internal`, and only
   * the operator sees its text.
   */
  static from(thrown: unknown): Problem {
    if (thrown instanceof Problem) return thrown
    if (storageFaultCodes.has(codeOf(thrown) ?? '')) return Problem.ofStorage(thrown)
    return new Problem('internal', 'Something went wrong on our side.', { cause: thrown, retryable: true })
  }

  static ofStorage(cause: unknown): Problem {
    const message = 'The service cannot store anything right now. Try again shortly.'
    return new Problem('storage_unavailable', message, { cause, retryable: true })
  }

  /** Proves nothing: the outcome of a submit stays unknown, and a task is polled again. */
  static ofUnclearResponse(cause: unknown): Problem {
    const message = 'The provider returned an unclear response.'
    return new Problem('provider_unavailable', message, { cause, retryable: true })
  }

  /** Thrown by a store if a response names an operation of another attempt. */
  static ofTakenOperation(cause: unknown): Problem {
    return new Problem('operation_taken', 'This operation already belongs to another attempt.', { cause })
  }

  /** Thrown by a store if the owner has used the key before. */
  static ofTakenKey(cause: unknown): Problem {
    return new Problem('idempotency_key_taken', 'This Idempotency-Key already has a video.', { cause })
  }
}

/** With its cause, for the timeline and the attempt. The engine cuts secrets out. */
export function errorForOperator({ code, message, cause }: Problem): TaskError {
  // The cause of a child process is text, with a stack after its first line.
  const reason = cause instanceof Error ? cause.message : String(cause).split('\n', 1)[0]
  return { code, message: (cause === undefined ? message : `${message} (${reason})`).slice(0, 500) }
}

/** JSON.parse quotes the text that it can't read, which may contain a key: only the stack is kept. */
function unquoted(cause: unknown): unknown {
  if (!(cause instanceof SyntaxError)) return cause
  const plain = new SyntaxError('the text is not JSON')
  const frames = cause.stack?.split('\n').filter((line) => /^ {4}at /.test(line)) ?? []
  plain.stack = [String(plain), ...frames].join('\n')
  return plain
}

/** The message of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The code of an error of the system or of a library, such as ENOENT. */
export function codeOf(thrown: unknown): string | undefined {
  const code = typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** What sort of error it is, without anything that differs from one failure to the next. */
export function kindOf(thrown: unknown): string {
  return codeOf(thrown) ?? (thrown instanceof Error ? thrown.name : '')
}

/** Codes of the system: the disk is full, broken or read-only, or there are no more files, processes or memory. */
const storageFaultCodes = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])

interface ProblemOptions {
  param?: string
  retryable?: boolean
  cause?: unknown
}

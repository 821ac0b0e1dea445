import { codeOf } from '../core/problem.ts'
import { flagOf } from './flags.ts'
import type { Task } from './video.ts'

/** Ends a command early with a message for the user. Any other error is a bug. */
export class Failure extends Error {
  readonly exitCode: number
  /** What to do about it, on separate lines. */
  readonly hint: string | null
  constructor(message: string, { exitCode = 1, hint = null, cause }: FailureOptions = {}) {
    super(message, { cause })
    this.exitCode = exitCode
    this.hint = hint
  }

  /** What `--json` prints. */
  toJSON(): Record<string, unknown> {
    return { error: { message: this.message } }
  }
}

interface FailureOptions {
  exitCode?: number
  hint?: string | null
  cause?: unknown
}

export const exits = { done: 0, error: 1, usage: 2, videoFailed: 3, interrupted: 130 } as const

/** A mistake in the command: nothing was sent. */
export class UsageFailure extends Failure {
  constructor(message: string, hint: string | null = null) {
    super(message, { exitCode: exits.usage, hint })
  }
}

/** An error response of the server. */
export class ServerFailure extends Failure {
  readonly status: number
  readonly code: string | null
  readonly param: string | null
  readonly requestId: string | null
  readonly retryAfterMs: number | null
  constructor(message: string, facts: ServerFacts, hint: string | null = null) {
    const about = [facts.param && placeOf(facts.param, message), facts.requestId && `request ${facts.requestId}`]
    const known = about.filter(Boolean).join(', ')
    super(known ? `${message} (${known})` : message, { hint })
    this.status = facts.status
    this.code = facts.code
    this.param = facts.param
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
  }

  override toJSON() {
    const { message, status, code, param, requestId } = this
    return { error: { message, status, code, param, request_id: requestId } }
  }
}

/** The option for a parameter; '' if the message names it already. */
function placeOf(param: string, message: string): string {
  const flag = flagOf(param) ?? `param ${param}`
  return message.includes(flag) ? '' : flag
}

interface ServerFacts {
  status: number
  code: string | null
  param: string | null
  requestId: string | null
  retryAfterMs: number | null
}

/** The server could not be reached, or the connection failed. */
export class NetworkFailure extends Failure {
  /** False only if certainly no byte of the request reached the server. */
  readonly sent: boolean
  constructor(message: string, { sent, hint = null, cause }: { sent: boolean; hint?: string | null; cause?: unknown }) {
    super(message, { hint, cause })
    this.sent = sent
  }
}

/** The outcome of a submit is unknown: sending it again could create, and bill, the same video twice. */
export class UnknownOutcome extends Failure {}

export function isTransient(error: unknown): error is ServerFailure | NetworkFailure {
  if (error instanceof NetworkFailure) return true
  return error instanceof ServerFailure && (error.status === 408 || error.status === 429 || error.status >= 500)
}

/** The task failed on the server. */
export class VideoFailure extends Failure {
  readonly task: Task
  constructor(task: Task) {
    const { message = 'no reason given', code = null } = task.error ?? {}
    super(`the video failed: ${message}${code === null ? '' : ` (${code})`}`, { exitCode: exits.videoFailed })
    this.task = task
  }

  override toJSON() {
    return { ...this.task.raw, file: null }
  }
}

/** The user interrupted the command. The task, if it exists, keeps running unless the message says otherwise. */
export class Interrupted extends Failure {
  readonly task: Task | null
  constructor(message: string, { task = null, hint = null }: { task?: Task | null; hint?: string | null } = {}) {
    super(message, { exitCode: exits.interrupted, hint })
    this.task = task
  }

  override toJSON() {
    return this.task ? { ...this.task.raw, file: null } : super.toJSON()
  }
}

const diskFaults: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is exceeded',
  EROFS: 'the disk is read-only',
}

/** A fault of the whole disk, so that nothing else can be written either. Null for any other error. */
export function diskFault(error: unknown): string | null {
  const cause = error instanceof Error ? error.cause : undefined
  return diskFaults[codeOf(error) ?? ''] ?? (cause ? diskFault(cause) : null)
}

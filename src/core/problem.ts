/**
 * The one error class. `message` is for the client and safe to show. `cause` is for the operator and appears only in
 * the log. `api/errors.ts` maps a code to an HTTP status, `core/timing.ts` says how often the engine tries again.
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
    if (storageFaults.has((thrown as { code?: string } | undefined)?.code ?? '')) return Problem.ofStorage(thrown)
    return new Problem('internal', 'Something went wrong on our side.', { cause: thrown, retryable: true })
  }

  static ofStorage(cause: unknown): Problem {
    const message = 'The service cannot store anything right now. Try again shortly.'
    return new Problem('storage_unavailable', message, { cause, retryable: true })
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

/** JSON.parse quotes the text that it can't read, which may contain a key: only the stack is kept. */
function unquoted(cause: unknown): unknown {
  if (!(cause instanceof SyntaxError)) return cause
  const plain = new SyntaxError('the text is not JSON')
  const frames = cause.stack?.split('\n').filter((line) => /^ {4}at /.test(line)) ?? []
  plain.stack = [String(plain), ...frames].join('\n')
  return plain
}

/** Codes of the system: the disk is full, broken or read-only, or there are no more files, processes or memory. */
const storageFaults = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])

interface ProblemOptions {
  param?: string
  retryable?: boolean
  cause?: unknown
}

export type ProblemCode =
  // the request
  | 'invalid_request'
  | 'invalid_json'
  | 'invalid_multipart'
  | 'invalid_type'
  | 'invalid_value'
  | 'missing_required_parameter'
  | 'unknown_parameter'
  | 'invalid_image'
  | 'invalid_image_url'
  | 'invalid_video'
  | 'invalid_webhook_url'
  | 'webhook_endpoint_not_found'
  | 'webhook_delivery_not_found'
  | 'webhook_unanswered'
  | 'unsupported_media_type'
  | 'body_too_large'
  | 'invalid_api_key'
  | 'model_not_found'
  | 'account_not_found'
  | 'unknown_url'
  | 'method_not_allowed'
  | 'idempotency_key_taken'
  | 'idempotency_key_reused'
  | 'rate_limit_exceeded'
  // the video
  | 'video_not_found'
  | 'video_not_ready'
  | 'video_failed'
  | 'video_expired'
  | 'video_not_usable'
  | 'range_not_satisfiable'
  // the task
  | 'image_unavailable'
  | 'generation_failed'
  | 'output_unavailable'
  | 'unsupported_output'
  | 'provider_unavailable'
  | 'provider_unreachable'
  | 'submission_unknown'
  | 'content_policy'
  | 'deadline_exceeded'
  | 'lost_upstream'
  | 'operation_taken'
  // ourselves
  | 'overloaded'
  | 'storage_unavailable'
  | 'internal'

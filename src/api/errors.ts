import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem, type ProblemCode } from '../core/problem.ts'
import type { Log } from '../telemetry/log.ts'
import type { ErrorResponse } from '../wire/videos.ts'
import { maxBodyBytes } from './body.ts'

/** The one map from a problem to an HTTP status. SDKs retry 408, 409, 429 and ≥ 500 by themselves. */
export const statuses: Readonly<Record<ProblemCode, number>> = {
  invalid_request: 400,
  invalid_json: 400,
  invalid_multipart: 400,
  invalid_type: 400,
  invalid_value: 400,
  missing_required_parameter: 400,
  unknown_parameter: 400,
  invalid_image: 400,
  invalid_image_url: 400,
  invalid_webhook_url: 400,
  // An answer that an SDK does not repeat by itself: the receiver would get it again and again.
  webhook_unanswered: 400,
  invalid_video: 400,
  video_not_usable: 400,
  operation_taken: 400,
  invalid_api_key: 401,
  model_not_found: 404,
  account_not_found: 404,
  unknown_url: 404,
  webhook_endpoint_not_found: 404,
  webhook_delivery_not_found: 404,
  video_not_found: 404,
  video_not_ready: 404,
  video_failed: 404,
  method_not_allowed: 405,
  video_expired: 410,
  body_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  idempotency_key_taken: 422,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  // These end a task and are shown in its `error`; as answers to a request they would be ours to mend.
  image_unavailable: 500,
  generation_failed: 500,
  output_unavailable: 500,
  unsupported_output: 500,
  provider_unavailable: 500,
  provider_unreachable: 500,
  submission_unknown: 500,
  content_policy: 500,
  deadline_exceeded: 500,
  lost_upstream: 500,
  internal: 500,
  overloaded: 503,
  storage_unavailable: 503,
}

function toWireError(problem: Problem, sentAs?: ReadonlyMap<string, string>): ErrorResponse {
  const status = statuses[problem.code]
  const type = status >= 500 ? 'server_error' : status === 429 ? 'requests' : 'invalid_request_error'
  const { message, code, param } = problem
  return { error: { message, type, param: (param && sentAs?.get(param)) ?? param, code } }
}

/** An id that is not there and one of another token get the same answer. */
export function notFound(id: string, param = 'video_id'): Problem {
  return new Problem('video_not_found', `Video '${id.slice(0, 100)}' not found.`, { param })
}

/** Refusals are one line in so long: a crowd would fill the log. */
const quietMs = 60_000

/** Everything that is thrown while a request is served ends here. */
export function errorHandler(log: Log, clock: Clock) {
  let lastLine = Number.NEGATIVE_INFINITY

  function warnOfRefusals({ message, code }: Problem, { method, url }: FastifyRequest): void {
    const now = clock.now()
    if (now - lastLine < quietMs) return
    lastLine = now
    log.warn('requests are refused: too much at once', { method, url, code, message })
  }

  return (thrown: FastifyError | Error, request: FastifyRequest, reply: FastifyReply) => {
    const problem = thrown instanceof Problem ? thrown : fromFramework(thrown as FastifyError, request)
    const status = statuses[problem.code]
    // Who went away while he waited for room has not been refused.
    const isLeft = problem.code === 'overloaded' && reply.raw.destroyed
    // One of our limits was reached. What has a cause beyond that is an error.
    const isRefusal = problem.code === 'overloaded' && problem.cause === undefined
    if (isRefusal && !isLeft) warnOfRefusals(problem, request)
    else if (status >= 500 && !isLeft) {
      const { method, url } = request
      log.error('request failed', {
        request: request.id,
        method,
        url,
        code: problem.code,
        cause: problem.cause ?? problem,
      })
    }
    if ((status === 503 || status === 429) && !reply.hasHeader('retry-after')) reply.header('retry-after', '5')
    // A client that is still sending will not read an answer on a connection that stays open for its body.
    if (problem.code === 'body_too_large') reply.header('connection', 'close')
    // A URL that can't be read never reaches the hook that sets this.
    reply.header('x-request-id', request.id)
    return reply.code(status).type('application/json; charset=utf-8').send(toWireError(problem, request.sentAs))
  }
}

export function notFoundHandler(request: FastifyRequest): never {
  const there = /^\/operator\b/.test(request.url)
    ? 'The operator has /operator/v1/tasks/{id}, /operator/v1/attempts and /operator/v1/accounts.'
    : 'See GET /v1/models and POST /v1/videos.'
  throw unknownUrl(request, there)
}

/** Of a process that only works: what it lacks is there, elsewhere. */
export function workerHandler(request: FastifyRequest): never {
  const there =
    'This process is a worker, with /livez and /readyz alone: send requests to one with the role api or all.'
  throw unknownUrl(request, there)
}

function unknownUrl({ method, url }: FastifyRequest, there: string): Problem {
  const path = url.split('?', 1)[0]?.slice(0, 200) ?? ''
  return new Problem('unknown_url', `Unknown request URL: ${method} ${path}. ${there}`)
}

/** What Fastify and its parsers throw, in our words: theirs speak of their own settings. */
function fromFramework(error: FastifyError, request: FastifyRequest): Problem {
  const cause = error
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', typesOf(request), { cause })
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `The request is too large: ${largestOf(request)}.`, { cause })
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new Problem('invalid_json', 'The body is empty: send a JSON object.', { cause })
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new Problem('invalid_json', 'The body is not valid JSON.', { cause })
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', 'The body is not as long as Content-Length says.', { cause })
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_request', 'The URL is malformed.', { cause })
  }
  if (error instanceof SyntaxError && error.statusCode === 400)
    return new Problem('invalid_json', 'The body is not valid JSON.', { cause })
  if (error.statusCode && error.statusCode < 500) {
    return new Problem('invalid_request', 'The request is malformed.', { cause })
  }
  return Problem.from(error)
}

/** What of a JSON body may be large. */
function largestOf({ routeOptions: { bodyLimit }, server }: FastifyRequest): string {
  if (bodyLimit === server.initialConfig.bodyLimit) return `its body may have up to ${bodyLimit / 2 ** 10} KiB`
  return bodyLimit === maxBodyBytes
    ? 'a reference image may have up to 20 MiB'
    : 'send a video as a file of a form, not as JSON'
}

/** What a route takes as its body. */
function typesOf({ routeOptions, server }: FastifyRequest): string {
  if (!routeOptions.schema?.body) return 'This request has no body: send none, and no Content-Type.'
  return server.hasContentTypeParser('multipart/form-data')
    ? 'Send the request as application/json, multipart/form-data or application/x-www-form-urlencoded.'
    : 'Send the request as application/json.'
}

/** Bytes that are no HTTP request never reach Fastify: they are answered on the bare socket, in the same shape. */
export function clientErrorHandler(newRequestId: () => string) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    // What is being answered on this connection must not get a second answer into its body.
    if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) return void socket.destroy()
    const timeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
    const status = timeout
      ? '408 Request Timeout'
      : tooLarge
        ? '431 Request Header Fields Too Large'
        : '400 Bad Request'
    const message = timeout
      ? 'The request took too long to arrive.'
      : tooLarge
        ? 'The headers are too large.'
        : 'The request is not valid HTTP.'
    const body = JSON.stringify(toWireError(new Problem('invalid_request', message)))
    const head = [
      `HTTP/1.1 ${status}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
    ]
    socket.end(`${[...head, `x-request-id: ${newRequestId()}`, 'connection: close'].join('\r\n')}\r\n\r\n${body}`)
  }
}

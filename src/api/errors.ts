import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { isLasting, type ProblemCode, problemCodes } from '../core/codes.ts'
import type { Outage } from '../core/outage.ts'
import { kindOf, Problem } from '../core/problem.ts'
import type { Log } from '../telemetry/log.ts'
import type { ErrorResponse } from '../wire/service.ts'
import { imageLimit, maxBodyBytes } from './body.ts'

function toWireError(problem: Problem, sentAs?: ReadonlyMap<string, string>): ErrorResponse {
  const status = problemCodes[problem.code].status
  const { code, param } = problem
  const type = status >= 500 ? 'server_error' : status === 429 ? typeOf429(code) : 'invalid_request_error'
  const sent = param === null ? undefined : sentAs?.get(param)
  const names = sent === 'width' ? "'width' and 'height'" : `'${sent}'`
  const message = sent === undefined ? problem.message : `${problem.message} You sent it as ${names}.`
  return { error: { message, type, param: sent ?? param, code } }
}

/** OpenAI's types. Clients tell by them whether a later try may help. */
function typeOf429(code: ProblemCode): 'insufficient_quota' | 'requests' {
  return isLasting(code) ? 'insufficient_quota' : 'requests'
}

/** A video of another token gets the same response as one that does not exist. */
export function notFound(id: string, param = 'video_id'): Problem {
  return new Problem('video_not_found', `Video '${id.slice(0, 100)}' not found.`, { param })
}

/** Refusals are logged at most once in this time, so that many of them can't fill the log. */
const quietMs = 60_000

/** Everything that is thrown while a request is served ends here. A store that does not respond fails many requests. */
export function errorHandler(log: Log, clock: Clock, storage: Outage) {
  let lastLine = Number.NEGATIVE_INFINITY

  function warnOfRefusals({ message, code }: Problem, { id, method, url }: FastifyRequest): void {
    const now = clock.now()
    if (now - lastLine < quietMs) return
    lastLine = now
    log.warn('requests are refused: too much at once', { request: id, method, url, code, message })
  }

  function logFailure(problem: Problem, { id, method, url, trace }: FastifyRequest): void {
    const { code, cause = problem } = problem
    const fields = { request: id, ...(trace && { trace_id: trace.traceId }), method, url, code, cause }
    if (code === 'storage_unavailable') storage.failed(fields, kindOf(cause))
    else log.error('request failed', fields)
  }

  return (thrown: FastifyError | Error, request: FastifyRequest, reply: FastifyReply) => {
    const problem = thrown instanceof Problem ? thrown : fromFramework(thrown as FastifyError, request)
    const status = problemCodes[problem.code].status
    // A client that disconnected while it waited was not refused.
    const isLeft = problem.code === 'overloaded' && reply.raw.destroyed
    // One of our limits was reached. With any other cause it is an error.
    const isRefusal = problem.code === 'overloaded' && problem.cause === undefined
    if (isRefusal && !isLeft) warnOfRefusals(problem, request)
    else if (status >= 500 && !isLeft) logFailure(problem, request)
    // OpenAI's SDKs obey this header. A cap resets hours or days later, or never, and so do stored bytes.
    if (isLasting(problem.code)) reply.header('x-should-retry', 'false')
    else if ((status === 503 || status === 429) && !reply.hasHeader('retry-after')) reply.header('retry-after', '5')
    // A client that is still sending its body reads the response only if the connection closes.
    if (problem.code === 'body_too_large') reply.header('connection', 'close')
    // For a malformed URL the hook that sets this header does not run.
    reply.header('x-request-id', request.id)
    return reply.code(status).type('application/json; charset=utf-8').send(toWireError(problem, request.sentAs))
  }
}

export function notFoundHandler(request: FastifyRequest): never {
  const advice = /^\/operator\b/.test(request.url)
    ? 'Operator routes are /operator/v1/tasks, /operator/v1/attempts, /operator/v1/accounts, /operator/v1/models, /operator/v1/aliases, /operator/v1/tokens, /operator/v1/quote, /operator/v1/usage and /operator/v1/audit.'
    : 'See GET /v1/models and POST /v1/videos.'
  throw unknownUrl(request, advice)
}

/** For a worker process, which has no routes but health checks and metrics. */
export function workerHandler(request: FastifyRequest): never {
  const advice =
    'This process is a worker and has only /livez, /readyz and /metrics. Send requests to a process with the role api or all.'
  throw unknownUrl(request, advice)
}

function unknownUrl({ method, url }: FastifyRequest, advice: string): Problem {
  const path = url.split('?', 1)[0]?.slice(0, 200) ?? ''
  return new Problem('unknown_url', `Unknown request URL: ${method} ${path}. ${advice}`)
}

/** Errors of Fastify and its parsers, in our words: their messages are about their own settings. */
function fromFramework(error: FastifyError, request: FastifyRequest): Problem {
  const cause = error
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', typesOf(request), { cause })
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `The request is too large: ${largestOf(request)}.`, { cause })
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new Problem('invalid_json', 'The body is empty. Send a JSON object.', { cause })
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new Problem('invalid_json', 'The body is not valid JSON.', { cause })
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', 'The length of the body differs from Content-Length.', { cause })
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

/** How large a JSON body may be. */
function largestOf({ routeOptions: { bodyLimit }, server }: FastifyRequest): string {
  if (bodyLimit === server.initialConfig.bodyLimit) return `its body may have up to ${bodyLimit / 2 ** 10} KiB`
  return bodyLimit === maxBodyBytes ? imageLimit : 'send a video as a file of a form, not as JSON'
}

/** The content types that a route accepts. */
function typesOf({ routeOptions, server }: FastifyRequest): string {
  if (!routeOptions.schema?.body) return 'This request has no body. Send no body and no Content-Type.'
  return server.hasContentTypeParser('multipart/form-data')
    ? 'Send the request as application/json, multipart/form-data or application/x-www-form-urlencoded.'
    : 'Send the request as application/json.'
}

/** Bytes that are not HTTP never reach Fastify. The same error is written to the socket directly. */
export function clientErrorHandler(newRequestId: () => string) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    // A response that is being sent on this connection must not get a second one into its body.
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

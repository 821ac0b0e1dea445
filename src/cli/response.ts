import { parseRetryAfter } from '../core/retry-after.ts'
import { isObject } from '../wire/schema.ts'
import { Failure, NetworkFailure, ServerFailure } from './failure.ts'
import { inFlags } from './flags.ts'
import { printable } from './screen/text.ts'
import { stringOrNull } from './video.ts'

/** A page of a hundred tasks with the longest prompts is far smaller. */
const mostBytes = 8 * 2 ** 20

/** A response without an end would fill the memory. */
class TooLong extends Failure {
  constructor() {
    super('the response of the server is larger than 8 MiB; the connection was closed')
  }
}

/** The text of a response that is not a video. */
export async function readText({ body }: Response): Promise<string> {
  if (!body) return ''
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop closes the connection.
  for await (const chunk of body) {
    length += chunk.length
    if (length > mostBytes) throw new TooLong()
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

/** An error response, with the server's own message. */
export async function readFailure(
  response: Response,
  { baseUrl, tokenSource }: { baseUrl: string; tokenSource: string },
): Promise<ServerFailure> {
  const { status, headers } = response
  const text = await readText(response).catch((thrown: unknown) => (thrown instanceof TooLong ? thrown : ''))
  const error = errorOf(text instanceof TooLong ? '' : text)
  const { message, hint } = inOurWords(printable(stringOrNull(error.message) ?? '').slice(0, 2_000))
  const facts = {
    status,
    code: stringOrNull(error.code),
    param: stringOrNull(error.param),
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterOf(headers),
  }
  const plain = `the server at ${baseUrl} responded with ${status}${response.statusText ? ` ${response.statusText}` : ''}`
  const said = text instanceof TooLong ? `${plain}; ${text.message}` : message || plain
  const missing = status === 404 && /\/videos\/[^/]+/.test(response.url) ? 'Your videos:\n  filmgate list' : null
  return new ServerFailure(
    said,
    facts,
    hint ?? (status === 401 || status === 403 ? `The token came from ${tokenSource}.` : missing),
  )
}

/** Replaces names of the API with the options and commands of the command line. */
function inOurWords(message: string): { message: string; hint: string | null } {
  const models = / ?GET \/v1\/models lists the models you can use\./
  return {
    message: inFlags(message.replace(models, '')),
    hint: models.test(message) ? 'The models you can use:\n  filmgate models' : null,
  }
}

function errorOf(text: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text)
    const error = isObject(json) ? (json.error ?? json) : {}
    return isObject(error) ? error : { message: error }
  } catch {
    // The HTML page of a proxy says less than its status.
    return {}
  }
}

/** At most a minute: a server that asks for an hour would look like a hang. */
export function retryAfterOf(headers: Headers): number | null {
  const exact = Number(headers.get('retry-after-ms') ?? Number.NaN)
  const ms = Number.isFinite(exact)
    ? exact
    : parseRetryAfter(headers.get('retry-after'), Date.parse(headers.get('date') ?? ''))
  return ms === undefined ? null : Math.min(60_000, Math.max(0, ms))
}

export function redirected(response: Response, baseUrl: string): Failure {
  const where = response.headers.get('location')
  const target = where === null ? 'elsewhere' : (URL.parse(where, response.url)?.origin ?? 'elsewhere')
  const facts = { status: response.status, code: null, param: null, requestId: null, retryAfterMs: null }
  return new ServerFailure(`${baseUrl} redirects to ${target}`, facts, 'Use that as --base-url.')
}

/** With these codes certainly nothing was sent. Any other code may come after the request was sent. */
const beforeSending: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved',
  EHOSTUNREACH: "the host can't be reached",
  ENETUNREACH: "the network can't be reached",
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  'bad port': 'fetch refuses that port',
}

const notListening = `Is the server running? Start one:
  filmgate serve
Is it elsewhere? Set its address with --base-url or FILMGATE_BASE_URL.`

export function networkFailure(thrown: unknown, baseUrl: string): NetworkFailure {
  const { cause = thrown } = thrown as { cause?: unknown }
  const { message = '', code = message } = cause as { code?: string; message?: string }
  const certificate = /^[A-Z_]*(CERT|SSL|TLS|SELF_SIGNED|ISSUER)/.test(code)
  const before = beforeSending[code]
  if (before !== undefined || certificate) {
    const hint = code === 'ECONNREFUSED' ? notListening : null
    const reason = before ?? `its certificate is not accepted (${message})`
    return new NetworkFailure(`can't connect to ${baseUrl}: ${reason}`, { sent: false, hint, cause: thrown })
  }
  const isLate = thrown instanceof Error && thrown.name === 'TimeoutError'
  const reason = isLate ? 'no response in time' : `the connection broke (${code || 'no reason given'})`
  return new NetworkFailure(`${reason}: ${baseUrl}`, { sent: true, cause: thrown })
}

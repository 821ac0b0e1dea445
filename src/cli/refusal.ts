import { askedMs } from '../core/retry-after.ts'
import { isObject } from '../wire/schema.ts'
import { readText, TooLong } from './body.ts'
import { type Failure, NetworkFailure, ServerFailure } from './failure.ts'
import { printable } from './screen/text.ts'
import { textOf } from './video.ts'

/** An answer that is no success, in the server's own words. */
export async function readFailure(
  answer: Response,
  { baseUrl, tokenSource }: { baseUrl: string; tokenSource: string },
): Promise<ServerFailure> {
  const { status, headers } = answer
  const text = await readText(answer).catch((thrown: unknown) => (thrown instanceof TooLong ? thrown : ''))
  const error = errorOf(text instanceof TooLong ? '' : text)
  const { message, hint } = inOurWords(printable(textOf(error.message) ?? '').slice(0, 2_000))
  const facts = {
    status,
    code: textOf(error.code),
    param: textOf(error.param),
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterOf(headers),
  }
  const plain = `the server at ${baseUrl} answered ${status}${answer.statusText ? ` ${answer.statusText}` : ''}`
  const said = text instanceof TooLong ? `${plain}; ${text.message}` : message || plain
  const missing = status === 404 && /\/videos\/[^/]+/.test(answer.url) ? 'The videos there are:\n  filmgate list' : null
  return new ServerFailure(said, facts, hint ?? (status === 401 ? `The token came from ${tokenSource}.` : missing))
}

/** What the API calls by names that nobody types here. */
function inOurWords(message: string): { message: string; hint: string | null } {
  const models = / ?GET \/v1\/models lists the models you can use\./
  return {
    message: message.replace(models, '').replaceAll(/'input_reference(\.image_url)?'/g, '--image'),
    hint: models.test(message) ? 'The models you can use:\n  filmgate models' : null,
  }
}

function errorOf(text: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text)
    const error = isObject(json) ? (json.error ?? json) : {}
    return isObject(error) ? error : { message: error }
  } catch {
    // A proxy's page in HTML says less than its status.
    return {}
  }
}

/** Clamped to a minute: a server that asks for an hour would look like a hang. */
export function retryAfterOf(headers: Headers): number | null {
  const exact = Number(headers.get('retry-after-ms') ?? Number.NaN)
  const ms = Number.isFinite(exact) ? exact : askedMs(headers.get('retry-after'), Date.parse(headers.get('date') ?? ''))
  return ms === undefined ? null : Math.min(60_000, Math.max(0, ms))
}

export function redirected(answer: Response, baseUrl: string): Failure {
  const where = answer.headers.get('location')
  const target = where === null ? 'elsewhere' : (URL.parse(where, answer.url)?.origin ?? 'elsewhere')
  const facts = { status: answer.status, code: null, param: null, requestId: null, retryAfterMs: null }
  return new ServerFailure(`${baseUrl} sends requests on to ${target}`, facts, 'Give that as the --base-url.')
}

/** Where nothing can have been sent. Any other code may come after the request went out. */
const beforeSending: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name could not be looked up',
  EHOSTUNREACH: 'the host can not be reached',
  ENETUNREACH: 'the network can not be reached',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  'bad port': 'fetch refuses that port',
}

const notListening = `Is the server running? Start one:
  filmgate serve
Is it elsewhere? Say where with --base-url, or set FILMGATE_BASE_URL.`

export function networkFailure(thrown: unknown, { baseUrl, timedOut }: { baseUrl: string; timedOut: boolean }) {
  const { cause = thrown } = thrown as { cause?: unknown }
  const { message = '', code = message } = cause as { code?: string; message?: string }
  const certificate = /^[A-Z_]*(CERT|SSL|TLS|SELF_SIGNED|ISSUER)/.test(code)
  const before = beforeSending[code]
  if (before !== undefined || certificate) {
    const hint = code === 'ECONNREFUSED' ? notListening : null
    const reason = before ?? `its certificate is not accepted (${message})`
    return new NetworkFailure(`can't connect to ${baseUrl}: ${reason}`, { sent: false, hint, cause: thrown })
  }
  const reason = timedOut ? 'no answer in time' : `the connection broke (${code || 'no reason given'})`
  return new NetworkFailure(`${reason}: ${baseUrl}`, { sent: true, cause: thrown })
}

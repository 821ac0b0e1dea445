import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, verify } from 'node:crypto'
import { json } from './upstream/answer.ts'
import type { Claim, Job } from './upstream/jobs.ts'
import {
  type Fields,
  objectOf,
  type Place,
  parsed,
  type Question,
  respond,
  type Wire,
  type WireRequest,
} from './upstream/wire.ts'

/** The fields of a service account's key file that matter here. */
export interface ServiceAccount {
  type: 'service_account'
  project_id: string
  private_key_id: string
  private_key: string
  client_email: string
}

export function newServiceAccount(): ServiceAccount {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return {
    type: 'service_account',
    project_id: 'film-project-1',
    private_key_id: randomUUID().replaceAll('-', ''),
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    client_email: 'films@film-project-1.iam.gserviceaccount.com',
  }
}

/** Veo on Vertex AI, for this service account only. Without a bucket, a film is inside its poll. */
export function vertexWire(account: ServiceAccount = newServiceAccount(), now: () => number = Date.now): Wire {
  const key = createPublicKey(account.private_key)
  return {
    mode: 'none',
    filmsApart: false,
    newId: () => randomUUID(),
    isSubmit: ({ method, path }) => method === 'POST' && path.endsWith(':predictLongRunning'),
    read: (asked) => read(asked, { account, key, now }),
    accepted: (job) => json(200, { name: nameOf(job) }),
    polled: (job, claim, at) => json(200, polled(job, claim, at)),
    unknown: () => failure(404, 'NOT_FOUND', 'The operation was not found.'),
  }
}

const failure = (code: number, status: string, message: string) => json(code, { error: { code, message, status } })
const invalid = (message: string) => failure(400, 'INVALID_ARGUMENT', message)
const unauthenticated = (message: string) => failure(401, 'UNAUTHENTICATED', message)

/** What a token is checked with. */
interface TokenCheck {
  account: ServiceAccount
  key: KeyObject
  now: () => number
}

function read(asked: WireRequest, check: TokenCheck): Question {
  const { account } = check
  const { method, path, headers } = asked
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
  const wrong = token === undefined ? 'Request is missing required authentication credential.' : mistakeIn(token, check)
  if (wrong !== undefined) return respond(unauthenticated(wrong))
  const [, project, place, rest] = /^\/v1(?:beta1)?\/projects\/([^/]+)\/locations\/([^/]+)\/(.+)$/.exec(path) ?? []
  if (rest === undefined || place !== 'us-central1') return respond(failure(404, 'NOT_FOUND', 'Not found.'))
  if (project !== account.project_id)
    return respond(failure(403, 'PERMISSION_DENIED', 'Permission denied on resource project.'))
  if (rest === 'models' && method === 'GET') return respond(json(200, {}))
  const [, model, action] = /^publishers\/google\/models\/([^/:]+):(\w+)$/.exec(rest) ?? []
  if (model === undefined || method !== 'POST') return respond(failure(404, 'NOT_FOUND', 'Not found.'))
  if (!models.includes(model)) return respond(failure(404, 'NOT_FOUND', `Publisher Model ${model} was not found.`))
  const parent = `projects/${project}/locations/${place}/publishers/google/models/${model}`
  const fields = objectOf(parsed(asked.body))
  if (action === 'predictLongRunning') return readSubmit(fields, { model, parent, bearer: account.client_email })
  const { operationName } = fields
  if (action !== 'fetchPredictOperation') return respond(failure(404, 'NOT_FOUND', 'Not found.'))
  const isOwn = typeof operationName === 'string' && operationName.startsWith(`${parent}/operations/`)
  return isOwn
    ? { ask: 'poll', id: operationName.split('/').at(-1) ?? '' }
    : respond(invalid('Invalid operation name.'))
}

/** Checks a self-signed token of a service account as Google does. */
function mistakeIn(token: string, { account, key, now: clock }: TokenCheck): string | undefined {
  const [head = '', claims = '', signature = ''] = token.split('.')
  const { alg, kid } = decoded(head)
  const { iss, sub, scope, iat, exp } = decoded(claims)
  const isSigned = verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'))
  if (alg !== 'RS256' || kid !== account.private_key_id || !isSigned) return 'The signature of the token is not valid.'
  if (iss !== account.client_email || sub !== iss) return 'The token is of nobody.'
  const now = clock() / 1_000
  const isNow = typeof iat === 'number' && typeof exp === 'number' && iat <= now + 60 && exp > now && exp - iat <= 3_600
  if (!isNow) return 'The token has expired, or is good for too long.'
  const scopes = typeof scope === 'string' ? scope.split(' ') : []
  return scopes.includes('https://www.googleapis.com/auth/cloud-platform') ? undefined : 'The token has no such scope.'
}

function decoded(part: string): Fields {
  return objectOf(parsed(Buffer.from(part, 'base64url')))
}

const models = ['veo-3.1-generate-001', 'veo-3.1-fast-generate-001', 'veo-3.1-lite-generate-001']

function readSubmit(
  fields: Fields,
  { model, parent, bearer }: { model: string; parent: string; bearer: string },
): Question {
  const [instance, ...others] = Array.isArray(fields.instances) ? fields.instances.map(objectOf) : []
  const parameters = objectOf(fields.parameters)
  if (instance === undefined || others.length > 0) return respond(invalid('One instance is expected.'))
  const { prompt, image, lastFrame } = instance
  const wrong =
    (typeof prompt === 'string' && prompt !== '' ? undefined : 'The prompt is missing.') ??
    [image, lastFrame].map(mistakeInImage).find(Boolean) ??
    mistakeInParameters(parameters, model)
  if (wrong !== undefined) return respond(invalid(wrong))
  const { durationSeconds: seconds = 8, aspectRatio: ratio = '16:9', resolution = '720p' } = parameters
  const body = { model, prompt: String(prompt), seconds, size: { ratio, resolution }, more: parent }
  return { ask: 'submit', submission: { body, key: null, bearer } }
}

function mistakeInImage(image: unknown): string | undefined {
  if (image === undefined) return undefined
  const { bytesBase64Encoded: bytes, gcsUri, mimeType } = objectOf(image)
  if (typeof mimeType !== 'string' || !mimeType.startsWith('image/')) return 'Unsupported image mime type.'
  const isBytes = typeof bytes === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(bytes)
  return isBytes || String(gcsUri).startsWith('gs://') ? undefined : 'The image has no bytes.'
}

/** The accepted values of each parameter. */
const rules: Record<string, (value: unknown, model: string) => boolean> = {
  sampleCount: (value) => value === 1 || value === 2 || value === 3 || value === 4,
  durationSeconds: (value) => value === 4 || value === 6 || value === 8,
  aspectRatio: (value) => value === '16:9' || value === '9:16',
  resolution: (value, model) => value === '720p' || value === '1080p' || (value === '4k' && !model.includes('lite')),
  seed: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32,
  negativePrompt: (value) => typeof value === 'string',
  generateAudio: (value) => typeof value === 'boolean',
  enhancePrompt: (value) => typeof value === 'boolean',
  personGeneration: (value) => value === 'allow_adult' || value === 'dont_allow' || value === 'allow_all',
}

function mistakeInParameters(parameters: Fields, model: string): string | undefined {
  if (parameters.durationSeconds !== undefined && typeof parameters.durationSeconds !== 'number')
    return 'The value type for `durationSeconds` needs to be a number.'
  const strange = Object.keys(parameters).find((name) => !Object.hasOwn(rules, name))
  if (strange !== undefined) return `Unsupported parameter: ${strange}.`
  const wrong = Object.entries(parameters).find(([name, value]) => !rules[name]?.(value, model))
  return wrong && `Unsupported value for ${wrong[0]}.`
}

function nameOf({ id, body }: Job): string {
  return `${body.more}/operations/${id}`
}

/** The API has no progress and no other statuses: any other claimed status is put into `done`. */
function polled(job: Job, { status, error, url }: Claim, { filmOf }: Place): Fields {
  const name = nameOf(job)
  if (status === 'waiting') return { name }
  if (status === 'running') return { name, done: false }
  const type = { '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse' }
  const reasons = ['The video could not be generated. Support codes: 42237218']
  if (status === 'failed' && error === 'policy')
    return { name, done: true, response: { ...type, raiMediaFilteredCount: 1, raiMediaFilteredReasons: reasons } }
  if (status === 'failed') return { name, done: true, error: { code: 13, message: 'Internal error. (simulated)' } }
  if (status !== 'done') return { name, done: status }
  const bytes = typeof url === 'string' ? Buffer.from(filmOf(job)).toString('base64') : url
  const videos = [{ bytesBase64Encoded: bytes, mimeType: 'video/mp4' }]
  return { name, done: true, response: { ...type, raiMediaFilteredCount: 0, videos } }
}

import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { cards, shapes } from './cards/vertex.ts'
import { isOfContent, readRefusal } from './kit/google-errors.ts'
import {
  base64,
  createClient,
  entriesOf,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  isSegment,
  problems,
  readOutline,
  readPath,
  readSubmitted,
  textOf,
  toJson,
  unclear,
  videoAt,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest } from './provider.ts'

/*
 * Veo on Vertex AI. Its peculiarities:
 *   key         is the JSON of a service account. A token that we sign with it is accepted as a bearer, so none has to be
 *               requested (https://google.aip.dev/auth/4111)
 *   operations  are long paths, and are polled by a POST to their model
 *   videos      are base64 inside the last poll, so polls and downloads are read as streams
 *   content     a refusal looks like success: done, without a video
 */

const location = 'us-central1'
const scope = 'https://www.googleapis.com/auth/cloud-platform'

export const vertex: Member = {
  cards,
  baseUrl: `https://${location}-aiplatform.googleapis.com`,
  key: { variable: 'GOOGLE_APPLICATION_CREDENTIALS', isFile: true },
  create: async () => provider,
}

const provider: Provider = {
  name: 'vertex',
  cadenceMs: 10_000,
  recovery: 'none',
  operations: {
    example: `"projects/…/locations/${location}/publishers/google/models/veo-…/operations/…"`,
    fits: isOperation,
  },
  async submit(request, call) {
    const account = readAccount(call)
    if (account === undefined) return { refused: { blame: 'account', problem: problems.refused(noAccount) } }
    const path = `${parentOf(account)}/publishers/google/models/${request.model}:predictLongRunning`
    return readSubmitted(await apiOf(account).send(path, toJson(toUpstream(request)), call), call, {
      refusal: readRefusal,
      operationIn: ({ name }) => (isOperation(name) ? name : undefined),
      named: 'an operation',
    })
  },
  async poll(operation, call) {
    const response = await fetchOperation(String(operation), call, { isPoll: true })
    if (response.status === 404) return { status: 'missing' }
    if (!response.ok) throw unclear(`a poll got ${response.status}`)
    return readProgress(String(operation), await readOutline(response.body))
  },
  async download(output, call) {
    const { inside, at } = fieldsOf(output)
    const path = readPath(at)
    const response = await fetchOperation(String(inside), call)
    if (response.ok) return videoAt(response.body, path)
    throw response.status === 404 ? problems.gone('a download got 404') : unclear(`a download got ${response.status}`)
  },
  async check(call) {
    const account = readAccount(call)
    if (account === undefined) throw problems.refused(`${noAccount}; use the key file of a service account`)
    return apiOf(account).get(`${parentOf(account)}/models?pageSize=1`, call)
  },
}

/** A download even for a poll, because the response may contain the whole video. */
function fetchOperation(operationName: string, call: Call, more: { isPoll?: true } = {}): Promise<Response> {
  const account = readAccount(call)
  if (account === undefined) throw unclear(noAccount)
  const [model] = operationName.split('/operations/')
  const init = { headers: headersOf(account, call), post: JSON.stringify({ operationName }), ...more }
  return call.download(`/v1/${model}:fetchPredictOperation`, init, call.signal)
}

function isOperation(value: unknown): value is string {
  if (typeof value !== 'string') return false
  const form = /^projects\/([^/]+)\/locations\/([^/]+)\/publishers\/google\/models\/([^/]+)\/operations\/([^/]+)$/
  return form.exec(value)?.slice(1).every(isSegment) ?? false
}

interface Account {
  project: string
  email: string
  keyId: string | undefined
  key: KeyObject
}

const noAccount = 'the key is not the JSON of a service account'

/** Undefined if the key is not usable. The reason is not reported: it could contain the key. */
function readAccount({ credential }: Call): Account | undefined {
  try {
    const fields = fieldsOf(JSON.parse(credential ?? ''))
    const [project, email] = [textOf(fields.project_id), textOf(fields.client_email)]
    if (!isSegment(project) || email === undefined) return undefined
    return { project, email, keyId: textOf(fields.private_key_id), key: createPrivateKey(String(fields.private_key)) }
  } catch {
    return undefined
  }
}

function apiOf(account: Account) {
  return createClient((call) => headersOf(account, call))
}

function parentOf({ project }: Account): string {
  return `/v1/projects/${project}/locations/${location}`
}

/** Each request gets a new signature: that takes a millisecond, and no token has to be kept or refreshed. */
function headersOf({ email, keyId, key }: Account, call: Call): Record<string, string> {
  const iat = Math.floor(call.now() / 1_000)
  const head = { alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  const claims = { iss: email, sub: email, scope, iat, exp: iat + 3_600 }
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(text), key).toString('base64url')
  return { authorization: `Bearer ${text}.${signature}`, 'content-type': 'application/json' }
}

export function toUpstream({ prompt, seconds, size, parameters, image }: ProviderRequest) {
  const { resolution, ratio } = shapes[formatSize(size)] ?? {}
  const { seed, negative_prompt: negativePrompt, audio: generateAudio } = parameters
  return {
    instances: [{ prompt, ...(image && { image: { bytesBase64Encoded: base64(image), mimeType: image.type } }) }],
    parameters: {
      sampleCount: 1,
      durationSeconds: seconds,
      aspectRatio: ratio,
      resolution,
      ...(seed !== undefined && { seed }),
      ...(negativePrompt !== undefined && { negativePrompt }),
      ...(generateAudio !== undefined && { generateAudio }),
    },
  }
}

function readProgress(inside: string, { done, error, response }: Fields): Progress {
  if (done !== true) return { status: 'running', progress: null }
  if (error !== undefined) {
    const fields = fieldsOf(error)
    return failed(isOfContent(fields), wordOf(fields.code))
  }
  if (response === undefined) throw unclear('an operation that is done, with neither an error nor a response')
  const [video] = entriesOf(fieldsOf(response).videos)
  if (video === undefined) return failed(true, 'done without a video')
  if (textOf(video.bytesBase64Encoded) === undefined) throw unclear('a video without bytes')
  return { status: 'succeeded', output: { inside, at: ['response', 'videos', 0, 'bytesBase64Encoded'] } }
}

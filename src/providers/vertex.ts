import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { cards, shapes } from './cards/vertex.ts'
import { isOfContent, readRefusal } from './kit/google-errors.ts'
import {
  base64,
  createClient,
  type Fields,
  failed,
  fieldsOf,
  filmAt,
  formatSize,
  isSegment,
  listOf,
  type Path,
  problems,
  readOutline,
  readSubmitted,
  textOf,
  toJson,
  unclear,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest } from './provider.ts'

/*
 * Veo on Vertex AI. What is odd about it:
 *   the key     is the JSON of a service account. A token that we sign ourselves with it is taken as a bearer, so
 *               nobody has to be asked for one (https://google.aip.dev/auth/4111)
 *   operations  are long paths, and are asked about by a POST to their model
 *   a film      is base64 inside the poll that says that it is done: both are read as streams
 *   a refusal of content looks like success: done, and no video
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
    const path = `${placeOf(account)}/publishers/google/models/${request.model}:predictLongRunning`
    return readSubmitted(await apiOf(account).send(path, toJson(toUpstream(request)), call), call, {
      refusal: readRefusal,
      operationIn: ({ name }) => (isOperation(name) ? name : undefined),
      named: 'an operation',
    })
  },
  async poll(operation, call) {
    const response = await ask(String(operation), call, { isQuestion: true })
    if (response.status === 404) return { status: 'missing' }
    if (!response.ok) throw unclear(`a poll got ${response.status}`)
    return readProgress(String(operation), await readOutline(response.body))
  },
  async download(output, call) {
    const { inside, at } = fieldsOf(output)
    const response = await ask(String(inside), call)
    if (response.ok) return filmAt(response.body, at as Path)
    throw response.status === 404 ? problems.gone('a download got 404') : unclear(`a download got ${response.status}`)
  },
  async check(call) {
    const account = readAccount(call)
    return account
      ? apiOf(account).get(`${placeOf(account)}/models?pageSize=1`, call)
      : new Response(null, { status: 401 })
  },
}

/** Whatever it is, its answer may be as long as its film. */
function ask(operationName: string, call: Call, more: { isQuestion?: true } = {}): Promise<Response> {
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

/** Says nothing of what is wrong with a key: it is one. */
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

function placeOf({ project }: Account): string {
  return `/v1/projects/${project}/locations/${location}`
}

/** Signed anew for each request: that takes a millisecond, and nothing has to be kept or refreshed. */
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
      ...{ sampleCount: 1, durationSeconds: seconds, aspectRatio: ratio, resolution },
      ...(seed !== undefined && { seed }),
      ...(negativePrompt !== undefined && { negativePrompt }),
      ...(generateAudio !== undefined && { generateAudio }),
    },
  }
}

function readProgress(inside: string, { done, error, response }: Fields): Progress {
  if (done !== true) return { status: 'running', progress: null }
  if (error !== undefined) {
    const told = fieldsOf(error)
    return failed(isOfContent(told), wordOf(told.code))
  }
  if (response === undefined) throw unclear('an operation that is done, with neither an error nor a response')
  const [video] = listOf(fieldsOf(response).videos)
  if (video === undefined) return failed(true, 'done without a video')
  if (textOf(video.bytesBase64Encoded) === undefined) throw unclear('a video without bytes')
  return { status: 'succeeded', output: { inside, at: ['response', 'videos', 0, 'bytesBase64Encoded'] } }
}

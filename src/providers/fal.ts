import { type Endpoint, type FalModel, falCards, falModel } from './cards/fal.ts'
import {
  createClient,
  dataUri,
  downloadFrom,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  isSegment,
  type Json,
  listOf,
  Problem,
  problems,
  type RefusalDetails,
  readFields,
  readPolled,
  readSubmitted,
  textOf,
  toJson,
  tookCancel,
  tryFields,
  unclear,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest } from './provider.ts'

/*
 * fal's queue. What is odd about it:
 *   - Work is asked for at an endpoint of many segments, and asked about below the first two of them, its app.
 *   - An answer names absolute URLs to ask next. They are never followed: the key goes where the operator sends it.
 *   - The queue takes nearly everything. What is wrong with a request shows when its result is asked for, as the HTTP
 *     status of that answer; so does every other failure. The status only ever says COMPLETED.
 *   - There is no key against duplicates, and nothing on this host lists what was sent.
 */

export const fal: Member = {
  cards: falCards,
  // Its paths, which never begin as our names for its models do.
  otherNames: /^(?!fal\/)[\w.-]+(\/[\w.-]+)+$/,
  baseUrl: 'https://queue.fal.run',
  key: { variable: 'FAL_KEY' },
  create: async () => provider,
}

const api = createClient(({ credential }) => ({ authorization: `Key ${credential}` }))

const provider: Provider = {
  name: 'fal',
  cadenceMs: 3_000,
  recovery: 'none',
  operations: { example: '"fal-ai/kling-video/requests/…"', fits, ofId: operationOf },
  async submit(request, call) {
    const { path, fields } = endpointOf(falModel(request.model), request)
    const untaken = Object.keys(request.parameters).find((name) => !Object.hasOwn(fields, name))
    if (untaken !== undefined) return { refused: { blame: 'request', problem: notTaken(untaken, request) } }
    return readSubmitted(await api.send(`/${path}`, toJson(toUpstream(request)), call), call, {
      accepts: [200, 201, 202],
      refusal: readRefusal,
      operationIn: ({ request_id: id }) => (isSegment(id) ? operationOf(id, path) : undefined),
      named: 'a request_id',
    })
  },
  poll,
  download: async (output, call) => downloadFrom(String(fieldsOf(output).url), call),
  async cancel(operation, call) {
    const response = await api.request('PUT', `/${String(operation)}/cancel`, call)
    if (!tookCancel(response, [400, 404], [200, 202])) return 'too_late'
    // That is only a request, which a run may not heed.
    const { status } = await poll(operation, call)
    return status === 'failed' ? 'cancelled' : 'too_late'
  },
  /** Without work nothing gets 2xx. Work that nobody has is unknown to who has a key, and refused to who has none. */
  async check(call) {
    const response = await api.get(`/fal-ai/veo3.1/requests/${nobody}/status`, call)
    const { detail } = await tryFields(response.clone())
    return response.status === 404 && detail !== undefined ? new Response(null) : response
  },
}

const nobody = '00000000-0000-0000-0000-000000000000'

async function poll(operation: Json, call: Call): Promise<Progress> {
  const path = `/${String(operation)}`
  const read = async (run: Fields): Promise<Progress> =>
    run.status === 'COMPLETED' ? readResult(await api.get(path, call), run) : { status: 'running', progress: null }
  return readPolled(await api.get(`${path}/status`, call), read, [200, 202])
}

function fits(operation: Json): boolean {
  const parts = typeof operation === 'string' ? operation.split('/') : []
  const app = parts.slice(0, -2)
  return app.length > 1 && appOf(app).length === app.length && parts.at(-2) === 'requests' && parts.every(isSegment)
}

/** The segments of an endpoint that make its app. */
function appOf(segments: readonly string[]): readonly string[] {
  return segments.slice(0, segments[0] === 'workflows' || segments[0] === 'comfy' ? 3 : 2)
}

function operationOf(id: string, endpoint: string): string {
  return [...appOf(endpoint.split('/')), 'requests', id].join('/')
}

function endpointOf(model: FalModel, { image, parameters }: ProviderRequest): Endpoint {
  if (!image) return model.text
  return parameters.last_image === undefined ? model.image : (model.between ?? model.image)
}

/** It would be left out without a word. */
function notTaken(name: string, { image }: ProviderRequest): Problem {
  const how = image ? 'with an image' : 'without an image'
  return new Problem('generation_failed', `The provider does not take '${name}' ${how} for this model.`)
}

const durations = {
  text: (seconds: number) => String(seconds),
  'text with s': (seconds: number) => `${seconds}s`,
  number: (seconds: number) => seconds,
}

/** What is asked for, as far as the endpoint has a field for it: some take their shape from the image. */
export function toUpstream(request: ProviderRequest): Record<string, unknown> {
  const { model, prompt, seconds, size, parameters, image } = request
  const known = falModel(model)
  const { fields } = endpointOf(known, request)
  const asked = {
    ...{ prompt, seconds: durations[known.duration](seconds), ...known.shapes[formatSize(size)] },
    ...(image && { image: dataUri(image) }),
    ...parameters,
  }
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, value]) => (Object.hasOwn(fields, name) ? [[fields[name], value]] : [])),
  )
}

async function readRefusal(response: Response): Promise<RefusalDetails> {
  const code = codeOf(response, await tryFields(response))
  return policies.has(code) ? { blame: 'request', problem: problems.policy(code) } : {}
}

/** A film that is not there is mostly one that a maker did not want to hand out, and did not say so. */
const policies = new Set(['content_policy_violation', 'no_media_generated'])

/** Of these it is not said that it is the run that they came from. */
const ofTheQuestion = new Set([401, 403, 408, 429])

/** The answer to the question for a result, after the status said that the run is over, and perhaps why. */
export async function readResult(response: Response, { error, error_type: type }: Fields): Promise<Progress> {
  if (response.status === 200) {
    const url = urlOf(await readFields(response))
    if (url === undefined) throw unclear('a result without a video')
    return { status: 'succeeded', output: { url } }
  }
  const body = await tryFields(response)
  if (body.detail === 'Request is still in progress') return { status: 'running', progress: null }
  const code = codeOf(response, body)
  const isOver = code !== noCode || textOf(error) !== undefined || textOf(type) !== undefined
  // Only a model's own list says so whatever the status.
  const isOfModel = Array.isArray(body.detail) && code !== noCode
  const speaksOfTheRun = isOfModel || [400, 422, 499].includes(response.status)
  if (speaksOfTheRun || (isOver && !ofTheQuestion.has(response.status))) {
    const known = code === noCode ? wordOf(type) : code
    return failed(policies.has(known), known)
  }
  if (response.status === 404) return { status: 'missing' }
  throw unclear(`the question for a result got ${response.status}`)
}

function urlOf({ video, video_url: url, videos }: Fields): string | undefined {
  return textOf(fieldsOf(video).url) ?? textOf(url) ?? textOf(listOf(videos)[0]?.url)
}

const noCode = wordOf(undefined)

/** A model says what is wrong as a list with types, the platform by a type beside its words, or in a header. */
function codeOf({ headers }: Response, { detail, error_type: type }: Fields): string {
  const codes = listOf(detail).map((one) => wordOf(one.type))
  return codes.find((code) => policies.has(code)) ?? codes[0] ?? wordOf(type ?? headers.get('x-fal-error-type'))
}

import { type Endpoint, type FalModel, falCards, falModel } from './cards/fal.ts'
import {
  acceptedCancel,
  createClient,
  dataUri,
  downloadFrom,
  entriesOf,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  isSegment,
  type Json,
  Problem,
  problems,
  type RefusalDetails,
  readJsonFields,
  readPolled,
  readSubmitted,
  textOf,
  toJson,
  tryFields,
  unclear,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest } from './provider.ts'

/*
 * fal's queue. Its peculiarities:
 *   - A submit goes to an endpoint of many segments; polls go below its first two segments, its app.
 *   - A response has absolute URLs for the next requests. We never follow them: the key goes only to the configured address.
 *   - The queue accepts nearly everything. A bad request, like every other failure, shows only as the HTTP status of the
 *     result; the status of the run is COMPLETED in any case.
 *   - There is no idempotency key and no list of requests.
 */

export const fal: Member = {
  cards: falCards,
  // Paths of its endpoints. Our own names for its models begin with `fal/`.
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
    const unsupported = Object.keys(request.parameters).find((name) => !Object.hasOwn(fields, name))
    if (unsupported !== undefined) return { refused: { blame: 'request', problem: notAccepted(unsupported, request) } }
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
    if (!acceptedCancel(response, [400, 404], [200, 202])) return 'too_late'
    // The run may ignore the request to stop.
    const { status } = await poll(operation, call)
    return status === 'failed' ? 'cancelled' : 'too_late'
  },
  /** No free request gets 2xx. A run that does not exist gets 404 with a valid key, and 401 without. */
  async check(call) {
    const response = await api.get(`/fal-ai/veo3.1/requests/${unknownRequest}/status`, call)
    const { detail } = await tryFields(response.clone())
    return response.status === 404 && detail !== undefined ? new Response(null) : response
  },
}

const unknownRequest = '00000000-0000-0000-0000-000000000000'

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

/** The segments of an endpoint that are its app. */
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

/** The endpoint would silently ignore the parameter. */
function notAccepted(name: string, { image }: ProviderRequest): Problem {
  const how = image ? 'with an image' : 'without an image'
  return new Problem('generation_failed', `This model does not accept '${name}' ${how}. Leave it out.`)
}

const durations = {
  text: (seconds: number) => String(seconds),
  'text with s': (seconds: number) => `${seconds}s`,
  number: (seconds: number) => seconds,
}

/** The request in the endpoint's own fields. Some endpoints have no size, because they use that of the image. */
export function toUpstream(request: ProviderRequest): Record<string, unknown> {
  const { model, prompt, seconds, size, parameters, image } = request
  const known = falModel(model)
  const { fields } = endpointOf(known, request)
  const values = {
    prompt,
    seconds: durations[known.duration](seconds),
    ...known.shapes[formatSize(size)],
    ...(image && { image: dataUri(image) }),
    ...parameters,
  }
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (Object.hasOwn(fields, name) ? [[fields[name], value]] : [])),
  )
}

async function readRefusal(response: Response): Promise<RefusalDetails> {
  const code = errorTypeOf(response, await tryFields(response))
  return policies.has(code) ? { blame: 'request', problem: problems.policy(code) } : {}
}

/** `no_media_generated` mostly means that the model's vendor withheld the video without saying so. */
const policies = new Set(['content_policy_violation', 'no_media_generated'])

/** These may be about the request for the result, not about the run. */
const requestStatuses = new Set([401, 403, 408, 429])

/** The response to a request for a result, after the run ended; its status may have an error. */
export async function readResult(response: Response, { error, error_type: type }: Fields): Promise<Progress> {
  if (response.status === 200) {
    const url = urlOf(await readJsonFields(response))
    if (url === undefined) throw unclear('a result without a video')
    return { status: 'succeeded', output: { url } }
  }
  const body = await tryFields(response)
  if (body.detail === 'Request is still in progress') return { status: 'running', progress: null }
  const code = errorTypeOf(response, body)
  const hasError = code !== noCode || textOf(error) !== undefined || textOf(type) !== undefined
  // A model's own list of errors proves a failed run, whatever the status.
  const isOfModel = Array.isArray(body.detail) && code !== noCode
  const isOfRun = isOfModel || [400, 422, 499].includes(response.status)
  if (isOfRun || (hasError && !requestStatuses.has(response.status))) {
    const known = code === noCode ? wordOf(type) : code
    return failed(policies.has(known), known)
  }
  if (response.status === 404) return { status: 'missing' }
  throw unclear(`fetching a result got ${response.status}`)
}

function urlOf({ video, video_url: url, videos }: Fields): string | undefined {
  return textOf(fieldsOf(video).url) ?? textOf(url) ?? textOf(entriesOf(videos)[0]?.url)
}

const noCode = wordOf(undefined)

/** A model reports errors as a list with types, the platform as a type beside the message or in a header. */
function errorTypeOf({ headers }: Response, { detail, error_type: type }: Fields): string {
  const codes = entriesOf(detail).map((one) => wordOf(one.type))
  return codes.find((code) => policies.has(code)) ?? codes[0] ?? wordOf(type ?? headers.get('x-fal-error-type'))
}

import { dialects, replicateCards, usualDialect } from './cards/replicate.ts'
import {
  bearer,
  clockSlackMs,
  createClient,
  dataUri,
  downloadFrom,
  entriesOf,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  foundIn,
  isSegment,
  type Likeness,
  percentOf,
  problems,
  type RefusalDetails,
  readJsonFields,
  readPolled,
  readResponse,
  readSubmitted,
  textOf,
  toForm,
  toJson,
  toSegment,
  tryFields,
  unclear,
} from './kit/index.ts'
import type { Call, InputImage, Member, Progress, Provider, ProviderRequest, Refusal } from './provider.ts'

/*
 * Replicate runs models of other vendors. Each model names its input fields in its own way: see cards/replicate.ts.
 *   submit   accepts no reference of ours; a lost submit is found in the list of predictions, by its input
 *   image    a small one goes into the request, a larger one is uploaded first
 *   error    is one sentence, at most with a code at its end; only its words show a content refusal
 *   output   is a URL, a list of URLs, or an object, depending on the model
 *   data     input and output are removed an hour after a prediction ended
 */

export const replicate: Member = {
  cards: replicateCards,
  // Owner and name. Our own names for its models begin with `replicate/`.
  otherNames: /^(?!replicate\/)[\w.-]+\/[\w.-]+$/,
  baseUrl: 'https://api.replicate.com/v1',
  key: { variable: 'REPLICATE_API_TOKEN' },
  create: async () => provider,
}

const api = createClient(bearer)

const provider: Provider = {
  name: 'replicate',
  cadenceMs: 4_000,
  recovery: 'list',
  operations: { example: '"9x3k…"', fits: isSegment },
  async submit(request, call) {
    const { path, input } = toUpstream(request, request.image && (await toImageUrl(request.image, call)))
    const response = await api.send(path, toJson({ input }), call)
    return readSubmitted(response, call, { accepts: [201, 202], refusal: readRefusal })
  },
  poll: async (operation, call) => readPolled(await api.get(`/predictions/${toSegment(operation)}`, call), progressOf),
  // Results are on another host, which needs no key.
  download: (output, call) => downloadFrom(String(output), call),
  find: async (request, openedAt, call) =>
    foundIn(await predictionsOf(openedAt, call), (prediction) => likenessOf(prediction, request, openedAt)),
  async cancel(operation, call) {
    const response = await api.request('POST', `/predictions/${toSegment(operation)}/cancel`, call)
    if (response.status === 404) return 'too_late'
    if (!response.ok) throw unclear(`a cancel got ${response.status}`)
    // The prediction may continue for a moment; a second cancel then returns the final status.
    const { status } = await readJsonFields(response)
    return status === 'canceled' || status === 'aborted' ? 'cancelled' : 'too_late'
  },
  check: (call) => api.get('/account', call),
}

/** Replicate asks to upload larger images. */
const mostInlineBytes = 256 * 1_024

/** The URL of an image in an input. An upload is not billed, so a failure leaves the task unsent. */
async function toImageUrl(image: InputImage, call: Call): Promise<string> {
  if (image.bytes.length <= mostInlineBytes) return dataUri(image)
  const response = await api.request('POST', '/files', call, await toForm({}, 'content', image))
  const { urls } = await readResponse(response, 'an upload', [200, 201])
  const url = textOf(fieldsOf(urls).get)
  if (url === undefined) throw unclear('an upload got no URL')
  return url
}

/** `image` is a URL. An unknown size is left out: the model then uses its default. */
export function toUpstream(request: Omit<ProviderRequest, 'image'>, image: string | null) {
  const model = image === null ? request.model : (dialectOf(request.model).withImage ?? request.model)
  const dialect = dialectOf(model)
  const { resolution, ratio } = dialect.shapes[formatSize(request.size)] ?? {}
  const { width, height } = request.size
  const shape = { resolution, aspect_ratio: ratio, size: `${width}*${height}` }
  const input = {
    prompt: request.prompt,
    duration: request.seconds,
    ...Object.fromEntries(dialect.shape.flatMap((name) => (shape[name] === undefined ? [] : [[name, shape[name]]]))),
    ...Object.fromEntries(
      Object.entries(request.parameters).map(([name, value]) => [dialect.names?.[name] ?? name, value]),
    ),
    ...(image !== null && { [dialect.image]: image }),
  }
  return { model, path: `/models/${model}/predictions`, input }
}

function dialectOf(model: string) {
  return (Object.hasOwn(dialects, model) ? dialects[model] : undefined) ?? usualDialect
}

async function readRefusal(response: Response, blame: Refusal['blame']): Promise<RefusalDetails> {
  return blame === 'busy' ? { retryAfterMs: waitIn(await tryFields(response)) } : {}
}

/** "… Your rate limit resets in ~30s." */
function waitIn({ detail }: Fields): number | undefined {
  const seconds = /resets in ~(\d{1,4})s/.exec(textOf(detail) ?? '')?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}

function progressOf({ status, output, error, logs, data_removed: isRemoved }: Fields): Progress {
  if (status === 'canceled' || status === 'aborted') return failed(false, status)
  if (status === 'failed') return failureOf(textOf(error) ?? '')
  if (status !== 'succeeded') return { status: 'running', progress: progressIn(logs) }
  const link = linkIn(output)
  if (link !== undefined) return { status: 'succeeded', output: link }
  if (isRemoved === true) return { status: 'failed', problem: problems.gone('its data was removed') }
  throw unclear('a finished prediction without a URL')
}

/** Only the code of the sentence is passed on. */
function failureOf(error: string): Progress {
  const code = /\((E\d{3,4})\)/.exec(error)?.[1] ?? 'no code'
  return failed(code === 'E005' || /flagged|sensitive|nsfw|moderation|content policy/i.test(error), code)
}

/** The last percentage in the logs, where some models draw a progress bar. */
function progressIn(logs: unknown): number | null {
  const last = textOf(logs)
    ?.match(/\d{1,3}(?=%)/g)
    ?.at(-1)
  return last === undefined ? null : percentOf(Number(last))
}

function linkIn(output: unknown): string | undefined {
  const links = linksIn(output, 3)
  return links.find((link) => /\.(mp4|webm|mov)(\?|$)/.test(link)) ?? links[0]
}

function linksIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return /^https?:\/\//.test(value) ? [value] : []
  if (typeof value !== 'object' || value === null || depth === 0) return []
  return Object.values(value).flatMap((inner) => linksIn(inner, depth - 1))
}

/** The predictions that a submit at that time may have created. Throws if there are more than 10 pages. */
async function predictionsOf(openedAt: number, call: Call): Promise<Fields[]> {
  const [after, before] = [openedAt - clockSlackMs, openedAt + arrivalMs].map((at) => new Date(at).toISOString())
  const all: Fields[] = []
  let query = new URLSearchParams({ created_after: after ?? '', created_before: before ?? '' })
  for (let pages = 0; pages < 10; pages += 1) {
    const response = await api.get(`/predictions?${query}`, call)
    const { results, next } = await readResponse(response, 'listing predictions')
    if (!Array.isArray(results)) throw unclear('a list of predictions without results')
    const page = entriesOf(results)
    all.push(...page)
    // The newest come first.
    const isPast = page.some((prediction) => (createdAt(prediction) ?? openedAt) < openedAt - clockSlackMs)
    if (typeof next !== 'string' || isPast) return all
    query = new URLSearchParams(URL.parse(next)?.search)
  }
  throw unclear('more than 10 pages of predictions')
}

/** No submit takes longer to arrive, including its upload. */
const arrivalMs = 15 * 60_000

function createdAt(prediction: Fields): number | undefined {
  const at = Date.parse(textOf(prediction.created_at) ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** Without its input, which may have been removed, a prediction may be of any request to the same model. */
function likenessOf(prediction: Fields, request: ProviderRequest, openedAt: number): Likeness {
  // The image is not compared: it may not come back as it was sent.
  const { model, input } = toUpstream(request, request.image && '')
  const isModel = prediction.model === undefined || prediction.model === model
  const isRecent = (createdAt(prediction) ?? openedAt) >= openedAt - clockSlackMs
  if (!isModel || !isRecent || prediction.source === 'web') return 'other'
  const listed = fieldsOf(prediction.input)
  const sent = Object.entries(input).filter(([, value]) => value !== '')
  if (sent.some(([name, value]) => listed[name] !== undefined && String(listed[name]) !== String(value))) return 'other'
  return listed.prompt === undefined ? 'possible' : 'match'
}

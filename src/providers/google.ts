import { cards, shapes } from './cards/google.ts'
import { isOfContent, readError, readRefusal } from './kit/google-errors.ts'
import {
  acceptedCancel,
  base64,
  createClient,
  downloadFrom,
  entriesOf,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  isSegment,
  type Json,
  type Path,
  readOutline,
  readPath,
  readSubmitted,
  textOf,
  toJson,
  toSegment,
  tryFields,
  unclear,
  videoAt,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest } from './provider.ts'

/*
 * Gemini Omni through the Interactions API of the Gemini API. Its peculiarities:
 *   videos    we request a link, to a file on the same host that needs the key. A poll may still have the bytes themselves
 *             as base64, so every poll is read as a stream
 *   files     may still be in process when the interaction is completed
 *   content   a refusal looks like success: completed, with text instead of a video
 *   errors    are an object with a word as its code, or a list with a number if they come from the front end; a bad key is
 *             a 400, and so is an unknown interaction
 */

export const google: Member = {
  cards,
  baseUrl: 'https://generativelanguage.googleapis.com',
  key: { variable: 'GEMINI_API_KEY' },
  create: async () => provider,
}

const keyOf = ({ credential }: Call) => ({ 'x-goog-api-key': credential ?? '' })
const api = createClient(keyOf)

const provider: Provider = {
  name: 'google',
  cadenceMs: 5_000,
  recovery: 'none',
  operations: { example: '"v1_…"', fits: isSegment },
  async submit(request, call) {
    const response = await api.send('/v1beta/interactions', toJson(toUpstream(request)), call)
    return readSubmitted(response, call, { refusal: readRefusal })
  },
  async poll(operation, call) {
    const path = pathOf(operation)
    const response = await call.download(path, { headers: keyOf(call), isPoll: true }, call.signal)
    if (!response.ok) return readMissing(response)
    const progress = readProgress(path, await readOutline(response.body))
    const { file } = fieldsOf(progress.status === 'succeeded' ? progress.output : null)
    return typeof file === 'string' ? readFile(file, progress, call) : progress
  },
  async download(output, call) {
    const { file, url, inside, at } = fieldsOf(output)
    if (typeof url === 'string') return downloadFrom(url, call)
    if (typeof file === 'string') return api.download(`/v1beta/files/${file}:download?alt=media`, call)
    const path = readPath(at)
    const { body } = await api.download(String(inside), call)
    return videoAt(body, path)
  },
  async cancel(operation, call) {
    const response = await api.request('POST', `${pathOf(operation)}/cancel`, call, toJson({}))
    if (!acceptedCancel(response, [400, 404, 409])) return 'too_late'
    return (await tryFields(response)).status === 'cancelled' ? 'cancelled' : 'too_late'
  },
  async check(call) {
    const response = await api.get('/v1beta/models?pageSize=1', call)
    // Only the key can be wrong with this request.
    return response.status === 400 ? new Response(null, { status: 401 }) : response
  },
}

function pathOf(operation: Json): string {
  return `/v1beta/interactions/${toSegment(operation)}`
}

export function toUpstream({ model, prompt, seconds, size, parameters, image }: ProviderRequest) {
  const { resolution, ratio } = shapes[formatSize(size)] ?? {}
  const { seed } = parameters
  return {
    model,
    input: [
      ...(image ? [{ type: 'image', mime_type: image.type, data: base64(image) }] : []),
      { type: 'text', text: prompt },
    ],
    response_modalities: ['video'],
    // A number of seconds would be refused.
    response_format: { type: 'video', aspect_ratio: ratio, resolution, duration: `${seconds}s`, delivery: 'uri' },
    generation_config: {
      ...(seed !== undefined && { seed }),
      video_config: { task: image ? 'image_to_video' : 'text_to_video' },
    },
    background: true,
  }
}

async function readMissing(response: Response): Promise<Progress> {
  const message = textOf((await readError(response)).message) ?? ''
  if (response.status === 404 || (response.status === 400 && /^Invalid interaction name\b/.test(message)))
    return { status: 'missing' }
  throw unclear(`a poll got ${response.status}`)
}

const failures = /^(failed|cancelled|incomplete|budget_exceeded|requires_action|requires_continuation)$/

function readProgress(inside: string, interaction: Fields): Progress {
  const { status } = interaction
  if (failures.test(String(status))) {
    const inSteps = entriesOf(interaction.steps).map((step) => step.error)
    const errors = [...entriesOf(interaction.errors), ...inSteps.map(fieldsOf)]
    const code = wordOf(errors[0]?.code ?? status)
    return failed(errors.some(isOfContent), code)
  }
  if (status !== 'completed') return { status: 'running', progress: null }
  const found = videoIn(interaction)
  if (found === undefined) return failed(true, 'completed without a video')
  const { video, path } = found
  const url = textOf(video.uri)
  if (url !== undefined) return { status: 'succeeded', output: toLink(url) }
  if (textOf(video.data) === undefined) throw unclear('a video with neither a link nor data')
  return { status: 'succeeded', output: { inside, at: [...path, 'data'] } }
}

/** The last video in the model's output. */
function videoIn({ steps, output_video: single }: Fields): { video: Fields; path: Path } | undefined {
  const found = entriesOf(steps).flatMap(({ type, content }, at) => {
    const blocks = type === 'model_output' ? entriesOf(content) : []
    return blocks.map((video, index) => ({ video, path: ['steps', at, 'content', index] }))
  })
  const last = found.findLast(({ video }) => video.type === 'video')
  return last ?? (single ? { video: fieldsOf(single), path: ['output_video'] } : undefined)
}

/** A file of Google's is requested by name from the configured address, because only that gets the key. */
function toLink(url: string): { file: string } | { url: string } {
  const file = /^https?:\/\/[^/?#]+\/v1(?:alpha|beta)?\/files\/([\w-]{1,100})(?::download)?(?:\?|$)/.exec(url)?.[1]
  return file === undefined ? { url } : { file }
}

/** Without a usable response here, the download decides. */
async function readFile(file: string, progress: Progress, call: Call): Promise<Progress> {
  const response = await api.get(`/v1beta/files/${file}`, call)
  const { state } = response.status === 200 ? await tryFields(response) : {}
  if (state === 'PROCESSING') return { status: 'running', progress: null }
  return state === 'FAILED' ? failed(false, 'the file has failed') : progress
}

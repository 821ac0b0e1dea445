import type { OperationForm } from '../core/attempt.ts'
import { formatSize } from '../core/catalog.ts'
import type { Json } from '../core/task.ts'
import { cards, shapes } from './cards/google.ts'
import type { Member } from './index.ts'
import type { Call, Progress, Provider, ProviderRequest } from './provider.ts'
import {
  base64,
  downloadFrom,
  type Fields,
  fieldsOf,
  isSegment,
  problems,
  readFields,
  textOf,
  tryFields,
  unclear,
  wordOf,
} from './reading/answers.ts'
import { isOfContent, readError, readRefusal } from './reading/google-errors.ts'
import { filmAt, type Path, readOutline } from './reading/inline-video.ts'

/*
 * Gemini Omni by the Interactions API of the Gemini API. What is odd about it:
 *   a film    we ask for a link, which leads to a file on the same host and needs the key; but a poll may hold the
 *             bytes themselves as base64, whatever was asked for, so every poll is read as a stream
 *   a file    may still be in work when the interaction is completed
 *   a refusal of content looks like success: completed, with words in place of a film
 *   errors    are an object with a word for a code, or from the front end a list with a number; a bad key is a 400, and
 *             so is an unknown interaction
 */

const operations: OperationForm = { example: '"v1_…"', fits: isSegment }

export const google: Member = {
  ...{ cards, needsNothing: false, baseUrl: 'https://generativelanguage.googleapis.com' },
  key: { variable: 'GEMINI_API_KEY' },
  create: createGoogle,
}

async function createGoogle(): Promise<Provider> {
  return {
    name: 'google',
    cadenceMs: 5_000,
    recovery: 'none',
    operations,
    async submit(request, call) {
      const headers = { ...keyOf(call), 'content-type': 'application/json' }
      const body = JSON.stringify(toUpstream(request))
      const response = await call.send('/v1beta/interactions', { method: 'POST', headers, body }, call.signal)
      if (response.status !== 200) return readRefusal(response, call)
      const { id } = await readFields(response)
      if (!isSegment(id as Json)) throw unclear('a submit got 200 without an id')
      return { operation: id as string }
    },
    async poll(operation, call) {
      const path = pathOf(operation)
      const response = await call.download(path, { headers: keyOf(call), isQuestion: true }, call.signal)
      if (!response.ok) return readMissing(response)
      const progress = readProgress(path, await readOutline(response.body))
      const { file } = fieldsOf(progress.status === 'succeeded' ? progress.output : null)
      return typeof file === 'string' ? readFile(file, progress, call) : progress
    },
    async download(output, call) {
      const { file, url, inside, at } = fieldsOf(output)
      if (typeof url === 'string') return downloadFrom(url, call)
      if (typeof file === 'string') return downloadFrom(`/v1beta/files/${file}:download?alt=media`, call, keyOf(call))
      const { body } = await downloadFrom(String(inside), call, keyOf(call))
      return filmAt(body, at as Path)
    },
    async cancel(operation, call) {
      const headers = { ...keyOf(call), 'content-type': 'application/json' }
      const path = `${pathOf(operation)}/cancel`
      const response = await call.fetch(path, { method: 'POST', headers, body: '{}' }, call.signal)
      if ([400, 404, 409].includes(response.status)) return 'too_late'
      if (response.status !== 200) throw unclear(`a cancel got ${response.status}`)
      return (await tryFields(response)).status === 'cancelled' ? 'cancelled' : 'too_late'
    },
    async check(call) {
      const path = '/v1beta/models?pageSize=1'
      const response = await call.fetch(path, { method: 'GET', headers: keyOf(call) }, call.signal)
      // Nothing but the key can be wrong with it.
      return response.status === 400 ? new Response(null, { status: 401 }) : response
    },
  }
}

function pathOf(operation: Json): string {
  return `/v1beta/interactions/${encodeURIComponent(String(operation))}`
}

function keyOf({ credential }: Call): Record<string, string> {
  return { 'x-goog-api-key': credential ?? '' }
}

export function toUpstream({ model, prompt, seconds, size, parameters, image }: ProviderRequest) {
  const { resolution, ratio } = shapes[formatSize(size)] ?? {}
  const { seed } = parameters
  return {
    model,
    input: [
      ...(image ? [{ type: 'image', mime_type: image.type, data: base64(image.bytes) }] : []),
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

const failures = new Set([
  ...['failed', 'cancelled', 'incomplete', 'budget_exceeded', 'requires_action', 'requires_continuation'],
])

function readProgress(inside: string, interaction: Fields): Progress {
  const { status } = interaction
  if (failures.has(String(status))) {
    const inSteps = listOf(interaction.steps).map((step) => step.error)
    const errors = [...listOf(interaction.errors), ...inSteps.map(fieldsOf)]
    const code = wordOf(errors[0]?.code ?? status)
    return { status: 'failed', problem: errors.some(isOfContent) ? problems.policy(code) : problems.failed(code) }
  }
  if (status !== 'completed') return { status: 'running', progress: null }
  const found = videoIn(interaction)
  if (found === undefined) return { status: 'failed', problem: problems.policy('completed without a video') }
  const { video, path } = found
  const url = textOf(video.uri)
  if (url !== undefined) return { status: 'succeeded', output: toLink(url) }
  if (textOf(video.data) === undefined) throw unclear('a video with neither a link nor data')
  return { status: 'succeeded', output: { inside, at: [...path, 'data'] } }
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** The last one that the model put out. */
function videoIn({ steps, output_video: single }: Fields): { video: Fields; path: Path } | undefined {
  const found = listOf(steps).flatMap(({ type, content }, at) => {
    const blocks = type === 'model_output' ? listOf(content) : []
    return blocks.map((video, place) => ({ video, path: ['steps', at, 'content', place] as Path }))
  })
  const last = found.findLast(({ video }) => video.type === 'video')
  return last ?? (single ? { video: fieldsOf(single), path: ['output_video'] } : undefined)
}

/** A file of Google's is asked for by its name, at the address that is configured, which alone gets the key. */
function toLink(url: string): { file: string } | { url: string } {
  const file = /^https?:\/\/[^/?#]+\/v1(?:alpha|beta)?\/files\/([\w-]{1,100})(?::download)?(?:\?|$)/.exec(url)?.[1]
  return file === undefined ? { url } : { file }
}

/** Where this gives no answer, the download will. */
async function readFile(file: string, progress: Progress, call: Call): Promise<Progress> {
  const response = await call.fetch(`/v1beta/files/${file}`, { method: 'GET', headers: keyOf(call) }, call.signal)
  const { state } = response.status === 200 ? await tryFields(response) : {}
  if (state === 'PROCESSING') return { status: 'running', progress: null }
  return state === 'FAILED' ? { status: 'failed', problem: problems.failed('the file has failed') } : progress
}

import type { OperationForm } from '../core/attempt.ts'
import { formatSize } from '../core/catalog.ts'
import { Problem } from '../core/problem.ts'
import type { Json, Size } from '../core/task.ts'
import { anyModel, toCards } from './cards/openai.ts'
import type { Member } from './index.ts'
import type { Call, Progress, Provider, ProviderRequest, Submitted } from './provider.ts'
import {
  blameOf,
  clockSlackMs,
  downloadFrom,
  type Fields,
  fieldsOf,
  foundIn,
  isSegment,
  type Likeness,
  percentOf,
  plainPrompt,
  problems,
  readFields,
  refused,
  textOf,
  tryFields,
  unclear,
  wordOf,
} from './reading/answers.ts'

/*
 * Whoever speaks OpenAI's Videos API: another Filmgate, vLLM-Omni, SGLang, FastVideo, gateways. They differ in small
 * things, which are told from what they answer, so that nobody has to configure them:
 *   vLLM-Omni  takes forms only; answers a poll of a failed video with its error as the HTTP status
 *   SGLang     is `queued` until the end; a DELETE forgets the video, but the GPU goes on with it
 *   gateways   say pending, processing, cancelled; count milliseconds; give a `url` in place of /content
 */

const operations: OperationForm = { example: '"video_…"', fits: isSegment }

export const openai: Member = {
  // They are read from it.
  cards: [],
  unlisted: anyModel,
  needsNothing: false,
  create: async () => provider,
}

const provider: Provider = {
  name: 'openai',
  cadenceMs: 3_000,
  recovery: 'list',
  operations,
  async submit(request, call) {
    const { headers, body } = await toUpstream(request)
    const all = { ...keyOf(call), ...headers }
    return readSubmitted(await call.send('/videos', { method: 'POST', headers: all, body }, call.signal), call)
  },
  async poll(operation, call) {
    const path = `/videos/${encodeURIComponent(String(operation))}`
    return readProgress(await call.fetch(path, { method: 'GET', headers: keyOf(call) }, call.signal), String(operation))
  },
  async download(output, call) {
    const { id, url } = fieldsOf(output)
    const own = downloadFrom(`/videos/${id}/content`, call, keyOf(call))
    if (typeof url !== 'string') return own
    // Where it keeps its films elsewhere, only the link of the poll leads there.
    return own.catch((error: unknown) => {
      if (Problem.from(error).code !== 'output_unavailable') throw error
      return downloadFrom(url, call)
    })
  },
  async find(request, openedAt, call) {
    const path = `/videos?limit=${mostListed}&order=desc`
    const response = await call.fetch(path, { method: 'GET', headers: keyOf(call) }, call.signal)
    if (response.status !== 200) throw unclear(`the question for videos got ${response.status}`)
    const { data, has_more: more } = await readFields(response)
    if (!Array.isArray(data)) throw unclear('a list of videos without data')
    const videos = data.map(fieldsOf)
    const since = openedAt + skewOf(response, call) - clockSlackMs
    const isPast = videos.some((video) => (createdAt(video) ?? since) < since)
    const isPartial = !isPast && (more === true || videos.length >= mostListed)
    return foundIn(videos, (video) => likenessOf(video, request, since), isPartial)
  },
  listedAs: ({ prompt }) => plainPrompt(prompt),
  async cancel(operation, call) {
    const path = `/videos/${encodeURIComponent(String(operation))}`
    const response = await call.fetch(path, { method: 'DELETE', headers: keyOf(call) }, call.signal)
    // It has ended, can't be stopped now, or never can.
    if ([400, 404, 405, 409].includes(response.status)) return 'too_late'
    if (response.status !== 200) throw unclear(`a cancel got ${response.status}`)
    return (await tryFields(response)).deleted === true ? 'cancelled' : 'too_late'
  },
  check: (call) => call.fetch('/models', { method: 'GET', headers: keyOf(call) }, call.signal),
  async discover(call) {
    const response = await call.fetch('/models', { method: 'GET', headers: keyOf(call) }, call.signal)
    if (response.status !== 200) throw unclear(`the question for models got ${response.status}`)
    return toCards(await readFields(response))
  },
}

/** Of an engine of one's own there may be none. */
function keyOf({ credential }: Call): Record<string, string> {
  return credential === null ? {} : { authorization: `Bearer ${credential}` }
}

/** A form, with the image as a file: the one encoding that all of them take. */
async function toUpstream({ model, prompt, seconds, size, parameters, image }: ProviderRequest) {
  const form = new FormData()
  const fields = { ...parameters, model, prompt, seconds, size: formatSize(size) }
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  if (image) {
    const name = `image.${image.type.slice('image/'.length)}`
    form.set('input_reference', new File([Buffer.from(image.bytes)], name, { type: image.type }))
  }
  const encoded = new Response(form)
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' }
  return { headers, body: new Uint8Array(await encoded.arrayBuffer()) }
}

async function readSubmitted(response: Response, call: Call): Promise<Submitted> {
  const blame = blameOf(response.status)
  if (blame) {
    const code = codeOf(fieldsOf((await tryFields(response)).error))
    return policies.has(code)
      ? refused(response, call, 'request', problems.policy(code))
      : refused(response, call, blame)
  }
  if (![200, 201, 202].includes(response.status)) throw unclear(`a submit got ${response.status}`)
  const { id } = await readFields(response)
  if (!isSegment(id as Json)) throw unclear(`a submit got ${response.status} without an id`)
  return { operation: id as string }
}

const policies = new Set([
  ...['moderation_blocked', 'content_policy', 'content_policy_violation', 'content_filter', 'contentFilter'],
])

const ended: Record<string, 'succeeded' | 'failed'> = {
  ...{ completed: 'succeeded', succeeded: 'succeeded', success: 'succeeded' },
  ...{ failed: 'failed', cancelled: 'failed', canceled: 'failed', expired: 'failed', error: 'failed' },
}

async function readProgress(response: Response, id: string): Promise<Progress> {
  if (response.status === 404) return { status: 'missing' }
  const video = response.status === 200 ? await readFields(response) : await tryFields(response)
  const end = typeof video.status === 'string' && Object.hasOwn(ended, video.status) ? ended[video.status] : undefined
  if (end === 'failed') {
    const code = codeOf(fieldsOf(video.error))
    return { status: 'failed', problem: policies.has(code) ? problems.policy(code) : problems.failed(code) }
  }
  if (response.status !== 200) throw unclear(`a poll got ${response.status}`)
  if (end === undefined) return { status: 'running', progress: percentOf(video.progress) }
  const url = textOf(video.url) ?? textOf(fieldsOf(video.metadata).url)
  return { status: 'succeeded', output: { id, ...(url !== undefined && { url }) } }
}

function codeOf(error: Fields): string {
  return wordOf(error.code)
}

/** The most that all of them list at once. */
const mostListed = 100

function createdAt({ created_at: created }: Fields): number | undefined {
  if (typeof created !== 'number') return undefined
  return created > 1e11 ? created : created * 1_000
}

/** How far its clock is ahead of ours, by the date of its answer. */
function skewOf({ headers }: Response, call: Call): number {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(date) ? 0 : date - call.now()
}

/**
 * What a list does not tell proves nothing: without a prompt (SGLang, FastVideo) a video may be anybody's. Seconds and
 * sizes may be those that the engine adjusted to its model, so they are compared with a tolerance.
 */
function likenessOf(video: Fields, { prompt, seconds, size }: ProviderRequest, since: number): Likeness {
  if ((createdAt(video) ?? since) < since) return 'other'
  const told = textOf(video.prompt)
  const isClose = areClose(video.seconds, seconds) && isCloseSize(video.size, size)
  if (told === undefined) return isClose ? 'possible' : 'other'
  const [theirs, ours] = [plainPrompt(told), plainPrompt(prompt)]
  if (theirs === ours) return isClose ? 'match' : 'possible'
  // It may be cut off.
  return theirs !== '' && ours.startsWith(theirs.replace(/(…|\.{3})$/, '')) ? 'possible' : 'other'
}

/** Engines align frames to their model and their GPUs. What is not told may be anything. */
function areClose(told: unknown, wanted: number): boolean {
  if (told === undefined || told === null) return true
  return Math.abs(Number(told) - wanted) <= Math.max(1, wanted / 4)
}

function isCloseSize(told: unknown, { width, height }: Size): boolean {
  const sides = /^(\d+)x(\d+)$/
    .exec(String(told ?? ''))
    ?.slice(1)
    .map(Number)
  const near = (side = 0, wanted: number) => Math.abs(side - wanted) <= Math.max(64, wanted / 10)
  return sides === undefined || (near(sides[0], width) && near(sides[1], height))
}

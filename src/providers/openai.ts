import type { OperationForm } from '../core/attempt.ts'
import { formatSize } from '../core/catalog.ts'
import { Problem } from '../core/problem.ts'
import type { Json } from '../core/task.ts'
import { anyModel, toCards } from './cards/openai.ts'
import type { Member } from './index.ts'
import { findVideo } from './openai/find.ts'
import type { Call, Progress, Provider, ProviderRequest, Refusal, Submitted } from './provider.ts'
import {
  blameOf,
  downloadFrom,
  type Fields,
  fieldsOf,
  isSegment,
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
 *   vLLM-Omni  takes forms only; answers a poll of a failed video with its error as the HTTP status, and a DELETE that
 *              takes longer than 2 s with 409; serves no videos where it was started in the wrong way
 *   SGLang     may be `queued` until the end; a DELETE forgets the video, but the GPU goes on with it
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
  find: (request, openedAt, call) => findVideo(request, openedAt, { ...call, headers: keyOf(call) }),
  listedAs: ({ prompt }) => plainPrompt(prompt),
  async cancel(operation, call) {
    const path = `/videos/${encodeURIComponent(String(operation))}`
    const response = await call.fetch(path, { method: 'DELETE', headers: keyOf(call) }, call.signal)
    if (response.status === 409 && isPostponed(await tryFields(response))) throw unclear('a cancel got 409: not yet')
    // It has ended, can't be stopped now, or never can.
    if ([400, 404, 405, 409].includes(response.status)) return 'too_late'
    if (response.status !== 200) throw unclear(`a cancel got ${response.status}`)
    return (await tryFields(response)).deleted === true ? 'cancelled' : 'too_late'
  },
  async check(call) {
    const ask = (path: string) => call.fetch(path, { method: 'GET', headers: keyOf(call) }, call.signal)
    const models = await ask('/models')
    const fault = models.ok && (await setupFaultOf(await ask('/videos?limit=1')))
    if (fault) throw problems.refused(fault.why)
    return models
  },
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
    const answer = await tryFields(response)
    const code = codeOf(fieldsOf(answer.error))
    return policies.has(code) || (response.status === 400 && isGuardrail(messageOf(answer)))
      ? refused(response, call, 'request', problems.policy(code))
      : refused(response, call, blame)
  }
  const fault = await setupFaultOf(response)
  if (fault) {
    const problem = problems.refused(`a submit got ${response.status}: ${fault.why}`)
    return refused(response, call, fault.blame, problem)
  }
  if (![200, 201, 202].includes(response.status)) throw unclear(`a submit got ${response.status}`)
  const { id } = await readFields(response)
  if (!isSegment(id as Json)) throw unclear(`a submit got ${response.status} without an id`)
  return { operation: id as string }
}

interface SetupFault {
  status: number
  said: RegExp
  blame: Refusal['blame']
  /** For the operator. */
  why: string
}

/*
 * vLLM-Omni says these before it reads a request, so nothing was accepted. Only its words tell: another 409 or 503 may
 * come from a proxy that had passed the request on. A server without a handler never gets one.
 */
const setupFaults: readonly SetupFault[] = [
  {
    ...{ status: 409, said: /^[\w ]{1,60} not supported with --api-server-count > 1/, blame: 'account' },
    why: 'vLLM-Omni takes no videos with several API servers; start it with --api-server-count 1',
  },
  {
    ...{ status: 503, said: /^Video generation handler not initialized/, blame: 'account' },
    why: 'vLLM-Omni serves a model that makes no videos; start it with a video model',
  },
  {
    ...{ status: 503, said: /^API worker topology is not initialized/, blame: 'busy' },
    why: 'vLLM-Omni has not finished its start',
  },
]

async function setupFaultOf(response: Response): Promise<SetupFault | undefined> {
  const possible = setupFaults.filter(({ status }) => status === response.status)
  const message = possible.length > 0 ? messageOf(await tryFields(response)) : ''
  return possible.find(({ said }) => said.test(message))
}

/** FastAPI says `detail`; vLLM puts it into OpenAI's envelope. */
function messageOf({ detail, error }: Fields): string {
  return textOf(detail) ?? textOf(fieldsOf(error).message) ?? ''
}

/** "Cancellation in progress. Please try again later." */
function isPostponed(answer: Fields): boolean {
  return /try again/i.test(messageOf(answer))
}

/** "Guardrail blocked prompt: …". A 400 alone is any bad request; other mentions are of the setting `guardrails`. */
function isGuardrail(message: string): boolean {
  return /\bguardrail\b/i.test(message)
}

const policies = new Set([
  ...['moderation_blocked', 'content_policy', 'content_policy_violation', 'content_filter', 'contentFilter'],
])

const ended: Record<string, 'succeeded' | 'failed'> = {
  ...{ completed: 'succeeded', succeeded: 'succeeded', success: 'succeeded' },
  ...{ failed: 'failed', cancelled: 'failed', canceled: 'failed', expired: 'failed', error: 'failed' },
}

async function readProgress(response: Response, id: string): Promise<Progress> {
  const isFine = response.status === 200
  const video = isFine ? await readFields(response) : await tryFields(response)
  const end = typeof video.status === 'string' && Object.hasOwn(ended, video.status) ? ended[video.status] : undefined
  // Before the status: a failed video comes with its error as the status, which may be 404. Only a video is one, and only ours.
  const isOurs = video.id === id || (video.id === undefined && video.object === 'video')
  if (end === 'failed' && (isOurs || (isFine && video.id === undefined && video.status !== 'error')))
    return { status: 'failed', problem: failureOf(fieldsOf(video.error)) }
  if (end === 'failed' && isFine) throw unclear('a poll got a failure that is not of its video')
  if (response.status === 404 || video.status === 'deleted') return { status: 'missing' }
  if (!isFine) throw unclear(`a poll got ${response.status}`)
  if (end !== 'succeeded') return { status: 'running', progress: percentOf(video.progress) }
  const url = textOf(video.url) ?? textOf(fieldsOf(video.metadata).url)
  return { status: 'succeeded', output: { id, ...(url !== undefined && { url }) } }
}

function failureOf(error: Fields): Problem {
  const code = codeOf(error)
  const isPolicy = policies.has(code) || (error.code === 400 && isGuardrail(textOf(error.message) ?? ''))
  return isPolicy ? problems.policy(code) : problems.failed(code)
}

function codeOf(error: Fields): string {
  return wordOf(error.code)
}

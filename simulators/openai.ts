import { randomBytes } from 'node:crypto'
import { type Answer, json } from './upstream/answer.ts'
import type { Claim, Job } from './upstream/jobs.ts'
import type { Asked, Question, Wire } from './upstream/wire.ts'

/** How engines differ from what OpenAI's API was: see src/providers/openai.ts. */
export type Dialect = 'openai' | 'vllm-omni' | 'sglang'

/** OpenAI's Videos API, as its SDKs know it, below /v1. */
export function openaiWire(dialect: Dialect = 'openai'): Wire {
  const error =
    dialect === 'openai' ? openaiError : (status: number, message: string) => json(status, { detail: message })
  return {
    mode: 'list',
    filmsApart: false,
    newId: () => `video_${randomBytes(16).toString('hex')}`,
    isSubmit: ({ method, path }) => method === 'POST' && path === '/v1/videos',
    read: async (asked) => read(dialect, asked, error),
    accepted: (job) => json(200, videoOf(job, { status: 'waiting', progress: 0 }, dialect)),
    polled: (job, claim) => polled(job, claim, dialect),
    found: (jobs, at) => {
      const data = jobs.toReversed().map((job) => videoOf(job, at.viewOf(job), dialect))
      return json(200, { object: 'list', data, ...(dialect === 'sglang' ? {} : { has_more: false }) })
    },
    cancelled: ({ id }, done) => cancelled(id, done, dialect),
    unknown: () => error(404, 'Video not found'),
  }
}

type Refuse = (status: number, message: string, code?: string) => Answer

const openaiError: Refuse = (status, message, code) =>
  json(status, { error: { message, type: 'invalid_request_error', param: null, code: code ?? null } })

async function read(dialect: Dialect, asked: Asked, error: Refuse): Promise<Question> {
  const { method, path, headers } = asked
  const no = (answer: Answer): Question => ({ ask: 'nothing', answer })
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
  // An engine of one's own has no key.
  if (dialect === 'openai' && bearer === undefined) return no(error(401, 'No API key was given.', 'invalid_api_key'))
  if (path === '/v1/models')
    return no(json(200, { object: 'list', data: [{ id: 'film', object: 'model', owned_by: dialect }] }))
  const [, , , id, what] = path.split('/')
  if (id !== undefined && what === 'content') return { ask: 'film', id }
  if (id !== undefined && method === 'GET') return { ask: 'poll', id }
  if (id !== undefined && method === 'DELETE') return { ask: 'cancel', id }
  if (path === '/v1/videos' && method === 'GET') return { ask: 'find', subject: '', matches: () => true }
  if (path !== '/v1/videos' || method !== 'POST') return no(error(404, 'Not Found'))
  const fields = await fieldsOf(asked)
  if (fields === undefined || (dialect === 'vllm-omni' && !isForm(asked))) return no(error(422, 'the body is no form'))
  const wrong = mistakeIn(fields)
  if (wrong) return no(error(dialect === 'openai' ? 400 : 422, wrong, 'invalid_value'))
  const { model, prompt, seconds = '4', size = '720x1280' } = fields
  const body = { model, prompt: String(prompt), seconds, size, more: { image: fields.input_reference !== undefined } }
  return { ask: 'submit', submission: { body, key: null, bearer: bearer ?? '' } }
}

function isForm({ headers }: Asked): boolean {
  return /^multipart\/form-data\b/.test(headers['content-type'] ?? '')
}

async function fieldsOf(asked: Asked): Promise<Record<string, unknown> | undefined> {
  try {
    if (!isForm(asked)) return JSON.parse(asked.body.toString()) as Record<string, unknown>
    const type = asked.headers['content-type'] ?? ''
    const form = await new Response(new Uint8Array(asked.body), { headers: { 'content-type': type } }).formData()
    return Object.fromEntries(form)
  } catch {
    return undefined
  }
}

function mistakeIn({
  model,
  prompt,
  seconds = '4',
  size = '720x1280',
  input_reference: image,
}: Record<string, unknown>) {
  if (typeof prompt !== 'string' || prompt === '') return "Missing required parameter: 'prompt'."
  if (typeof model !== 'string') return "Missing required parameter: 'model'."
  if (!/^[1-9]\d*$/.test(String(seconds))) return "Invalid value for 'seconds'."
  if (!/^\d+x\d+$/.test(String(size))) return "Invalid value for 'size'."
  if (image !== undefined && !(image instanceof File && image.size > 0)) return "Invalid 'input_reference'."
  return undefined
}

const words: Record<string, string> = { waiting: 'queued', running: 'in_progress', done: 'completed', failed: 'failed' }

function videoOf({ id, body, acceptedAt }: Job, claim: Claim, dialect: Dialect): Record<string, unknown> {
  const { model, prompt, seconds, size } = body
  const word = words[String(claim.status)] ?? claim.status
  const error =
    dialect === 'sglang'
      ? { message: 'simulated' }
      : { code: codes[String(claim.error)] ?? 'server_error', message: 'simulated' }
  return {
    ...{ id, object: 'video', model, prompt, seconds: String(seconds), size },
    // SGLang never says that it is in progress.
    status: dialect === 'sglang' && word === 'in_progress' ? 'queued' : word,
    progress: claim.progress,
    created_at: Math.floor(acceptedAt / 1_000),
    ...{ completed_at: null, expires_at: null, remixed_from_video_id: null },
    error: word === 'failed' ? error : null,
    ...(dialect === 'sglang' && { file_path: `/outputs/${id}.mp4` }),
  }
}

const codes: Record<string, string> = { policy: 'moderation_blocked' }

/** vLLM-Omni answers with the error of a failed video as its HTTP status. */
function polled(job: Job, claim: Claim, dialect: Dialect): Answer {
  return json(dialect === 'vllm-omni' && claim.status === 'failed' ? 500 : 200, videoOf(job, claim, dialect))
}

/** SGLang forgets a video, and its GPU goes on with it. */
function cancelled(id: string, done: boolean, dialect: Dialect): Answer {
  if (dialect === 'sglang') return json(200, { id, object: 'video', status: 'deleted' })
  if (!done) return dialect === 'vllm-omni' ? json(409, { detail: 'try again' }) : openaiError(400, 'It has ended.')
  return json(200, { id, object: 'video.deleted', deleted: true })
}

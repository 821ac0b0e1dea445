import type { OperationForm } from '../core/attempt.ts'
import { formatSize, type Shape } from '../core/catalog.ts'
import { klingCards, shapes } from './cards/kling.ts'
import type { Member } from './index.ts'
import type { Call, Progress, Provider, ProviderRequest, Refusal, Submitted } from './provider.ts'
import {
  base64,
  blameOf,
  downloadFrom,
  type Fields,
  fieldsOf,
  foundIn,
  isSegment,
  problems,
  readFields,
  refused,
  textOf,
  tryFields,
  unclear,
  wordOf,
} from './reading/answers.ts'

/*
 * Kling's API of 2026, which has the model in the path and takes a plain key. The older one, with `model_name` in the
 * body and a signed token, is not spoken. What is odd about it:
 *   code     each answer has one, and 0 alone is good, whatever the HTTP status; 429 may mean that there is no credit
 *   1201     says that a parameter is wrong, and may say that `external_task_id` was used before: then the task is ours.
 *            Its documents call that id unique in an account; that a second task is refused was not seen on this API,
 *            so nothing is sent again
 *   tasks    are asked for by our ids or by its own; one that it does not know is simply not in the answer
 *   failed   comes with a sentence in place of a code, so that content rules can only be told by its words
 *   images   are base64 without "data:", png or jpeg; with a first frame, the film has its shape
 */

const operations: OperationForm = { example: '"930831534075682845"', fits: isSegment }

export const kling: Member = {
  cards: klingCards,
  needsNothing: false,
  baseUrl: 'https://api-singapore.klingai.com',
  key: { variable: 'KLING_API_KEY' },
  create: async () => provider,
}

const provider: Provider = {
  name: 'kling',
  cadenceMs: 5_000,
  recovery: 'lookup',
  operations,
  async submit(request, call) {
    const shape = shapes[formatSize(request.size)]
    if (!shape) return { refused: { blame: 'request', problem: problems.refused('a size that it has no words for') } }
    const { path, body } = toUpstream(request, shape, call.attemptId)
    const sent = { method: 'POST', headers: headersOf(call), body: JSON.stringify(body) } as const
    return readSubmitted(await call.send(path, sent, call.signal), call)
  },
  async poll(operation, call) {
    const id = String(operation)
    return readProgress(await ask(`task_ids=${encodeURIComponent(id)}`, call), id)
  },
  download: (output, call) => downloadFrom(String(output), call),
  async find(_request, _openedAt, call) {
    const { attemptId } = call
    const response = await ask(`external_task_ids=${encodeURIComponent(attemptId)}`, call)
    if (response.status !== 200) throw unclear(`the question for a task got ${response.status}`)
    const tasks = tasksOf(await readFields(response)).map((task) => ({ ...task, id: String(task.id) }))
    return foundIn(tasks, ({ external_id: reference }) =>
      reference === attemptId ? 'match' : reference === undefined ? 'possible' : 'other',
    )
  },
  /** There is no such task, which it says to a good key alone. That there is no credit is a 429 there. */
  async check(call) {
    const response = await ask('task_ids=0', call)
    const { code } = [200, 429].includes(response.status) ? await tryFields(response.clone()) : {}
    if (blames.get(code) !== 'account') return response
    return new Response(null, { status: response.status === 429 ? 402 : 401 })
  },
}

function ask(query: string, call: Call): Promise<Response> {
  return call.fetch(`/tasks?${query}`, { method: 'GET', headers: headersOf(call) }, call.signal)
}

function headersOf({ credential }: Call): Record<string, string> {
  return { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
}

/** Only Omni takes a picture of what shall be in the film; to the others it is the first frame. */
export function toUpstream(request: ProviderRequest, { resolution, ratio }: Shape, reference: string) {
  const { model, prompt, seconds, parameters, image } = request
  const { audio, multi_shot, last_image: last } = parameters
  const isOmni = model.endsWith('-omni')
  const hasFrames = !isOmni && (image !== null || last !== undefined)
  const url = image && base64(image.bytes)
  const contents = [
    { type: 'prompt', text: prompt },
    ...(url === null ? [] : [isOmni ? { type: 'refer_image', url, id: 'image_1' } : { type: 'first_frame', url }]),
    ...(last === undefined ? [] : [{ type: 'last_frame', url: last }]),
  ]
  const settings = {
    resolution,
    ...(!hasFrames && { aspect_ratio: ratio }),
    duration: seconds,
    ...(audio !== undefined && { audio: audio ? 'native' : 'off' }),
    ...(multi_shot !== undefined && { multi_shot }),
  }
  const product = isOmni ? 'omni-video' : hasFrames ? 'image-to-video' : 'text-to-video'
  return {
    path: `/${product}/${encodeURIComponent(model)}`,
    body: {
      ...(isOmni || hasFrames ? { contents } : { prompt }),
      ...{ settings, options: { external_task_id: reference } },
    },
  }
}

async function readSubmitted(response: Response, call: Call): Promise<Submitted> {
  const { status } = response
  if (status !== 200 && !blameOf(status)) throw unclear(`a submit got ${status}`)
  // A 400 that can't be read may be about a task of ours.
  const answer = status === 200 || status === 400 ? await readFields(response) : await tryFields(response)
  const { code } = answer
  const what = `a submit got ${status}, code ${wordOf(code)}`
  if (code === 1201 && isDuplicate(answer, call)) throw unclear(what)
  if (policies.has(code)) return refused(response, call, 'request', problems.policy(what))
  const blame = blames.get(code) ?? blameOf(status)
  if (blame) return refused(response, call, blame, problems.refused(what))
  const { id } = fieldsOf(answer.data)
  if (code !== 0 || !isSegment(id as string)) throw unclear(`${what} without an id`)
  return { operation: id as string }
}

/** "External_task_id … already exists". Ours is never wrong in any other way. */
function isDuplicate({ message }: Fields, { attemptId }: Call): boolean {
  const text = textOf(message) ?? ''
  return text.includes(attemptId) || /external.?task.?id/i.test(text)
}

const policies = new Set<unknown>([1300, 1301])

/** What the status alone does not tell, or tells wrongly. */
const blames = new Map<unknown, Refusal['blame']>([
  ...[1000, 1001, 1002, 1003, 1004, 1100, 1101, 1102, 1103, 1304].map((code) => [code, 'account'] as const),
  ...[1200, 1201, 1202, 1203].map((code) => [code, 'request'] as const),
  ...[1302, 1303].map((code) => [code, 'busy'] as const),
])

async function readProgress(response: Response, operation: string): Promise<Progress> {
  if (response.status === 404) return { status: 'missing' }
  if (response.status !== 200) throw unclear(`a poll got ${response.status}`)
  const task = tasksOf(await readFields(response)).find(({ id }) => String(id) === operation)
  if (!task) return { status: 'missing' }
  if (task.status === 'failed')
    return { status: 'failed', problem: isPolicy(task) ? problems.policy() : problems.failed() }
  if (task.status !== 'succeeded') return { status: 'running', progress: null }
  const outputs = Array.isArray(task.outputs) ? task.outputs.map(fieldsOf) : []
  const url = outputs.filter(({ type }) => type === 'video').flatMap(({ url }) => textOf(url) ?? [])[0]
  if (url === undefined) throw unclear('a task that succeeded without a video')
  return { status: 'succeeded', output: url }
}

/** Its documents have a list; those who use it saw one task alone, null for no task, and a list in `result`. */
function tasksOf({ code, data }: Fields): Fields[] {
  if (code !== 0) throw unclear(`a question for tasks got code ${wordOf(code)}`)
  if (data === null) return []
  const one = fieldsOf(data)
  const tasks = 'id' in one ? [one] : Array.isArray(data) ? data : one.result
  if (!Array.isArray(tasks)) throw unclear('an answer without tasks')
  return tasks.map(fieldsOf)
}

/** Such as "Failure to pass the risk control system". */
function isPolicy({ message }: Fields): boolean {
  return /risk control|sensitive|safety|polic(y|ies)|moderation/i.test(textOf(message) ?? '')
}

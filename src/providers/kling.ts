import { klingCards, shapes } from './cards/kling.ts'
import {
  base64,
  bearer,
  blameOf,
  createClient,
  downloadFrom,
  entriesOf,
  type Fields,
  failed,
  fieldsOf,
  formatSize,
  foundIn,
  isSegment,
  problems,
  readJsonFields,
  readPolled,
  readResponse,
  refused,
  type Shape,
  textOf,
  toJson,
  toSegment,
  tryFields,
  unclear,
  unknownSize,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest, Refusal, Submitted } from './provider.ts'

/*
 * Kling's API of 2026, which has the model in the path and accepts a plain key. The older API, with `model_name` in the body
 * and a signed token, is not supported. Its peculiarities:
 *   code     each response has one, and only 0 is success, whatever the HTTP status; 429 may mean that there is no credit
 *   1201     is a wrong parameter, or an `external_task_id` that was used before: then the task is ours. The documentation
 *            calls that id unique in an account, but we have not seen this API refuse a second task, so nothing is sent
 *            again
 *   tasks    are looked up by our ids or by Kling's; an unknown task is missing in the response
 *   failed   has a sentence instead of a code, so that only its words show a content refusal
 *   images   are base64 without "data:", png or jpeg; with a first frame, the video has its aspect ratio
 */

export const kling: Member = {
  cards: klingCards,
  baseUrl: 'https://api-singapore.klingai.com',
  key: { variable: 'KLING_API_KEY' },
  create: async () => provider,
}

const api = createClient((call) => ({ ...bearer(call), 'content-type': 'application/json' }))

const provider: Provider = {
  name: 'kling',
  cadenceMs: 5_000,
  recovery: 'lookup',
  operations: { example: '"930831534075682845"', fits: isSegment },
  async submit(request, call) {
    const shape = shapes[formatSize(request.size)]
    if (!shape) return unknownSize()
    const { path, body } = toUpstream(request, shape, call.attemptId)
    return readCreated(await api.send(path, toJson(body), call), call)
  },
  async poll(operation, call) {
    const response = await api.get(`/tasks?task_ids=${toSegment(operation)}`, call)
    return readPolled(response, (body) => progressOf(tasksOf(body).find(({ id }) => id === String(operation))))
  },
  pollMany: {
    most: 20,
    async poll(operations, call) {
      const response = await api.get(`/tasks?task_ids=${operations.map(toSegment).join(',')}`, call)
      const { status } = response
      const body = await tryFields(response)
      if (status === 429 || status >= 500 || blames.get(body.code) === 'busy')
        throw unclear(`a poll of several tasks got ${status}, code ${wordOf(body.code)}`)
      const tasks = (status === 200 && unlessUnclear(() => tasksOf(body))) || []
      const found = tasks.map((task) => [String(task.id), unlessUnclear(() => progressOf(task))] as const)
      return new Map(found.flatMap(([id, progress]) => (progress ? [[id, progress]] : [])))
    },
  },
  download: (output, call) => downloadFrom(String(output), call),
  async find(_request, _openedAt, call) {
    const response = await api.get(`/tasks?external_task_ids=${toSegment(call.attemptId)}`, call)
    return foundIn(tasksOf(await readResponse(response, 'looking up a task')), ({ external_id: reference }) =>
      reference === call.attemptId ? 'match' : reference === undefined ? 'possible' : 'other',
    )
  },
  /** This task does not exist, and only a valid key gets that response. No credit is a 429. */
  async check(call) {
    const response = await api.get('/tasks?task_ids=0', call)
    const { code } = [200, 429].includes(response.status) ? await tryFields(response.clone()) : {}
    if (blames.get(code) !== 'account') return response
    return new Response(null, { status: response.status === 429 ? 402 : 401 })
  },
}

/** Only Omni accepts a reference image; for the others, the image is the first frame. */
export function toUpstream(request: ProviderRequest, { resolution, ratio }: Shape, reference: string) {
  const { model, prompt, seconds, parameters, image } = request
  const { audio, multi_shot, last_image: last } = parameters
  const isOmni = model.endsWith('-omni')
  const hasFrames = !isOmni && (image !== null || last !== undefined)
  const url = image && base64(image)
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
      settings,
      options: { external_task_id: reference },
    },
  }
}

/** The code wins over the status, which may be 200 for a refusal. */
async function readCreated(response: Response, call: Call): Promise<Submitted> {
  const { status } = response
  if (status !== 200 && !blameOf(status)) throw unclear(`a submit got ${status}`)
  // An unreadable 400 may be about a task of ours.
  const body = status === 200 || status === 400 ? await readJsonFields(response) : await tryFields(response)
  const { code } = body
  const reason = `a submit got ${status}, code ${wordOf(code)}`
  if (code === 1201 && isDuplicate(body, call)) throw unclear(reason)
  if (policies.has(code)) return refused(response, call, { blame: 'request', problem: problems.policy(reason) })
  const blame = blames.get(code) ?? blameOf(status)
  const isCredit = status === 402 || noCredit.has(code)
  if (blame) return refused(response, call, { blame, problem: problems.refused(reason), isCredit })
  const { id } = fieldsOf(body.data)
  if (code !== 0 || !isSegment(id)) throw unclear(`${reason} without an id`)
  return { operation: id }
}

/** "External_task_id … already exists". Nothing else can be wrong with our id. */
function isDuplicate({ message }: Fields, { attemptId }: Call): boolean {
  const text = textOf(message) ?? ''
  return text.includes(attemptId) || /external.?task.?id/i.test(text)
}

const policies = new Set<unknown>([1300, 1301])

/** The account is in arrears, or its resource package is used up or has expired. */
const noCredit = new Set<unknown>([1101, 1102])

/** Where the status alone is not enough, or wrong. */
const blames = new Map<unknown, Refusal['blame']>([
  ...[1000, 1001, 1002, 1003, 1004, 1100, 1101, 1102, 1103, 1304].map((code) => [code, 'account'] as const),
  ...[1200, 1201, 1202, 1203].map((code) => [code, 'request'] as const),
  ...[1302, 1303].map((code) => [code, 'busy'] as const),
])

function progressOf(task: Fields | undefined): Progress {
  if (!task) return { status: 'missing' }
  if (task.status === 'failed') return failed(isPolicy(task))
  if (task.status !== 'succeeded') return { status: 'running', progress: null }
  const [url] = entriesOf(task.outputs).flatMap(({ type, url }) => (type === 'video' && textOf(url)) || [])
  if (url === undefined) throw unclear('a task that succeeded without a video')
  return { status: 'succeeded', output: url }
}

/** The documentation has a list; users of the API have seen a single task, null for no task, and a list in `result`. */
function tasksOf({ code, data }: Fields): Fields[] {
  if (code !== 0) throw unclear(`looking up tasks got code ${wordOf(code)}`)
  if (data === null) return []
  const one = fieldsOf(data)
  const tasks = 'id' in one ? [one] : Array.isArray(data) ? data : one.result
  if (!Array.isArray(tasks)) throw unclear('a response without tasks')
  return entriesOf(tasks).map((task) => ({ ...task, id: String(task.id) }))
}

/** What one task's own poll has to find out. */
function unlessUnclear<Read>(read: () => Read): Read | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** For example "Failure to pass the risk control system". */
function isPolicy({ message }: Fields): boolean {
  return /risk control|sensitive|safety|polic(y|ies)|moderation/i.test(textOf(message) ?? '')
}

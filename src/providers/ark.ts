import { arkCards, shapes } from './cards/ark.ts'
import {
  bearer,
  clockSlackMs,
  createClient,
  dataUri,
  downloadFrom,
  type Fields,
  fieldsOf,
  formatSize,
  foundIn,
  isSegment,
  type Json,
  type Likeness,
  listOf,
  problems,
  type RefusalDetails,
  readAnswer,
  readPolled,
  readSubmitted,
  textOf,
  toJson,
  tookCancel,
  toSegment,
  tryFields,
  unclear,
  unknownSize,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest } from './provider.ts'

/*
 * ByteDance's Seedance, by BytePlus ModelArk. Volcengine Ark in China is the same with keys and names of its own: there
 * an account's base_url is https://ark.cn-beijing.volces.com/api/v3, and a model's `model` doubao-seedance-2-0-260128
 * and so on. The name of an endpoint (ep-…) does as well.
 *   recovery  it takes no reference of ours and lists no prompts. But it shows when a task would expire, which we may
 *             choose to the second: so each attempt gets a time of its own, and is known by it.
 *   cancel    one DELETE stops what is queued, is refused while it runs, and deletes the film of what is done: only
 *             what is queued is asked to stop.
 *   progress  is never told.
 */

export const ark: Member = {
  cards: arkCards,
  otherNames: /^(ep|(doubao|dreamina)-seedance)-[\w.-]+$/,
  baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
  key: { variable: 'ARK_API_KEY' },
  create: async () => provider,
}

const api = createClient(bearer)
const tasks = '/contents/generations/tasks'
const mostListed = 500

const provider: Provider = {
  name: 'ark',
  cadenceMs: 5_000,
  recovery: 'list',
  operations: { example: '"cgt-20261114100000-abcde"', fits: isSegment },
  async submit(request, call) {
    const upstream = toUpstream(request, call.attemptId)
    if (upstream === undefined) return unknownSize()
    return readSubmitted(await api.send(tasks, toJson(upstream), call), call, { refusal: readRefusal })
  },
  poll: async (operation, call) => readPolled(await api.get(pathOf(operation), call), progressOf),
  download: (output, call) => downloadFrom(String(fieldsOf(output).url), call),
  async find(request, openedAt, call) {
    const response = await api.get(`${tasks}?page_num=1&page_size=${mostListed}`, call)
    const { items, total } = await readAnswer(response, 'the question for tasks')
    if (total === 0) return foundIn([], () => 'other')
    if (!Array.isArray(items)) throw unclear('a list of tasks without items')
    const isPartial = typeof total === 'number' ? total > items.length : items.length >= mostListed
    return foundIn(listOf(items), (task) => likenessOf(task, request, openedAt, call.attemptId), isPartial)
  },
  listedAs: ({ id }) => String(expiryOf(id)),
  cancel,
  check: (call) => api.get(`${tasks}?page_num=1&page_size=1`, call),
}

async function cancel(operation: Json, call: Call): Promise<'cancelled' | 'too_late'> {
  const before = await api.get(pathOf(operation), call)
  if (before.status === 404) return 'too_late'
  const { status } = await readAnswer(before, 'a question before a cancel')
  if (status === 'cancelled') return 'cancelled'
  if (status !== 'queued') return 'too_late'
  const response = await api.request('DELETE', pathOf(operation), call)
  // It runs by now, or is gone.
  return tookCancel(response, [400, 403, 404, 409], [200, 204]) ? 'cancelled' : 'too_late'
}

function pathOf(operation: Json): string {
  return `${tasks}/${toSegment(operation)}`
}

/** Undefined where it has no words for the size. */
export function toUpstream(request: ProviderRequest, attemptId: string) {
  const { model, prompt, seconds, size, parameters, image } = request
  const shape = shapes[formatSize(size)]
  if (shape === undefined) return undefined
  const { audio, last_image: last, watermark } = parameters
  const frame = (url: unknown, role: string) => ({ type: 'image_url', image_url: { url }, role })
  return {
    model,
    content: [
      { type: 'text', text: prompt },
      ...(image ? [frame(dataUri(image), 'first_frame')] : []),
      ...(last === undefined ? [] : [frame(last, 'last_frame')]),
    ],
    resolution: shape.resolution,
    // Seedance 2.5 refuses a first frame together with any other ratio.
    ratio: image && model.includes('seedance-2-5') ? 'adaptive' : shape.ratio,
    duration: seconds,
    ...(audio !== undefined && { generate_audio: audio }),
    ...(watermark !== undefined && { watermark }),
    execution_expires_after: expiryOf(attemptId),
  }
}

/** In seconds: from two days, which is usual, to three, which is the most. The id is random, and so is this. */
function expiryOf(attemptId: string): number {
  return 172_800 + (Number.parseInt(attemptId.slice(-8), 16) % 86_400)
}

async function readRefusal(response: Response): Promise<RefusalDetails> {
  const { code, message } = fieldsOf((await tryFields(response)).error)
  const word = wordOf(code)
  if (isPolicy(word)) return { blame: 'request', problem: problems.policy(word) }
  const problem = problems.refused(`a submit got ${response.status}: ${word}`)
  return isOurs(word, message) ? { blame: 'account', problem } : { problem }
}

function isPolicy(code: string): boolean {
  return /SensitiveContent|RiskDetection/.test(code)
}

/**
 * What an operator has to see to, whatever the status: a model that was not activated or is not for this account, a
 * limit that was set, a trial that is over. The code of the last one also means that too much is queued.
 */
function isOurs(code: string, message: unknown): boolean {
  if (code === 'QuotaExceeded') return typeof message === 'string' && /free trial/i.test(message)
  return /^(InvalidEndpoint|ModelNotOpen|UnsupportedModel|InvalidSubscription|SetLimitExceeded)/.test(code)
}

const failures: readonly unknown[] = ['failed', 'cancelled', 'expired']

function progressOf({ status, error, content }: Fields): Progress {
  if (failures.includes(status)) {
    const code = wordOf(fieldsOf(error).code)
    return { status: 'failed', problem: isPolicy(code) ? problems.policy(code) : problems.failed(`${status}: ${code}`) }
  }
  if (status !== 'succeeded') return { status: 'running', progress: null }
  const url = textOf(fieldsOf(content).video_url)
  if (url === undefined) throw unclear('a finished task without a video')
  return { status: 'succeeded', output: { url } }
}

/** Without the time at which it would expire, a task may be anybody's. Of an endpoint the list tells the model behind it. */
function likenessOf(task: Fields, { model }: ProviderRequest, openedAt: number, attemptId: string): Likeness {
  const { model: named, created_at: created, execution_expires_after: expiry } = task
  const isRecent = typeof created !== 'number' || created * 1_000 >= openedAt - clockSlackMs
  const isModel = named === model || typeof named !== 'string' || model.startsWith('ep-')
  if (!isRecent || !isModel) return 'other'
  if (typeof expiry !== 'number') return 'possible'
  return expiry === expiryOf(attemptId) ? 'match' : 'other'
}

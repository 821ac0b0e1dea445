import { arkCards, shapes } from './cards/ark.ts'
import {
  acceptedCancel,
  bearer,
  clockSlackMs,
  createClient,
  dataUri,
  downloadFrom,
  entriesOf,
  type Fields,
  fieldsOf,
  formatSize,
  foundIn,
  isSegment,
  type Json,
  type Likeness,
  problems,
  type RefusalDetails,
  readPolled,
  readResponse,
  readSubmitted,
  textOf,
  toJson,
  toSegment,
  tryFields,
  unclear,
  unknownSize,
  wordOf,
} from './kit/index.ts'
import type { Call, Member, Progress, Provider, ProviderRequest } from './provider.ts'

/*
 * ByteDance's Seedance on BytePlus ModelArk. Volcengine Ark in China has the same API with other keys and model names: there
 * an account's base_url is https://ark.cn-beijing.volces.com/api/v3, and a model's `model` is doubao-seedance-2-0-260128
 * and so on. The name of an endpoint (ep-…) works too.
 *   recovery  the API accepts no reference of ours and lists no prompts. But it lists when a task expires, which the request
 *             sets to the second: each attempt gets an expiry of its own and is recognised by it
 *   cancel    DELETE stops a queued task, is refused while a task runs, and deletes the video of a finished task: we send
 *             it for queued tasks only
 *   progress  is never reported
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
    const { items, total } = await readResponse(response, 'listing tasks')
    if (total === 0) return foundIn([], () => 'other')
    if (!Array.isArray(items)) throw unclear('a list of tasks without items')
    const isPartial = typeof total === 'number' ? total > items.length : items.length >= mostListed
    return foundIn(entriesOf(items), (task) => likenessOf(task, request, openedAt, call.attemptId), isPartial)
  },
  listedAs: ({ id }) => String(expiryOf(id)),
  cancel,
  check: (call) => api.get(`${tasks}?page_num=1&page_size=1`, call),
}

async function cancel(operation: Json, call: Call): Promise<'cancelled' | 'too_late'> {
  const before = await api.get(pathOf(operation), call)
  if (before.status === 404) return 'too_late'
  const { status } = await readResponse(before, 'a poll before a cancel')
  if (status === 'cancelled') return 'cancelled'
  if (status !== 'queued') return 'too_late'
  const response = await api.request('DELETE', pathOf(operation), call)
  // The task has started meanwhile, or is gone.
  return acceptedCancel(response, [400, 403, 404, 409], [200, 204]) ? 'cancelled' : 'too_late'
}

function pathOf(operation: Json): string {
  return `${tasks}/${toSegment(operation)}`
}

/** Undefined if the size is unknown. */
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

/** In seconds: from two days (the default) to three (the maximum). The id is random, so the expiry is too. */
function expiryOf(attemptId: string): number {
  return 172_800 + (Number.parseInt(attemptId.slice(-8), 16) % 86_400)
}

async function readRefusal(response: Response): Promise<RefusalDetails> {
  const { code, message } = fieldsOf((await tryFields(response)).error)
  const word = wordOf(code)
  if (isPolicy(word)) return { blame: 'request', problem: problems.policy(word) }
  const problem = problems.refused(`a submit got ${response.status}: ${word}`)
  const isCredit = response.status === 402 || /^(AccountOverdue|SetLimitExceeded|QuotaExceeded)/.test(word)
  return isAccountFault(word, message) ? { blame: 'account', problem, isCredit } : { problem, isCredit }
}

function isPolicy(code: string): boolean {
  return /SensitiveContent|RiskDetection/.test(code)
}

/**
 * Whether the operator must act, whatever the status: the model is not activated or not for this account, a limit was
 * reached, or a trial is over. The code of the last case can also mean that too many tasks are queued.
 */
function isAccountFault(code: string, message: unknown): boolean {
  if (code === 'QuotaExceeded') return typeof message === 'string' && /free trial/i.test(message)
  return /^(InvalidEndpoint|ModelNotOpen|UnsupportedModel|InvalidSubscription|SetLimitExceeded)/.test(code)
}

const failures: readonly unknown[] = ['failed', 'cancelled', 'expired']

function progressOf({ status, error, content, usage }: Fields): Progress {
  if (failures.includes(status)) {
    const code = wordOf(fieldsOf(error).code)
    return { status: 'failed', problem: isPolicy(code) ? problems.policy(code) : problems.failed(`${status}: ${code}`) }
  }
  if (status !== 'succeeded') return { status: 'running', progress: null }
  const url = textOf(fieldsOf(content).video_url)
  if (url === undefined) throw unclear('a finished task without a video')
  const { completion_tokens: tokens } = fieldsOf(usage)
  const isCount = typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0
  return { status: 'succeeded', output: { url }, ...(isCount && { usage: { outputTokens: tokens } }) }
}

/** Without its expiry, a task may be another attempt's. For an endpoint, the list has the model behind it. */
function likenessOf(task: Fields, { model }: ProviderRequest, openedAt: number, attemptId: string): Likeness {
  const { model: named, created_at: created, execution_expires_after: expiry } = task
  const isRecent = typeof created !== 'number' || created * 1_000 >= openedAt - clockSlackMs
  const isModel = named === model || typeof named !== 'string' || model.startsWith('ep-')
  if (!isRecent || !isModel) return 'other'
  if (typeof expiry !== 'number') return 'possible'
  return expiry === expiryOf(attemptId) ? 'match' : 'other'
}

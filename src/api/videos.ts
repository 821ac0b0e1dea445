import type { FastifyReply, FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import type { Bucket } from '../buckets/bucket.ts'
import { type Catalog, type CatalogEntry, findModel, fitSeconds, fitSize } from '../core/catalog.ts'
import type { Clock, Random } from '../core/clock.ts'
import { fitDeadlines } from '../core/deadlines.ts'
import { digestRequest } from '../core/digest.ts'
import { readParameters, readSizeWords } from '../core/parameters.ts'
import { Problem } from '../core/problem.ts'
import type { Parameters, Task, TaskImage, TaskView } from '../core/task.ts'
import { isFinished, isTaskId, newTaskId, queueTask, type Submission } from '../core/task.ts'
import type { Media } from '../media/media.ts'
import type { Outbound } from '../outbound.ts'
import type { Store } from '../stores/store.ts'
import { type Reference, readReference } from './reference.ts'
import { openRepeats } from './repeats.ts'
import { toWireVideo, type WireVideo } from './wire.ts'

export interface VideoDependencies {
  catalog: Catalog
  store: Store
  bucket: Bucket
  media: Media
  outbound: Outbound
  clock: Clock
  random: Random
}

/** Fields beyond these are checked against the model, once it is known. */
export const submitBody = {
  type: 'object',
  required: ['prompt'],
  properties: {
    model: { type: 'string' },
    prompt: { type: 'string', minLength: 1, maxLength: 32_000 },
    seconds: { type: ['string', 'integer'] },
    size: { type: 'string' },
    image: {},
    input_reference: {},
    start_within: { type: ['string', 'integer'] },
    finish_within: { type: ['string', 'integer'] },
  },
} as const
type SubmitBody = XStatic<typeof submitBody>

export function submitVideo(dependencies: VideoDependencies) {
  const { catalog, store, clock, random } = dependencies
  const once = openRepeats(store, clock)
  return async (request: FastifyRequest): Promise<WireVideo> => {
    const body = request.body as SubmitBody
    const name = body.model ?? catalog.defaultModel
    if (name === null) {
      throw new Problem(
        'missing_required_parameter',
        "Missing required parameter: 'model'. GET /v1/models lists the models you can use.",
        { param: 'model' },
      )
    }
    const entry = findModel(catalog, request.token, name)
    const parameters = readParameters(entry.card, body, { text: request.isMultipart() })
    refuseUnstorable(body.prompt)
    const seconds = fitSeconds(entry.card, body.seconds)
    const size = fitSize(entry.card, { size: body.size, ...readSizeWords(body) })
    const reference = await readReference(body, dependencies)
    refuseImageMismatch(reference, entry, parameters)

    const { id: card } = entry.card
    const asked = { card, prompt: body.prompt, seconds, size, parameters }
    const image = reference && ('url' in reference ? reference.url : reference.bytes)
    const digest = digestRequest({ ...asked, image })
    const now = clock.now()
    const times = fitDeadlines(entry.card, body, now)
    const task = await once(request, digest, () => {
      const fields = { id: newTaskId(now, random), owner: request.token.name, model: name, digest, ...asked, ...times }
      return insert(fields, reference, dependencies)
    })
    // As it was when it was made, however far it is by now: that is what its client waits for.
    return toWireVideo(queueTask(task, task.createdAt), { nulls: wantsNulls(request) })
  }
}

async function insert(
  fields: Omit<Submission, 'image'>,
  reference: Reference | null,
  { store, bucket, clock }: VideoDependencies,
): Promise<Task> {
  try {
    const task = queueTask({ ...fields, image: await keep(fields.id, reference, bucket) }, clock.now())
    await store.insert(task)
    return task
  } catch (error) {
    // A store that went away in the middle may have the row after all, and its image must be there then.
    if (Problem.from(error).code !== 'storage_unavailable') await bucket.removeFolder(fields.id)
    throw error
  }
}

/** Most of all requests are polls: where the store answers at once, so does this, without a promise on the way. */
export function retrieveVideo({ store, catalog }: VideoDependencies) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { id } = request.params as { id: string }
    const answer = (task: TaskView | undefined) => {
      if (!task) throw notFound(id)
      if (!isFinished(task)) {
        reply.header('openai-poll-after-ms', String(catalog.entries.get(task.model)?.card.pollAfterMs ?? 5_000))
      }
      reply.send(toWireVideo(task, { nulls: wantsNulls(request) }))
    }
    const task = isTaskId(id) ? store.read(request.token.name, id) : undefined
    if (task instanceof Promise) task.then(answer).catch((error) => reply.send(error))
    else answer(task)
  }
}

/** An id that is not there and one of another token get the same answer. */
export function notFound(id: string): Problem {
  return new Problem('video_not_found', `Video '${id.slice(0, 100)}' not found.`, { param: 'video_id' })
}

/** OpenAI's SDKs say who they are, and their types promise null where the specification leaves a field out. */
export function wantsNulls(request: FastifyRequest): boolean {
  return request.headers['x-stainless-lang'] !== undefined
}

/** Text that a database can't give back as it came would be bent silently. */
function refuseUnstorable(prompt: string): void {
  const fault =
    prompt.trim() === '' ? 'it must not be blank' : prompt.includes('\0') ? 'it must not contain NUL' : undefined
  const reason = fault ?? (prompt.isWellFormed() ? undefined : 'it contains half a surrogate pair, which is not text')
  if (reason) throw new Problem('invalid_value', `Invalid 'prompt': ${reason}.`, { param: 'prompt' })
}

function refuseImageMismatch(reference: Reference | null, { card }: CatalogEntry, parameters: Parameters): void {
  if (reference && card.image === 'none') {
    throw new Problem('invalid_value', `Model '${card.id}' takes no reference image.`, { param: 'image' })
  }
  if (!reference && card.image === 'required') {
    throw new Problem('missing_required_parameter', `Model '${card.id}' needs a reference image: send it as 'image'.`, {
      param: 'image',
    })
  }
  const param = Object.keys(parameters).find((name) => card.parameters[name]?.needsImage)
  if (!reference && param !== undefined)
    throw new Problem('invalid_value', `'${param}' is taken only together with 'image'.`, { param })
}

async function keep(id: string, reference: Reference | null, bucket: Bucket): Promise<TaskImage | null> {
  if (!reference || 'url' in reference) return reference
  const { bytes, type, size } = reference
  const asset = await bucket.put(`${id}/image`, [bytes], AbortSignal.timeout(60_000))
  return { asset, type, size }
}

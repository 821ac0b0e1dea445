import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Bucket } from '../buckets/bucket.ts'
import { type Catalog, type CatalogEntry, findModel, fitSeconds, fitSize } from '../core/catalog.ts'
import type { Clock, Random } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { isFinished, isTaskId, newTaskId, type Task, type TaskImage } from '../core/task.ts'
import type { Media } from '../media/media.ts'
import type { Outbound } from '../outbound.ts'
import type { Store } from '../stores/store.ts'
import { type Reference, readReference } from './reference.ts'
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
export const SubmitBody = Type.Object({
  model: Type.Optional(Type.String()),
  prompt: Type.String({ minLength: 1, maxLength: 32_000 }),
  seconds: Type.Optional(Type.Unsafe<string | number>({ type: ['string', 'integer'] })),
  size: Type.Optional(Type.String()),
  image: Type.Optional(Type.Unknown()),
  input_reference: Type.Optional(Type.Unknown()),
})
type SubmitBody = Static<typeof SubmitBody>

export function submitVideo(dependencies: VideoDependencies) {
  const { catalog, store, bucket, clock, random } = dependencies
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
    refuseUnknown(body, entry)
    refuseUnstorable(body.prompt)
    const seconds = fitSeconds(entry.card, body.seconds)
    const size = fitSize(entry.card, body.size)
    const reference = await readReference(body, dependencies, AbortSignal.timeout(60_000))
    refuseImageMismatch(reference, entry)

    const now = clock.now()
    const id = newTaskId(now, random)
    const task: Task = {
      ...{ id, owner: request.token.name, model: name, prompt: body.prompt, seconds, size, createdAt: now },
      ...{ provider: entry.card.provider, upstreamModel: entry.card.upstreamModel },
      ...{ image: await keep(id, reference, bucket), state: 'queued', progress: 0, dueAt: now, tries: 0, fence: 0 },
      ...{
        startedAt: null,
        completedAt: null,
        expiresAt: null,
        operation: null,
        output: null,
        video: null,
        error: null,
      },
    }
    try {
      await store.insert(task)
    } catch (error) {
      await bucket.removeFolder(id)
      throw error
    }
    return toWireVideo(task, { nulls: wantsNulls(request) })
  }
}

export function retrieveVideo({ store, catalog }: VideoDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<WireVideo> => {
    const task = await findTask(store, request)
    if (!isFinished(task)) {
      reply.header('openai-poll-after-ms', String(catalog.entries.get(task.model)?.card.pollAfterMs ?? 5_000))
    }
    return toWireVideo(task, { nulls: wantsNulls(request) })
  }
}

/** This token's task of that id; an id that is not there and one of another token get the same answer. */
export async function findTask(store: Store, request: FastifyRequest): Promise<Task> {
  const { id } = request.params as { id: string }
  const task = isTaskId(id) ? await store.read(request.token.name, id) : undefined
  if (!task) throw new Problem('video_not_found', `Video '${id.slice(0, 100)}' not found.`, { param: 'video_id' })
  return task
}

/** OpenAI's SDKs say who they are, and their types promise null where the specification leaves a field out. */
function wantsNulls(request: FastifyRequest): boolean {
  return request.headers['x-stainless-lang'] !== undefined
}

function refuseUnknown(body: SubmitBody, { name }: CatalogEntry): void {
  const known = Object.keys(SubmitBody.properties)
  const other = Object.keys(body)
    .find((field) => !known.includes(field))
    ?.slice(0, 100)
  if (other === undefined) return
  throw new Problem('unknown_parameter', `Unknown parameter: '${other}'. Model '${name}' takes: ${known.join(', ')}.`, {
    param: other,
  })
}

/** Text that a database can't give back as it came would be bent silently. */
function refuseUnstorable(prompt: string): void {
  const fault =
    prompt.trim() === '' ? 'it must not be blank' : prompt.includes('\0') ? 'it must not contain NUL' : undefined
  const reason = fault ?? (prompt.isWellFormed() ? undefined : 'it contains half a surrogate pair, which is not text')
  if (reason) throw new Problem('invalid_value', `Invalid 'prompt': ${reason}.`, { param: 'prompt' })
}

function refuseImageMismatch(reference: Reference | null, { card }: CatalogEntry): void {
  if (reference && card.image === 'none') {
    throw new Problem('invalid_value', `Model '${card.id}' takes no reference image.`, { param: 'image' })
  }
  if (!reference && card.image === 'required') {
    throw new Problem('missing_required_parameter', `Model '${card.id}' needs a reference image: send it as 'image'.`, {
      param: 'image',
    })
  }
}

async function keep(id: string, reference: Reference | null, bucket: Bucket): Promise<TaskImage | null> {
  if (!reference || 'url' in reference) return reference
  const { bytes, type, size } = reference
  const asset = await bucket.put(`${id}/image`, single(bytes), AbortSignal.timeout(60_000))
  return { asset, type, size }
}

async function* single(bytes: Uint8Array) {
  yield bytes
}

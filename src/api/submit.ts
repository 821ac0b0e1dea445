import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import type { Bucket } from '../buckets/bucket.ts'
import type { Catalog, CatalogEntry } from '../core/catalog.ts'
import type { Clock, Random } from '../core/clock.ts'
import type { ProblemCode } from '../core/codes.ts'
import { fitDeadlines, type RequestedDeadlines } from '../core/deadlines.ts'
import type { ImageFacts } from '../core/image.ts'
import { type PricedRequest, type PriceSettings, priceRequest, pricesFor } from '../core/prices.ts'
import { Problem } from '../core/problem.ts'
import { capsAt } from '../core/spend.ts'
import type { Asset, Submission, Task, TaskImage, TaskSource } from '../core/task.ts'
import { digestRequest, newTaskId, queueTask, storedBytes } from '../core/task.ts'
import { idOf, ownerOf, type Token, type UnknownParameters } from '../core/token.ts'
import type { Media } from '../media/media.ts'
import type { Outbound } from '../outbound.ts'
import type { TaskStore } from '../stores/store.ts'
import type { Alarms } from '../telemetry/alarms.ts'
import type { Video } from '../wire/videos.ts'
import type { Reference } from './reference.ts'
import { keyOf, openKeys, openRepeats } from './repeats.ts'
import type { StoredBytes } from './stored-bytes.ts'
import { toWireVideo, wantsNulls } from './wire.ts'

export interface VideoDependencies {
  access: Pick<Access, 'mostQueued' | 'mostStored'>
  catalog: Catalog
  store: TaskStore
  bucket: Bucket
  media: Media
  outbound: Outbound
  clock: Clock
  random: Random
  alarms?: Alarms
  /** Throws if there is no space for new tasks. */
  checkSpace?: () => Promise<void>
  /** Whether unknown parameters are refused, which is the default, or ignored. */
  unknownParameters?: UnknownParameters
  /** Without it, videos of tokens without a spend cap are free. */
  prices?: PriceSettings | null
}

/** The model that a request names, or the operator's default. */
export function nameOf({ model }: { model?: string }, { defaultModel }: Catalog): string {
  const name = model ?? defaultModel
  if (name !== null) return name
  const message = "Missing required parameter: 'model'. GET /v1/models lists the models you can use."
  throw new Problem('missing_required_parameter', message, { param: 'model' })
}

/** A database would silently change such text. */
export function refuseUnstorable(prompt: string): void {
  const fault =
    prompt.trim() === '' ? 'it must not be blank' : prompt.includes('\0') ? 'it must not contain NUL' : undefined
  const reason = fault ?? (prompt.isWellFormed() ? undefined : 'it contains half a surrogate pair, which is not text')
  if (reason) throw new Problem('invalid_value', `Invalid 'prompt': ${reason}.`, { param: 'prompt' })
}

/** A request for a video, parsed and checked. */
interface Order extends Pick<Task, 'prompt' | 'seconds' | 'size' | 'parameters' | 'metadata'> {
  entry: CatalogEntry
  deadlines: RequestedDeadlines
  /** Unknown parameters that were ignored. */
  ignored: readonly string[]
  reference: Reference | null
  source: OrderSource | null
}

/** The video that the new one is created from. */
export interface OrderSource extends Omit<TaskSource, 'asset'> {
  /** Identifies it: its id, or the digest of its bytes. */
  name: string
  /** The reference image of the source, if it is used again. */
  image: (ImageFacts & { open: () => Promise<Readable> }) | null
  /** Its bytes, if the model needs them. */
  open: (() => Promise<Readable>) | null
}

export type Submit = (request: FastifyRequest, order: Order) => Promise<Video>

/** All tasks are created here. */
export function openSubmit(dependencies: VideoDependencies, stored: StoredBytes): Submit {
  const { access, store, bucket, clock, random, alarms, checkSpace, prices = null } = dependencies
  const repeated = openRepeats(store, clock)
  const keyed = openKeys(store)

  async function insert(
    fields: Omit<Submission, 'image' | 'source' | 'price'>,
    order: Order,
    token: Token,
  ): Promise<Task> {
    const price = priceRequest(pricesFor(prices, token), pricedRequest(order, fields.owner))
    try {
      // If the store is unavailable, this fails before anything is put into the bucket, where it would stay forever.
      if (order.reference || order.source) await store.find(fields.id)
      const image = await keepImage(fields.id, order, bucket)
      const source = order.source && (await keepSource(fields.id, order.source, bucket))
      const task = queueTask({ ...fields, price, image, source }, clock.now())
      task.warnings = warningsOf(order)
      await store.insert(task, capsAt(token.spend ?? [], task), access.mostQueued(token))
      return task
    } catch (error) {
      const { code } = Problem.from(error)
      // If the store's response was lost, the row that has the key may be this one.
      const own = code === 'idempotency_key_taken' ? await store.find(fields.id) : undefined
      if (own) return own
      // If the store failed during the commit, the row may exist, and then its files must exist, too.
      const isKept = order.source !== null || (order.reference !== null && !('url' in order.reference))
      // Files that can't be removed do no harm, and the client needs the first error.
      if (isKept && code !== 'storage_unavailable') await bucket.removeFolder(fields.id).catch(() => {})
      throw error
    }
  }

  return async (request, order) => {
    const { entry, prompt, seconds, size, parameters, metadata, reference, source } = order
    const fields = { card: entry.card.id, prompt, seconds, size, parameters, metadata }
    const image = reference && ('url' in reference ? reference.url : await sha256Of(reference.bytes))
    const named = source && `${source.kind} ${source.name}`
    const digest = digestRequest({ ...fields, image, source: named, ignored: order.ignored })
    const now = clock.now()
    const times = fitDeadlines(entry.card, order.deadlines, now)
    const owner = ownerOf(request.token)
    const idempotencyKey = keyOf(request)
    const create = async () => {
      refusePaused(entry)
      await checkSpace?.()
      const settle = await stored.admit(owner, access.mostStored(request.token), uploadedBytes(order))
      const token = idOf(request.token)
      const id = newTaskId(now, random)
      const trace = request.trace?.beginTask(id) ?? null
      const identity = { id, owner, token, model: entry.name, digest, idempotencyKey, trace }
      // An extension is not another version of its source.
      const remixedFrom = source && source.kind !== 'extension' ? source.video : null
      let kept = 0
      try {
        const task = await insert({ ...identity, remixedFrom, ...fields, ...times }, order, request.token)
        kept = storedBytes(task) ?? 0
        return task
      } finally {
        settle(kept)
      }
    }
    const report = (error: unknown): never => {
      const limit = limits[Problem.from(error).code]
      if (limit !== undefined) alarms?.raise('limit_reached', owner, { limit })
      throw error
    }
    const createOrReport = () => create().catch(report)
    const task = await (idempotencyKey === null
      ? repeated(request, digest, createOrReport)
      : keyed(owner, idempotencyKey, digest, createOrReport))
    return toWireVideo(asCreated(task, order), { nulls: wantsNulls(request) })
  }
}

/** The limits of a project, by the code of the refusal; named as the settings of its tokens. */
const limits: Readonly<Partial<Record<ProblemCode, string>>> = {
  insufficient_quota: 'spend',
  queue_full: 'queued',
  storage_quota_exceeded: 'stored_bytes',
}

/** A repeat gets the same response as the first request, however far the task is by now. No claim changed a new task. */
function asCreated(task: Task, order: Order): Task {
  if (task.fence === 0) return task
  // An image that was given as a URL is an asset by now.
  const image = order.reference && 'url' in order.reference ? order.reference : task.image
  return { ...queueTask({ ...task, image }, task.createdAt), warnings: warningsOf(order) }
}

/** What the price of an order depends on. */
function pricedRequest({ entry, seconds, size, parameters, reference, source }: Order, owner: string): PricedRequest {
  const hasImage = reference !== null || Boolean(source?.image)
  return {
    card: entry.card,
    owner,
    seconds,
    size,
    parameters,
    hasImage,
    sourceSeconds: source?.open ? source.seconds : 0,
  }
}

/** Only a new video: a repeat gets the one that exists. */
function refusePaused({ name, card }: CatalogEntry): void {
  if (!card.isPaused) return
  const message = `The model '${name}' is paused by the operator. Use another model, or try again later.`
  throw new Problem('model_not_found', message, { param: 'model' })
}

/** A source is not counted before it is copied: its size is not known earlier. */
function uploadedBytes({ reference }: Pick<Order, 'reference'>): number {
  return reference && 'bytes' in reference ? reference.bytes.length : 0
}

function warningsOf({ ignored, entry }: Order): string[] {
  return ignored.map((name) => `\`${name}\` is not a parameter of ${entry.card.id} and was ignored.`)
}

async function keepImage(
  id: string,
  { reference, source }: Pick<Order, 'reference' | 'source'>,
  bucket: Bucket,
): Promise<TaskImage | null> {
  if (source?.image) {
    const { open, ...facts } = source.image
    return { ...facts, asset: await copy(`${id}/image`, await open(), bucket) }
  }
  if (!reference || 'url' in reference) return reference
  const { bytes, type, size } = reference
  const asset = await bucket.put(`${id}/image`, piecesOf(bytes), AbortSignal.timeout(60_000))
  return { asset, type, size }
}

/** On another thread: 20 MiB take 40 ms (measured). */
async function sha256Of(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex')
}

/** In pieces, so that other requests are served while the bucket hashes them. */
function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  const size = 2 ** 20
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** The task gets its own copy, because its source may be deleted or expire before the video is generated. */
async function keepSource(id: string, source: OrderSource, bucket: Bucket): Promise<TaskSource> {
  const { kind, video, prompt, seconds, open } = source
  return { kind, video, prompt, seconds, asset: open && (await copy(`${id}/source.mp4`, await open(), bucket)) }
}

async function copy(key: string, bytes: Readable, bucket: Bucket): Promise<Asset> {
  try {
    return await bucket.put(key, bytes, AbortSignal.timeout(60_000))
  } finally {
    bytes.destroy()
  }
}

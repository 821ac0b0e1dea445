import type { FastifyRequest } from 'fastify'
import { type CardFacts, type CatalogEntry, formatSize, type ModelCard, type Shapes } from '../core/catalog.ts'
import { fromMicros } from '../core/money.ts'
import type { ModelPrice } from '../core/prices.ts'
import { isFinished, statusDetail, type TaskView, type VideoFacts, wholeSeconds, wireStatus } from '../core/task.ts'
import type { Model } from '../wire/models.ts'
import type { DeletedVideo, Video, VideoOutput } from '../wire/videos.ts'
import type { Estimate } from './estimates.ts'

/* Turns tasks and models into the shapes of `src/wire`. */

interface WireOptions {
  /** Whether a field that does not apply is null (`wantsNulls`) or omitted. */
  nulls: boolean
  /** Without it, a queued task waits for a slot: the response to a submit is the same at each repeat. */
  estimate?: Pick<Estimate, 'eta' | 'queuePosition' | 'isAvailable'>
}

/**
 * OpenAI's SDKs send this header. Their types have null for a field that does not apply; the specification omits it.
 * Code such as `if (video.error !== null) throw video.error.message` fails without the null.
 */
export function wantsNulls({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['x-stainless-lang'] !== undefined
}

export function toWireVideo(task: TaskView, { nulls, estimate }: WireOptions): Video {
  const { completedAt, expiresAt, error, remixedFrom, videoFacts, warnings, metadata, usage } = task
  const detail = statusDetail(task, estimate?.isAvailable ?? true)
  const video: Video = {
    id: task.id,
    object: 'video',
    model: task.model,
    status: wireStatus(task),
    progress: task.progress,
    created_at: unixSeconds(task.createdAt),
    seconds: String(videoFacts ? wholeSeconds(videoFacts.duration) : task.seconds),
    size: formatSize(videoFacts ?? task.size),
    prompt: task.prompt,
  }
  if (nulls) {
    const none = { completed_at: null, expires_at: null, output: null, warnings: null, usage: null }
    Object.assign(video, none, { status_detail: detail, remixed_from_video_id: remixedFrom, error, metadata })
  } else {
    if (detail !== null) video.status_detail = detail
    if (error) video.error = error
    if (remixedFrom !== null) video.remixed_from_video_id = remixedFrom
    if (metadata !== null) video.metadata = metadata
  }
  if (!isFinished(task)) addEstimate(video, nulls, estimate)
  if (task.state === 'completed' && completedAt !== null && expiresAt !== null) {
    video.completed_at = unixSeconds(completedAt)
    video.expires_at = unixSeconds(expiresAt)
  }
  if (videoFacts) video.output = toWireOutput(videoFacts)
  if (warnings.length > 0) video.warnings = warnings
  if (usage?.cost !== undefined && usage.currency !== undefined)
    video.usage = { cost: fromMicros(usage.cost), currency: usage.currency }
  return video
}

export function toWireOutput({ width, height, duration, frameRate, codec, bytes }: VideoFacts): VideoOutput {
  return { width, height, duration, frame_rate: frameRate, codec, bytes }
}

interface ModelPrices {
  price: ModelPrice | null
  /** Whether to hide what the provider charges. */
  hidesCost: boolean
}

export function toWireModel({ name, card }: CatalogEntry, { price, hidesCost }: ModelPrices): Model {
  const { seconds, size } = card
  return {
    id: name,
    object: 'model',
    created: card.created,
    owned_by: card.ownedBy,
    ...(name === card.id ? {} : { alias_of: card.id }),
    ...(card.isPaused && { paused: true as const }),
    description: card.description,
    seconds: {
      ...('values' in seconds
        ? { values: seconds.values.map(String) }
        : { min: String(seconds.min), max: String(seconds.max) }),
      default: String(seconds.default),
    },
    size: {
      ...('values' in size
        ? { values: size.values, ...(size.shapes && { shapes: toWireShapes(size.shapes) }) }
        : { min_side: size.minSide, max_side: size.maxSide, multiple_of: size.multipleOf }),
      default: size.default,
    },
    image: card.image,
    makes: card.makes ?? [],
    parameters: toWireParameters(card),
    price,
    ...(card.facts && { facts: toWireFacts(hidesCost ? { ...card.facts, price: null } : card.facts, card) }),
  }
}

export function toWireList<Item>(data: readonly Item[]) {
  return { object: 'list', data } as const
}

export function toWirePage<Item extends { id: string }>(data: readonly Item[], { hasMore }: { hasMore: boolean }) {
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
  return { object: 'list', data, first_id, last_id, has_more: hasMore } as const
}

/** The same page as text before and after the JSON of its items, for a page that is too large to be built at once. */
export const wirePageStart = '{"object":"list","data":['

export function wirePageEnd(items: readonly { id: string }[], { hasMore }: { hasMore: boolean }): string {
  const { object, data, ...rest } = toWirePage(items, { hasMore })
  return `],${JSON.stringify(rest).slice(1)}`
}

export function toWireDeleted(id: string): DeletedVideo {
  return { id, object: 'video.deleted', deleted: true }
}

function addEstimate(video: Video, nulls: boolean, estimate: WireOptions['estimate']): void {
  const { eta = null, queuePosition = null } = estimate ?? {}
  if (nulls || eta !== null) video.eta = eta
  if (nulls || queuePosition !== null) video.queue_position = queuePosition
}

export function unixSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}

export function secondsOrNull(ms: number | null): number | null {
  return ms === null ? null : unixSeconds(ms)
}

/** The time of operators: ISO 8601 in UTC with milliseconds. */
export function iso(ms: number): string
export function iso(ms: number | null): string | null
export function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

function toWireFacts({ audio, imageIs, price, keptMs, usuallyMs }: CardFacts, { failuresBilled }: ModelCard) {
  const inSeconds = (ms: number | null) => (ms === null ? null : ms / 1_000)
  return {
    audio,
    image_is: imageIs,
    price,
    failures_billed: failuresBilled,
    kept_seconds: inSeconds(keptMs),
    usual_seconds: inSeconds(usuallyMs),
  }
}

function toWireShapes(shapes: Shapes) {
  const named = Object.entries(shapes).map(([size, { resolution, ratio }]) => [
    size,
    { resolution, aspect_ratio: ratio },
  ])
  return Object.fromEntries(named)
}

function toWireParameters({ parameters }: ModelCard) {
  const rules = Object.entries(parameters).map(([name, { needsImage, ...rule }]) => [
    name,
    { ...rule, ...(needsImage && { needs_image: true }) },
  ])
  return Object.fromEntries(rules)
}

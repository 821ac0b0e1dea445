import type { FastifyRequest } from 'fastify'
import { type CatalogEntry, formatSize, type ModelCard, type Shapes } from '../core/catalog.ts'
import { isFinished, type Metadata, type TaskView, type VideoFacts, wholeSeconds, wireStatus } from '../core/task.ts'

/** The shapes of OpenAI's Videos API, and nothing but this file knows them. */

export interface WireVideo {
  id: string
  object: 'video'
  model: string
  status: 'queued' | 'in_progress' | 'completed' | 'failed'
  progress: number
  created_at: number
  completed_at?: number | null
  expires_at?: number | null
  seconds: string
  size: string
  prompt: string
  remixed_from_video_id?: string | null
  error?: { code: string; message: string } | null
  /** Ours, of a completed video: what was generated, and how it differs from the request. */
  output?: WireOutput | null
  warnings?: readonly string[] | null
  /** Ours: what the client keeps with it. */
  metadata?: Metadata | null
  /** Ours, of a video that is not finished: whole seconds until it should be, and its place in the line. */
  eta?: number | null
  queue_position?: number | null
}

export interface WireOutput {
  width: number
  height: number
  duration: number
  frame_rate: number
  codec: string
  bytes: number
}

export interface WireOptions {
  nulls: boolean
  estimate?: { eta: number | null; queuePosition: number | null }
}

/** OpenAI's SDKs say who they are, and their types promise null where the specification leaves a field out. */
export function wantsNulls({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['x-stainless-lang'] !== undefined
}

/**
 * `nulls`: the specification leaves a field out until it applies; the types of OpenAI's SDKs promise an explicit null,
 * and code such as `if (video.error !== null) throw video.error.message` breaks without it.
 */
export function toWireVideo(task: TaskView, { nulls, estimate }: WireOptions): WireVideo {
  const { completedAt, expiresAt, error, remixedFrom, videoFacts, warnings, metadata } = task
  const video: WireVideo = {
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
    const none = { completed_at: null, expires_at: null, output: null, warnings: null }
    Object.assign(video, none, { remixed_from_video_id: remixedFrom, error, metadata })
  } else {
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
  return video
}

export function toWireOutput({ width, height, duration, frameRate, codec, bytes }: VideoFacts): WireOutput {
  return { width, height, duration, frame_rate: frameRate, codec, bytes }
}

export function toWireModel({ name, card }: CatalogEntry) {
  const { seconds, size } = card
  return {
    id: name,
    object: 'model',
    created: card.created,
    owned_by: card.ownedBy,
    ...(name === card.id ? {} : { alias_of: card.id }),
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
    ...(card.facts && { facts: toWireFacts(card) }),
  }
}

export function toWireList(data: unknown[]) {
  return { object: 'list', data }
}

export function toWirePage<Item extends { id: string }>(data: readonly Item[], { hasMore }: { hasMore: boolean }) {
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore }
}

/** The same page as text, around the JSON of its items: for one that is too large to be made at once. */
export const wirePageStart = '{"object":"list","data":['

export function wirePageEnd(items: readonly { id: string }[], { hasMore }: { hasMore: boolean }): string {
  const { object, data, ...rest } = toWirePage(items, { hasMore })
  return `],${JSON.stringify(rest).slice(1)}`
}

export function toWireDeleted(id: string) {
  return { id, object: 'video.deleted', deleted: true }
}

export interface WireError {
  error: { message: string; type: string; param: string | null; code: string | null }
}

function addEstimate(video: WireVideo, nulls: boolean, estimate: WireOptions['estimate']): void {
  const { eta = null, queuePosition = null } = estimate ?? {}
  if (nulls || eta !== null) video.eta = eta
  if (nulls || queuePosition !== null) video.queue_position = queuePosition
}

function unixSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}

function toWireFacts({ facts, failuresBilled }: ModelCard) {
  if (!facts) return undefined
  const { audio, imageIs, price, keptMs, usuallyMs } = facts
  const inSeconds = (ms: number | null) => (ms === null ? null : ms / 1_000)
  return {
    ...{ audio, image_is: imageIs, price, failures_billed: failuresBilled },
    ...{ kept_seconds: inSeconds(keptMs), usual_seconds: inSeconds(usuallyMs) },
  }
}

/** In the words of a request. */
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

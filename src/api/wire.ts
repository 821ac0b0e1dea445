import { type CatalogEntry, formatSize } from '../core/catalog.ts'
import { type Task, wireStatus } from '../core/task.ts'

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
}

/**
 * `nulls`: the specification leaves a field out until it applies; the types of OpenAI's SDKs promise an explicit null,
 * and code such as `if (video.error !== null) throw video.error.message` breaks without it.
 */
export function toWireVideo(task: Task, { nulls }: { nulls: boolean }): WireVideo {
  const completed = task.state === 'completed'
  const later = {
    completed_at: completed ? unixSeconds(task.completedAt) : null,
    expires_at: completed ? unixSeconds(task.expiresAt) : null,
    remixed_from_video_id: null,
    error: task.error,
  }
  return {
    id: task.id,
    object: 'video',
    model: task.model,
    status: wireStatus(task),
    progress: task.progress,
    created_at: Math.floor(task.createdAt / 1000),
    seconds: String(task.seconds),
    size: formatSize(task.size),
    prompt: task.prompt,
    ...(nulls ? later : withoutNulls(later)),
  }
}

export function toWireModel({ name, card }: CatalogEntry) {
  const { seconds, size } = card
  return {
    id: name,
    object: 'model',
    created: card.created,
    owned_by: card.provider,
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
        ? { values: size.values }
        : { min_side: size.minSide, max_side: size.maxSide, multiple_of: size.multipleOf }),
      default: size.default,
    },
    image: card.image,
  }
}

export function toWireList(data: unknown[]) {
  return { object: 'list', data }
}

export interface WireError {
  error: { message: string; type: string; param: string | null; code: string | null }
}

function unixSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000)
}

function withoutNulls(fields: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

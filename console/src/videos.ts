import type { OperatorTaskSummary } from '../../src/wire/operator.ts'
import type { Video } from '../../src/wire/videos.ts'
import { withQuery } from './api.ts'
import type { LiveEvent } from './live.ts'
import { readAfter, readTexts } from './search.ts'

/* Videos as the pages show them: of one's own, from the public API, or of everyone, from the operator API. */

export const statuses = ['queued', 'in_progress', 'completed', 'failed'] as const
export type Status = (typeof statuses)[number]

/** What both APIs say about a video. Times are milliseconds. */
export interface VideoRow {
  id: string
  status: Status
  progress: number
  model: string
  prompt: string
  seconds: string
  size: string
  createdAt: number
  completedAt: number | null
  expiresAt: number | null
  error: { code: string; message: string } | null
  /** Known to operators alone. */
  owner: string | null
  account: string | null
}

const isoOrNull = (text: string | null) => (text === null ? null : Date.parse(text))
const unixOrNull = (seconds: number | null | undefined) => (typeof seconds === 'number' ? seconds * 1_000 : null)

export function fromVideo(video: Video): VideoRow {
  const { id, status, progress, model, prompt, seconds, size, error = null } = video
  return {
    ...{ id, status, progress, model, prompt, seconds, size, error, owner: null, account: null },
    createdAt: video.created_at * 1_000,
    completedAt: unixOrNull(video.completed_at),
    expiresAt: unixOrNull(video.expires_at),
  }
}

export function fromTask(task: OperatorTaskSummary): VideoRow {
  const { id, status, progress, model, prompt, output, error, owner, account } = task
  return {
    ...{ id, status, progress, model, prompt, error, owner, account },
    // As clients see it: what was generated, once that is known.
    seconds: output ? String(Math.max(1, Math.round(output.duration))) : task.seconds,
    size: output ? `${output.width}x${output.height}` : task.size,
    createdAt: Date.parse(task.created_at),
    completedAt: isoOrNull(task.completed_at),
    expiresAt: isoOrNull(task.expires_at),
  }
}

export function isUnfinished({ status }: Pick<VideoRow, 'status'>): boolean {
  return status === 'queued' || status === 'in_progress'
}

/** Whether its bytes can be fetched. */
export function isPlayable({ status, expiresAt }: VideoRow, now = Date.now()): boolean {
  return status === 'completed' && expiresAt !== null && now < expiresAt
}

/** The address of a video, or of a picture of it. */
export function contentPath(id: string, seesAll: boolean, variant?: 'thumbnail'): string {
  const base = seesAll ? `/operator/v1/tasks/${encodeURIComponent(id)}` : `/v1/videos/${encodeURIComponent(id)}`
  return withQuery(`${base}/content`, { variant })
}

/** The filters of the list. They are the query of the page's address. */
export interface VideoFilters {
  status?: Status
  model?: string
  /** Of operators alone. */
  owner?: string
  account?: string
  error_code?: string
  text?: string
  /** The id of the token that created them. */
  token?: string
  /** The first and the last day when they were created, in the reader's zone. */
  from?: string
  until?: string
  /** The last video of the page before. */
  after?: string
}

const textFilters = ['model', 'owner', 'account', 'error_code', 'text', 'token'] as const
const dayFilters = ['from', 'until'] as const

export function readVideoFilters(search: Readonly<Record<string, unknown>>): VideoFilters {
  const status = statuses.find((one) => one === search.status)
  const days = Object.entries(readTexts(search, dayFilters)).filter(
    ([, day]) => toMidnight(day) >= 0 && toMidnight(day) < latestDay,
  )
  return {
    ...(status && { status }),
    ...readTexts(search, textFilters),
    ...Object.fromEntries(days),
    ...readAfter(search, /^video_[0-9a-f]{48}$/),
  }
}

const pageSize = 25

export interface VideosOnPage {
  rows: readonly VideoRow[]
  hasMore: boolean
  lastId: string | null
}

/** A page of a client's list after an event: with the new row, or the same if the event does not concern it. */
export function pageAfter(
  { name, video }: LiveEvent,
  page: VideosOnPage,
  { status, after }: Pick<VideoFilters, 'status' | 'after'>,
): VideosOnPage | 'reread' {
  const isShown = page.rows.some(({ id }) => id === video.id)
  if (video.object === 'video.deleted') return isShown ? 'reread' : page
  const fits = status === undefined || video.status === status
  if (isShown && !fits) return 'reread'
  if (isShown) return { ...page, rows: page.rows.map((row) => (row.id === video.id ? fromVideo(video) : row)) }
  // A later page gets another video only if that has changed to the status of the filter.
  const mayJoin = fits && name !== 'progress' && (status !== undefined || after === undefined)
  return mayJoin ? 'reread' : page
}

export function listPath(filters: VideoFilters, seesAll: boolean): string {
  const { from, until, ...others } = filters
  const { status, model, after } = others
  if (!seesAll) return withQuery('/v1/videos', { status, model, after, limit: pageSize })
  const days = {
    ...(from && { created_since: toMidnight(from) }),
    ...(until && { created_before: toMidnight(until, 1) }),
  }
  return withQuery('/operator/v1/tasks', { ...others, ...days, limit: pageSize })
}

/** The API accepts seconds of up to ten digits. */
const latestDay = 9_999_900_000

/** The start of a day in the reader's zone, or of one that is later, in Unix seconds. NaN if it is no day. */
function toMidnight(day: string, daysLater = 0): number {
  const at = new Date(/^\d{4}-\d\d-\d\d$/.test(day) ? `${day}T00:00` : Number.NaN)
  at.setDate(at.getDate() + daysLater)
  return at.getTime() / 1_000
}

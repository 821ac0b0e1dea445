import { fits, isObject } from '../wire/schema.ts'
import { type Video, VideoOutput } from '../wire/videos.ts'
import { printable } from './screen/text.ts'

/** A task of any Videos API. Only the fields that the command line reads are checked; `raw` is the whole response. */
export interface Task {
  id: string
  status: Status
  /** Why it is not finished yet, for people; null if the server does not say, or the progress says enough. */
  reason: string | null
  /** 0 to 100, or null if the server does not report it. */
  progress: number | null
  model: string
  prompt: string | null
  seconds: string | null
  size: string | null
  seed: number | null
  /** Milliseconds since the epoch. */
  createdAt: number | null
  completedAt: number | null
  expiresAt: number | null
  error: { code: string | null; message: string } | null
  /** What was generated, if the server reports it. */
  output: VideoOutput | null
  /** How the output differs from the request. */
  warnings: string[]
  raw: Record<string, unknown>
}

type Status = Video['status']

/** Also the words of other servers. An unknown word counts as in progress. */
const statuses: Record<string, Status> = {
  queued: 'queued',
  pending: 'queued',
  completed: 'completed',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  canceled: 'failed',
  expired: 'failed',
}

const reasons: Readonly<Record<NonNullable<Video['status_detail']>, string | null>> = {
  fetching_image: 'fetching the image',
  waiting_for_slot: 'waiting for a free slot',
  model_unavailable: 'the model is unavailable; the video starts later',
  submitting: 'sending it to the model',
  generating: null,
  storing: 'storing the video',
}

/** Undefined if it is not a task. */
export function readTask(json: unknown): Task | undefined {
  if (!isObject(json) || typeof json.id !== 'string' || typeof json.status !== 'string') return undefined
  // The id becomes part of commands that people paste, so it must not have line breaks or hidden characters.
  if (json.id === '' || json.id !== printable(json.id)) return undefined
  const status = statuses[json.status] ?? 'in_progress'
  return {
    id: json.id,
    status,
    reason: readReason(json.status_detail),
    progress: numberOf(json.progress),
    model: stringOrNull(json.model) ?? '',
    prompt: stringOrNull(json.prompt),
    seconds: stringOrNull(json.seconds),
    size: stringOrNull(json.size),
    seed: numberOf(json.seed),
    createdAt: timeOf(json.created_at),
    completedAt: timeOf(json.completed_at),
    expiresAt: timeOf(json.expires_at),
    error: status === 'failed' ? readError(json) : null,
    output: readOutput(json.output),
    warnings: readWarnings(json.warnings),
    raw: json,
  }
}

/** Null if it has another shape: other servers may use the field differently. */
export function readOutput(json: unknown): VideoOutput | null {
  return fits(VideoOutput, json) ? json : null
}

/** Null for a code of another server. */
function readReason(json: unknown): string | null {
  const code = Object.keys(reasons).find((name): name is keyof typeof reasons => name === json)
  return code ? reasons[code] : null
}

export function readWarnings(json: unknown): string[] {
  return Array.isArray(json) ? json.filter((warning) => typeof warning === 'string') : []
}

export interface Model {
  id: string
  raw: Record<string, unknown>
}

export function readModels(json: unknown): Model[] | undefined {
  if (!isObject(json) || !Array.isArray(json.data)) return undefined
  return json.data.filter(isObject).flatMap((raw) => (typeof raw.id === 'string' ? [{ id: raw.id, raw }] : []))
}

export interface TaskPage {
  tasks: Task[]
  hasMore: boolean
  raw: Record<string, unknown>
}

export function readPage(json: unknown): TaskPage | undefined {
  if (!isObject(json) || !Array.isArray(json.data)) return undefined
  const tasks = json.data.map(readTask).filter((task) => task !== undefined)
  return { tasks, hasMore: json.has_more === true && tasks.length > 0, raw: json }
}

function readError({ error, status }: Record<string, unknown>) {
  if (isObject(error)) {
    const code = stringOrNull(error.code)
    return { code, message: stringOrNull(error.message) ?? code ?? String(status) }
  }
  return { code: null, message: stringOrNull(error) ?? `the server gives no reason; the status is '${status}'` }
}

/** A number becomes text: some servers send `seconds` as a number. */
export function stringOrNull(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : null
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** The last time that `Date` can represent. */
const lastMs = 8.64e15

function timeOf(value: unknown): number | null {
  const seconds = numberOf(value)
  return seconds === null || Math.abs(seconds * 1000) > lastMs ? null : seconds * 1000
}

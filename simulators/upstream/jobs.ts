import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

/**
 * What it offers to who does not know whether a submit arrived:
 *   key     the same Idempotency-Key gives the same job
 *   lookup  a reference is unique, and jobs can be asked for by it
 *   list    recent jobs can be listed
 *   none    nothing
 */
export const modes = ['key', 'lookup', 'list', 'none'] as const
export type Mode = (typeof modes)[number]

export interface JobBody {
  model: unknown
  prompt: string
  seconds: unknown
  size: unknown
  reference?: string
}

export interface Job {
  readonly id: string
  readonly body: JobBody
  readonly acceptedAt: number
  /** Null while time decides. */
  end: 'failed' | 'cancelled' | null
  unknownUntil: number
}

export interface JobView {
  id: string
  status: 'waiting' | 'running' | 'done' | 'failed'
  progress: number
  /** Of the film, once it is done. */
  url?: string
  error?: string
}

/** One job that would have to be paid for. */
export interface Accept {
  id: string
  prompt: string
  reference: string | null
  /** The Idempotency-Key. */
  key: string | null
  /** The credential that paid. */
  bearer: string
  at: number
}

export type Submission = { body: JobBody; key: string | null; bearer: string }
export type Accepted = { id: string } | { duplicate: string } | { keyReused: true }

export class Jobs {
  readonly accepts: Accept[] = []
  readonly #mode: Mode
  readonly #jobs = new Map<string, Job>()
  readonly #byKey = new Map<string, Job>()
  readonly #byReference = new Map<string, Job>()

  constructor(mode: Mode) {
    this.#mode = mode
  }

  /** What returns a new id is in `accepts` by then: no fault can come between the two. */
  accept({ body, key, bearer }: Submission): Accepted {
    const reference = body.reference ?? null
    const before = this.#mode === 'key' && key !== null ? this.#byKey.get(key) : undefined
    if (before) return isDeepStrictEqual(before.body, body) ? { id: before.id } : { keyReused: true }
    const twin = this.#mode === 'lookup' && reference !== null ? this.#byReference.get(reference) : undefined
    if (twin) return { duplicate: twin.id }
    const job: Job = { id: `job_${randomUUID()}`, body, acceptedAt: Date.now(), end: null, unknownUntil: 0 }
    this.accepts.push({ id: job.id, prompt: body.prompt, reference, key, bearer, at: job.acceptedAt })
    this.#jobs.set(job.id, job)
    if (key !== null) this.#byKey.set(key, job)
    if (reference !== null) this.#byReference.set(reference, job)
    return { id: job.id }
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id)
  }

  /** Undefined where the mode does not offer this question. */
  find(query: URLSearchParams, lagMs: number): Job[] | undefined {
    const reference = query.get('reference')
    const since = query.get('since')
    const visible = [...this.#jobs.values()].filter(({ acceptedAt }) => acceptedAt + lagMs <= Date.now())
    if (this.#mode === 'lookup' && reference !== null) return visible.filter(({ body }) => body.reference === reference)
    if (this.#mode === 'list' && since !== null) return visible.filter(({ acceptedAt }) => acceptedAt >= Number(since))
    return undefined
  }
}

/** A fifth of its time a job waits, then it runs. */
export function viewOf(job: Job, speed: number): JobView {
  const share = speed > 0 ? Math.min(1, (Date.now() - job.acceptedAt) / speed) : 1
  const progress = Math.max(0, Math.floor(((share - 0.2) / 0.8) * 100))
  if (job.end === 'cancelled') return { id: job.id, status: 'failed', progress: 0, error: 'cancelled' }
  if (job.end === 'failed') return { id: job.id, status: 'failed', progress: 0, error: 'simulated failure' }
  return { id: job.id, status: share === 1 ? 'done' : share < 0.2 ? 'waiting' : 'running', progress }
}

/** True if it is, or already was, cancelled. */
export function cancel(job: Job, speed: number): boolean {
  const { status } = viewOf(job, speed)
  if (status === 'waiting' || status === 'running') job.end = 'cancelled'
  return job.end === 'cancelled'
}

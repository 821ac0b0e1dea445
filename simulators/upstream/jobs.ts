import { isDeepStrictEqual } from 'node:util'

/**
 * How a client can find out whether a submit arrived:
 *   key     the same Idempotency-Key returns the same job
 *   lookup  a reference is unique, and jobs can be looked up by it
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
  /** Anything else that the wire needs later. */
  more?: unknown
}

export interface Job {
  readonly id: string
  readonly body: JobBody
  readonly acceptedAt: number
  /** Null if the job ends by itself, after the time of the orders. */
  end: 'failed' | 'policy' | 'cancelled' | null
  unknownUntil: number
}

export interface JobView {
  id: string
  status: 'waiting' | 'running' | 'done' | 'failed'
  progress: number
  /** The film, once the job is done. */
  url?: string
  error?: string
}

/** What a poll claims about a job, true or not. */
export type Claim = { [Field in keyof JobView]?: unknown }

/** A job that a real vendor would bill. */
export interface Accept {
  id: string
  prompt: string
  reference: string | null
  /** The Idempotency-Key. */
  key: string | null
  /** The credential that would be billed. */
  bearer: string
  at: number
}

export type Submission = { body: JobBody; key: string | null; bearer: string }
export type Accepted = { job: Job } | { duplicate: string } | { keyReused: true }

export class Jobs {
  readonly accepts: Accept[] = []
  readonly #mode: Mode
  readonly #newId: () => string
  readonly #jobs = new Map<string, Job>()
  readonly #byKey = new Map<string, Job>()
  readonly #byReference = new Map<string, Job>()

  constructor(mode: Mode, newId: () => string) {
    this.#mode = mode
    this.#newId = newId
  }

  /** A new job is in `accepts` before its id is returned, so no fault can hide it. */
  accept({ body, key, bearer }: Submission): Accepted {
    const reference = body.reference ?? null
    const before = this.#mode === 'key' && key !== null ? this.#byKey.get(key) : undefined
    if (before) return isDeepStrictEqual(before.body, body) ? { job: before } : { keyReused: true }
    const twin = this.#mode === 'lookup' && reference !== null ? this.#byReference.get(reference) : undefined
    if (twin) return { duplicate: twin.id }
    const job: Job = { ...this.neverAccepted({ body, key, bearer }), id: this.#newId() }
    this.accepts.push({ id: job.id, prompt: body.prompt, reference, key, bearer, at: job.acceptedAt })
    this.#jobs.set(job.id, job)
    if (key !== null) this.#byKey.set(key, job)
    if (reference !== null) this.#byReference.set(reference, job)
    return { job }
  }

  /** A job as it would be if it were accepted. */
  neverAccepted({ body }: Submission): Job {
    const id = this.#newId().replace(/[0-9a-f]{2,}/g, (digits) => '0'.repeat(digits.length))
    return { id, body, acceptedAt: Date.now(), end: null, unknownUntil: 0 }
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id)
  }

  /** The jobs that can be found already, oldest first. */
  visible(lagMs: number): Job[] {
    return [...this.#jobs.values()].filter(({ acceptedAt }) => acceptedAt + lagMs <= Date.now())
  }
}

/** A job waits for a fifth of its time, then it runs. */
export function viewOf(job: Job, speed: number): JobView {
  const share = speed > 0 ? Math.min(1, (Date.now() - job.acceptedAt) / speed) : 1
  const progress = Math.max(0, Math.floor(((share - 0.2) / 0.8) * 100))
  if (job.end === 'cancelled') return { id: job.id, status: 'failed', progress: 0, error: 'cancelled' }
  if (job.end === 'policy') return { id: job.id, status: 'failed', progress: 0, error: 'policy' }
  if (job.end === 'failed') return { id: job.id, status: 'failed', progress: 0, error: 'simulated failure' }
  return { id: job.id, status: share === 1 ? 'done' : share < 0.2 ? 'waiting' : 'running', progress }
}

/** True if the job is cancelled, now or before. */
export function cancel(job: Job, speed: number): boolean {
  const { status } = viewOf(job, speed)
  if (status === 'waiting' || status === 'running') job.end = 'cancelled'
  return job.end === 'cancelled'
}

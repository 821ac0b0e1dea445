import type { Answer } from '../../simulators/upstream/answer.ts'
import type { submitFaults } from '../../simulators/upstream.ts'
import type { Recovery } from '../../src/core/attempt.ts'
import type { Clock } from '../../src/core/clock.ts'
import { Problem } from '../../src/core/problem.ts'
import type { Upstream } from '../../src/outbound.ts'
import type { Life } from './life.ts'
import type { Reached } from './unasked.ts'

type SubmitFault = (typeof submitFaults)[number]

export interface Job {
  id: string
  prompt: string
  reference: string
  seconds: number
  acceptedAt: number
}

/** How long a job runs, and how late a late one is accepted. */
const [runMs, lateMs] = [2_000, 4_000]
/** The delay of the response to a prompt that two tasks share: long enough for a lookup of the other task. */
const slowMs = 3_000

/** All lookups fail for a third of the time, in periods of this length: longer than any wait before a repeat. */
const outageMs = 200_000

/**
 * The simulated upstream without sockets, on the clock of the simulation: the same faults and ledger, a thousand times as
 * fast. It survives every crash of the gateway.
 */
export class SimulatedUpstream {
  readonly accepts: Job[] = []
  /** The faults that were given, by prompt. */
  readonly faults = new Map<string, SubmitFault[]>()
  /** Every submit and every lookup that arrived, in order. */
  readonly arrivals: Reached[] = []
  /** Prompts with delayed responses, and how many of these are pending. */
  readonly slow = new Set<string>()
  underway = 0
  #nowhere = 0
  #late: { at: number; body: Omit<Job, 'id' | 'acceptedAt'> }[] = []
  readonly #recovery: Recovery
  readonly #clock: Clock
  readonly #planned: Map<string, SubmitFault[]>

  constructor(recovery: Recovery, clock: Clock, planned: Map<string, SubmitFault[]>) {
    this.#recovery = recovery
    this.#clock = clock
    this.#planned = planned
  }

  /** The connection of one gateway process: after its death it gets no response, but its request may have arrived. */
  reachedFrom(life: Life): Upstream {
    return {
      send: async (_path, init, _signal, departure) => {
        const body = JSON.parse(String(init.body))
        await departure?.ready()
        departure?.leave()
        await life.pass('before-arrival', body.prompt)
        const result = this.#submit(body)
        this.#note('submit', body.reference, result)
        if (this.slow.has(body.prompt)) await this.#takeTime()
        await life.pass('after-arrival', body.prompt)
        return respond(result)
      },
      fetch: async (path, init) => life.lived(() => respond(this.#ask(path, init.method))),
      download: async () => life.lived(() => new Response('film')),
    }
  }

  /** No two requests have the same time: their order matters. */
  #note(ask: Reached['ask'], reference: string | null, answer: Answer | Error): void {
    const at = Math.max(this.#clock.now(), (this.arrivals.at(-1)?.at ?? 0) + 0.001)
    this.arrivals.push({ ask, at, reference, status: answer instanceof Error ? null : answer.status })
  }

  async #takeTime(): Promise<void> {
    this.underway += 1
    await this.#clock.sleep(slowMs)
    this.underway -= 1
  }

  #submit(body: Omit<Job, 'id' | 'acceptedAt'>): Answer | Error {
    this.#acceptLate()
    const fault = this.#planned.get(body.prompt)?.shift()
    if (!fault) return this.#plain(body)
    this.faults.set(body.prompt, [...(this.faults.get(body.prompt) ?? []), fault])
    if (fault.accepted === 'maybe') this.#late.push({ at: this.#clock.now() + lateMs, body })
    if (fault.refuses) return new Problem('provider_unreachable', 'refused', { retryable: true })
    const id = fault.accepted === true ? this.#accept(body).id : `job_none_${this.#nowhere++}`
    const answer = fault.answer({ status: 200, body: JSON.stringify({ id }) }, '/jobs')
    return typeof answer === 'string' ? new Error(`the upstream: ${answer}`) : answer
  }

  #plain(body: Omit<Job, 'id' | 'acceptedAt'>): Answer {
    const known = this.accepts.find(({ reference }) => reference === body.reference)
    if (known && this.#recovery === 'key') return { status: 200, body: JSON.stringify({ id: known.id }) }
    if (known && this.#recovery === 'lookup') return { status: 409, body: JSON.stringify({ id: known.id }) }
    return { status: 200, body: JSON.stringify({ id: this.#accept(body).id }) }
  }

  #accept({ prompt, reference, seconds }: Omit<Job, 'id' | 'acceptedAt'>): Job {
    const unique = this.#recovery === 'key' || this.#recovery === 'lookup'
    const known = unique ? this.accepts.find((job) => job.reference === reference) : undefined
    if (known) return known
    const id = `job_${this.accepts.length + 1}`
    const job = { id, prompt, reference, seconds, acceptedAt: this.#clock.now() }
    this.accepts.push(job)
    return job
  }

  #acceptLate(): void {
    const now = this.#clock.now()
    const due = this.#late.filter(({ at }) => at <= now)
    this.#late = this.#late.filter(({ at }) => at > now)
    for (const { body } of due) this.#accept(body)
  }

  #ask(path: string, method: string): Answer {
    this.#acceptLate()
    const query = new URLSearchParams(path.split('?')[1])
    const [reference, since] = [query.get('reference'), query.get('since')]
    if (reference !== null || since !== null) {
      const answer = this.#find(reference, Number(since))
      this.#note('find', reference, answer)
      return answer
    }
    const job = this.accepts.find(({ id }) => path === `/jobs/${id}`)
    if (!job) return { status: 404 }
    if (method === 'DELETE') return { status: 200, body: '{"cancelled":false}' }
    const done = this.#clock.now() >= job.acceptedAt + runMs
    const status = done ? { status: 'done', url: `http://127.0.0.1/${job.id}` } : { status: 'running', progress: 50 }
    return { status: 200, body: JSON.stringify({ id: job.id, ...status }) }
  }

  #find(reference: string | null, since: number): Answer {
    if (Math.floor(this.#clock.now() / outageMs) % 3 === 0) return { status: 503 }
    const jobs = this.accepts
      .filter((job) => (reference === null ? job.acceptedAt >= since : job.reference === reference))
      .map((job) => ({ ...job, model: 'film', size: '1280x720' }))
    return { status: 200, body: JSON.stringify({ jobs }) }
  }

  /** Resolves when all delayed accepts have happened. */
  finish(): void {
    for (const { body } of this.#late.splice(0)) this.#accept(body)
  }
}

/** What the adapter would see of such a response. A truncated one can't be read. */
function respond(answer: Answer | Error): Response {
  if (answer instanceof Error) throw answer
  const { status, headers = {}, body, length, ending } = answer
  const cut = (ending !== undefined && ending !== 'drip') || typeof length === 'number'
  // The status makes it a refusal.
  if (cut && status === 401) return new Response('', { status, headers })
  if (cut) throw new Error('the answer broke off')
  if (status < 200 || status > 599) throw new Error(`no such status: ${status}`)
  return new Response(status === 204 ? null : ((body as string | undefined) ?? ''), { status, headers })
}

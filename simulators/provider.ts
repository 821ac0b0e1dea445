import type { OperationForm, Recovery } from '../src/core/attempt.ts'
import { formatSize } from '../src/core/catalog.ts'
import { Problem } from '../src/core/problem.ts'
import { retryAfterMs } from '../src/core/retry-after.ts'
import type { Json } from '../src/core/task.ts'
import type { Member } from '../src/providers/index.ts'
import type { Call, Progress, Provider, ProviderRequest, Refusal, Submitted } from '../src/providers/provider.ts'

/** The adapter of the simulated upstream, one for each kind of recovery. It is written like a real one, for tests only. */
export const simulated: Readonly<Record<string, Member>> = Object.fromEntries(
  (['key', 'lookup', 'list', 'none'] as const).map((recovery) => [`sim-${recovery}`, memberOf(recovery)]),
)

function memberOf(recovery: Recovery): Member {
  const name = `sim-${recovery}`
  return {
    needsNothing: false,
    cards: [
      {
        id: name,
        provider: name,
        upstreamModel: 'film',
        description: 'Simulated',
        created: 1_790_000_000,
        seconds: { min: 1, max: 20, default: 4 },
        size: { values: ['1280x720'], default: '1280x720' },
        image: 'none',
        parameters: {},
        pollAfterMs: 1_000,
        failuresBilled: true,
      },
    ],
    create: async () => providerOf(name, recovery),
  }
}

/** An id becomes a segment of a path, which "." and ".." can't be. */
const operations: OperationForm = {
  example: '"job_…"',
  fits: (operation) => typeof operation === 'string' && /^(?!\.{1,2}$)[\w.~-]{1,200}$/.test(operation),
}

function providerOf(name: string, recovery: Recovery): Provider {
  return {
    name,
    cadenceMs: 100,
    recovery,
    operations,
    ...(recovery === 'lookup' ? { refusesDuplicates: true as const } : {}),
    async submit(request, call) {
      const headers = { ...jsonHeaders(call), ...(recovery === 'key' ? { 'idempotency-key': call.attemptId } : {}) }
      const body = JSON.stringify({ ...toUpstream(request), reference: call.attemptId })
      const response = await call.send('/jobs', { method: 'POST', headers, body }, call.signal)
      return readSubmitted(response, recovery, call.now())
    },
    async poll(operation, call) {
      const path = `/jobs/${encodeURIComponent(String(operation))}`
      const response = await call.fetch(path, { method: 'GET', headers: jsonHeaders(call) }, call.signal)
      return readProgress(response)
    },
    async download(output, call) {
      const response = await call.download(String(output), {}, call.signal)
      if (response.ok) return response
      // The server failed, not the link: the same link may work later.
      if (response.status >= 500 || response.status === 429) throw unclear(`a download got ${response.status}`)
      throw new Problem('output_unavailable', 'The video could not be fetched.', { retryable: true })
    },
    async find(request, openedAt, call) {
      // Its clock may differ from ours by a minute.
      const query = recovery === 'lookup' ? `reference=${call.attemptId}` : `since=${openedAt - 60_000}`
      const response = await call.fetch(`/jobs?${query}`, { method: 'GET', headers: jsonHeaders(call) }, call.signal)
      if (response.status !== 200) throw unclear(`listing jobs got ${response.status}`)
      const { jobs } = (await response.json()) as { jobs: Record<string, unknown>[] }
      const wanted = Object.entries(toUpstream(request))
      const matches = jobs
        .filter((job) => recovery === 'lookup' || wanted.every(([key, value]) => job[key] === value))
        .map(({ id }) => String(id))
      return { matches, possible: [], isPartial: false }
    },
    async cancel(operation, call) {
      const path = `/jobs/${encodeURIComponent(String(operation))}`
      const response = await call.fetch(path, { method: 'DELETE', headers: jsonHeaders(call) }, call.signal)
      if (response.status === 404) return 'too_late'
      if (response.status !== 200) throw unclear(`a cancel got ${response.status}`)
      const { cancelled } = (await response.json()) as { cancelled?: boolean }
      return cancelled === true ? 'cancelled' : 'too_late'
    },
  }
}

function jsonHeaders({ credential }: Call): Record<string, string> {
  return { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
}

function toUpstream({ model, prompt, seconds, size }: ProviderRequest) {
  return { model, prompt, seconds, size: formatSize(size) }
}

/** Only 200 with an id is an acceptance, and only the statuses of `blames` are refusals. Anything else proves nothing. */
async function readSubmitted(response: Response, recovery: Recovery, now: number): Promise<Submitted> {
  const { status } = response
  const blame = blames[status]
  const wait = retryAfterMs(response, now)
  if (blame) return { refused: { ...refusalOf(status, blame), ...(wait !== undefined && { retryAfterMs: wait }) } }
  if (status !== 200 && status !== 409) throw unclear(`a submit got ${status}`)
  const body = (await response.json()) as { id?: unknown }
  // It knows the reference already: that job is ours.
  if (status === 409 && recovery === 'lookup' && typeof body.id === 'string') return { operation: body.id }
  if (status === 200 && Object.hasOwn(body, 'id') && typeof body.id === 'string') return { operation: body.id }
  throw unclear(`a submit got ${status} without an id`)
}

const blames: Record<number, Refusal['blame']> = {
  400: 'request',
  404: 'request',
  413: 'request',
  415: 'request',
  422: 'request',
  401: 'account',
  402: 'account',
  403: 'account',
  429: 'busy',
}

function refusalOf(status: number, blame: Refusal['blame']): Refusal {
  return {
    blame,
    problem: new Problem('generation_failed', 'The provider refused this video.', { cause: status }),
    ...(status === 402 && { isCredit: true as const }),
    ...(status === 404 && { isModelUnknown: true as const }),
  }
}

async function readProgress(response: Response): Promise<Progress> {
  if (response.status === 404) return { status: 'missing' }
  if (response.status !== 200) throw unclear(`a poll got ${response.status}`)
  const job = (await response.json()) as { status?: Json; progress?: Json; url?: Json }
  if (job.status === 'done' && typeof job.url === 'string') return { status: 'succeeded', output: job.url }
  if (job.status === 'failed')
    return {
      status: 'failed',
      problem: new Problem('generation_failed', 'The provider could not generate this video.'),
    }
  const { progress } = job
  return { status: 'running', progress: typeof progress === 'number' && Number.isFinite(progress) ? progress : null }
}

function unclear(cause: string): Problem {
  const message = 'The provider returned an unclear response.'
  return new Problem('provider_unavailable', message, { cause: new Error(cause), retryable: true })
}

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { openDisk } from '../buckets/disk.ts'
import type { Attempt } from '../core/attempt.ts'
import { openBounded } from '../core/bounded.ts'
import { buildCatalog, defaultDeadlines, type ModelCard } from '../core/catalog.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { healthy } from '../core/health.ts'
import { Problem } from '../core/problem.ts'
import { apply } from '../core/states.ts'
import type { Json, State, Task } from '../core/task.ts'
import { noSpan } from '../core/trace.ts'
import type { ClientOutbound, Upstream } from '../outbound.ts'
import type { Found, Provider, Submitted } from '../providers/provider.ts'
import type { Account, Action, Decision, Tools, Worker } from './worker.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

type Mover = Pick<Worker, 'name' | 'run'>

/** A provider that the test scripts, and a real bucket. */
export interface WorkerWorld {
  tools: Tools
  answers: Partial<Provider>
  /** What the store returns, where a test sets it. */
  known: Partial<Pick<Action, 'bound' | 'rivals' | 'attempts'>> & { onCommit?: (opened: Attempt) => Promise<void> }
  run(task: Task, attempt?: Partial<Attempt>): Promise<{ decision: Decision; after: Task | undefined }>
  read(key: string): Promise<string | undefined>
}

/** The tests that every worker must pass. `examples` has a task for each of its states. */
export function testWorker(
  worker: Mover & Partial<Worker>,
  examples: Partial<Record<State, Task>>,
  states = worker.states ?? [],
): void {
  describe(`the ${worker.name} worker`, () => {
    it('has an example for each of its states, and no other', () => {
      assert.deepEqual(Object.keys(examples).sort(), [...states].sort())
    })

    for (const [state, task] of Object.entries(examples)) {
      it(`decides what becomes of a ${state} task, within the rules, and the same when it is asked again`, async () => {
        const { run } = await makeWorld(worker)
        const first = await run(task)
        const second = await run({ ...task, fence: task.fence + 1 })
        assert.equal(first.after?.state, second.after?.state)
      })

      it(`decides on a ${state} task, or says why not, when its provider is not there any more`, async () => {
        const { tools } = await makeWorld(worker)
        const run = worker.run(task, { ...tools, accounts: new Map() }, action(task))
        await run.then(
          (decision) => assert.ok('remove' in decision || apply(task, decision.change)),
          (error) => assert.equal(error.code, 'provider_unavailable'),
        )
      })
    }
  })
}

/** Two routes; the first one is preferred. */
const exampleCard: ModelCard = {
  id: 'm',
  ownedBy: 'p',
  description: 'x',
  created: 1,
  image: 'optional',
  parameters: {},
  pollAfterMs: 1,
  seconds: { min: 1, max: 9, default: 4 },
  size: { values: ['2x2'], default: '2x2' },
  concurrency: null,
  deadlines: defaultDeadlines,
  failuresBilled: false,
  routes: ['p', 'q'].map((account, priority) => ({ account, upstreamModel: 'u', priority, weight: 1 })),
}

/** The action as the engine passes it; `held` has the task as it was committed. */
function action(task: Task, held = { task }, attempt = openAttempt(task), known: WorkerWorld['known'] = {}): Action {
  return {
    signal: new AbortController().signal,
    span: noSpan,
    attempt: task.state === 'held' ? attempt : null,
    bound: async () => new Set(),
    rivals: async () => [],
    leave: () => {},
    attempts: async () => [attempt],
    ...known,
    async commit(change, opened) {
      await known.onCommit?.(opened)
      held.task = apply(held.task, change)
      return { task: held.task, attempt: opened }
    },
  }
}

export function openAttempt(task: Task, fields: Partial<Attempt> = {}): Attempt {
  return {
    id: task.attempt ?? 'att_1',
    task: task.id,
    number: 1,
    account: 'p',
    keyVersion: '1',
    upstreamModel: 'u',
    openedAt: 1_000_000,
    state: 'open',
    operation: null,
    settledAt: null,
    problem: null,
    ...fields,
  }
}

/** The result of a lookup: these operations match the attempt, and there are no others. */
export function found(...matches: Json[]): Found {
  return { matches, possible: [], isPartial: false }
}

/** A submit that sends its request and returns this, or throws this error. */
export function sends(answer: Submitted | Error): Provider['submit'] {
  return async (_request, call) => {
    await call.send('/', { method: 'POST' }, call.signal)
    if (answer instanceof Error) throw answer
    return answer
  }
}

export async function makeWorld(worker: Mover): Promise<WorkerWorld> {
  const folder = mkdtempSync(join(tmpdir(), `filmgate-${worker.name}-`))
  after(() => rmSync(folder, { recursive: true }))
  const clock = manualClock(1_000_000)
  const bucket = await openDisk({ folder: join(folder, 'bucket') })
  const answers: Partial<Provider> = {}
  const known: WorkerWorld['known'] = {}
  const answer = async () => new Response('{}')
  const send: Upstream['send'] = async (_path, _init, _signal, departure) => {
    await departure?.ready().catch((cause) => {
      throw new Problem('provider_unreachable', 'It was held back.', { cause, retryable: true })
    })
    departure?.leave()
    return answer()
  }
  const provider: Provider = {
    name: 'p',
    cadenceMs: 100,
    recovery: 'none',
    submit: async (request, call) =>
      (await answers.submit?.(request, call)) ?? (await sends({ operation: 'op' })(request, call)),
    poll: async (operation, call) => (await answers.poll?.(operation, call)) ?? { status: 'running', progress: 10 },
    download: async (output, call) => (await answers.download?.(output, call)) ?? new Response('bytes'),
    find: async (request, openedAt, call) => (await answers.find?.(request, openedAt, call)) ?? found(),
    cancel: async (operation, call) => (await answers.cancel?.(operation, call)) ?? 'cancelled',
    forget: async (operation, call) => answers.forget?.(operation, call),
  }
  const account = (name: string): Account => ({
    name,
    provider,
    credential: null,
    keyVersion: '1',
    upstream: { send, fetch: answer, download: answer },
    concurrency: 1,
    spareSlots: 0,
    onUnknown: 'hold',
    health: healthy,
  })
  const client: ClientOutbound = {
    check: async () => {},
    checkReceiver: async () => {},
    post: async () => assert.fail('no worker sends webhooks'),
    download: async () => ({ bytes: png, contentType: null }),
  }
  const tools: Tools = {
    clock,
    random: (count) => new Uint8Array(count),
    bucket,
    catalog: buildCatalog([exampleCard], {}, null),
    accounts: new Map(['p', 'q'].map((name) => [name, account(name)])),
    durations: new Map(),
    keyVersions: openBounded(10),
    scratch: folder,
    retentionMs: 5_000,
    maxVideoBytes: 1_000,
    media: {
      render: async () => ({ unknownWords: [] }),
      verify: async () => ({ seconds: 4, size: { width: 2, height: 2 }, frameRate: 24, codec: 'h264' }),
      check: async () => ({ seconds: 4, size: { width: 2, height: 2 }, frameRate: 24, codec: 'h264' }),
      inspect: async () => {},
      still: async () => new Uint8Array(),
      [Symbol.asyncDispose]: async () => {},
    },
    outbound: {
      of: () => client,
      upstream: () => assert.fail('nothing here has an address'),
      postTrusted: async () => assert.fail('no worker sends usage'),
      [Symbol.asyncDispose]: async () => {},
    },
  }
  return {
    tools,
    answers,
    known,
    async run(task, attempt) {
      const held = { task }
      const decision = await worker.run(task, tools, action(task, held, openAttempt(task, attempt), known))
      return { decision, after: 'change' in decision ? apply(held.task, decision.change) : undefined }
    },
    async read(key) {
      const object = await bucket.open(key)
      return object && text(object.stream)
    },
  }
}

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { openDisk } from '../buckets/disk.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { apply } from '../core/states.ts'
import type { State, Task } from '../core/task.ts'
import type { Provider } from '../providers/provider.ts'
import type { Decision, Tools, Worker } from './worker.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** A provider that does as the test says, and a bucket that is real. */
export interface WorkerWorld {
  tools: Tools
  answers: Partial<Provider>
  run(task: Task): Promise<{ decision: Decision; after: Task | undefined }>
  read(key: string): Promise<string | undefined>
}

/** What every worker must do, whatever it is for. `examples` are tasks of each of its states (those it is given). */
export function testWorker(worker: Worker, examples: Partial<Record<State, Task>>, states = worker.states): void {
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
        const run = worker.run(task, { ...tools, providers: new Map() }, new AbortController().signal)
        await run.then(
          (decision) => assert.ok('remove' in decision || apply(task, decision.change)),
          (error) => assert.equal(error.code, 'provider_unavailable'),
        )
      })
    }
  })
}

export async function makeWorld(worker: Worker): Promise<WorkerWorld> {
  const folder = mkdtempSync(join(tmpdir(), `filmgate-${worker.name}-`))
  after(() => rmSync(folder, { recursive: true }))
  const clock = manualClock(1_000_000)
  const bucket = await openDisk({ folder: join(folder, 'bucket') })
  const answers: Partial<Provider> = {}
  const provider: Provider = {
    name: 'p',
    cadenceMs: 100,
    submit: async (request, call) => (await answers.submit?.(request, call)) ?? { operation: 'op' },
    poll: async (operation, call) => (await answers.poll?.(operation, call)) ?? { status: 'running', progress: 10 },
    download: async (output, call) => (await answers.download?.(output, call)) ?? new Response('bytes'),
    forget: async (operation, call) => answers.forget?.(operation, call),
  }
  const tools: Tools = {
    clock,
    bucket,
    providers: new Map([['p', { provider, concurrency: 1 }]]),
    scratch: folder,
    retentionMs: 5_000,
    media: {
      render: async () => {},
      verify: async () => ({ seconds: 4, size: { width: 2, height: 2 }, codec: 'h264' }),
      inspect: async () => {},
      [Symbol.asyncDispose]: async () => {},
    },
    outbound: {
      check: async () => {},
      download: async () => ({ bytes: png, contentType: null }),
      [Symbol.asyncDispose]: async () => {},
    },
  }
  return {
    tools,
    answers,
    async run(task) {
      const decision = await worker.run(task, tools, new AbortController().signal)
      return { decision, after: 'change' in decision ? apply(task, decision.change) : undefined }
    },
    async read(key) {
      const object = await bucket.open(key)
      return object && text(object.stream())
    },
  }
}

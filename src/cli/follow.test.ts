import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Client, Polled } from './client.ts'
import { follow, type Watch } from './follow.ts'
import type { Task } from './video.ts'

/* How often a server is asked for a task, by a clock that only sleeps and slow answers move. */

type Answer = { status: string; waits?: boolean; takesMs?: number; pollAfterMs?: number | null }

async function followed(answers: readonly Answer[]) {
  let now = 0
  const log: string[] = []
  const line = [...answers]
  const client = {
    async retrieve(_id: string, _signal?: AbortSignal, waitSeconds = 0): Promise<Polled> {
      const { status, waits = false, takesMs = 0, pollAfterMs = 2_000 } = line.shift() ?? assert.fail('once too often')
      log.push(`ask ${waitSeconds}`)
      now += takesMs
      return { task: { status } as unknown as Task, pollAfterMs, waits }
    },
  } as unknown as Client
  const sleep = async (ms: number) => {
    now += ms
    log.push(`sleep ${ms}`)
  }
  const terminal = { now: () => now, sleep } as unknown as Watch['terminal']
  const watch = { terminal, signal: new AbortController().signal, onTask() {}, onTrouble() {} }
  const { status } = await follow(client, 'video_1', watch)
  assert.deepEqual([status, line.length], [answers.at(-1)?.status, 0])
  return log
}

it('a server that waits is polled again at once, with a wait as long as its pause', async () => {
  const log = await followed([
    { status: 'queued', waits: true },
    { status: 'queued', waits: true, takesMs: 2_000 },
    { status: 'in_progress', waits: true, takesMs: 300, pollAfterMs: 45_000 },
    { status: 'completed', waits: true, takesMs: 9_000 },
  ])
  assert.deepEqual(log, ['ask 0', 'ask 2', 'ask 2', 'ask 30'])
})

it('a server without waiting is polled after its pause', async () => {
  const log = await followed([{ status: 'queued' }, { status: 'in_progress' }, { status: 'failed' }])
  assert.deepEqual(log, ['ask 0', 'sleep 2000', 'ask 0', 'sleep 2000', 'ask 0'])
})

it('a server that claims to wait, and does not, is polled after a pause', async () => {
  const hasty = { status: 'queued', waits: true }
  const log = await followed([hasty, hasty, hasty, hasty, { status: 'completed' }])
  assert.deepEqual(log, ['ask 0', 'ask 2', 'sleep 2000', 'ask 0', 'ask 2', 'sleep 2000', 'ask 0'])
})

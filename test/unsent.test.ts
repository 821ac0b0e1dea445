import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { startUpstream } from '../simulators/upstream.ts'
import { secrets } from './faults/kill-clients.ts'
import type { Shown } from './gateway.ts'
import { until } from './service.ts'

/* A provider without recovery: a request that may have been sent is held, and one that was not sent must be recognised. */

it('a task whose attempt was committed and not sent when the process was killed is sent by the next one', async () => {
  await using world = await openWorld()
  const { upstream } = world
  const preload = new URL('faults/window-commits.ts', import.meta.url).href
  const env = { WINDOW_COMMITS: join(world.folder, 'commits'), WINDOW_KILL: '1' }
  await world.liveUntilKilled({ args: ['--import', preload], env })
  assert.equal(upstream.ledger().submits, 0)
  const { attempts } = await world.nextSays(({ state }) => state === 'completed')
  assert.deepEqual(
    attempts.map(({ state }) => state),
    ['refused', 'accepted'],
  )
  assert.equal(upstream.ledger().accepts.length, 1)
})

it('a task whose request had left when the process was killed is not sent again', async () => {
  await using world = await openWorld()
  const { upstream } = world
  upstream.setFaults({ rates: { 'submit-hang-after-accept': 1 } })
  const arrived = () => until('it arrived', async () => upstream.ledger().accepts.length === 1)
  await world.liveUntilKilled({ killWhen: arrived })
  upstream.setFaults({ rates: {} })
  const { attempts } = await world.nextSays(({ due_at }) => due_at !== null && Date.parse(due_at) > Date.now())
  assert.deepEqual(
    attempts.map(({ state }) => state),
    ['open'],
  )
  assert.equal(upstream.ledger().submits, 1)
})

async function openWorld() {
  const stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-unsent-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const upstream = stack.use(await startUpstream())
  const env = {
    PATH: process.env.PATH ?? '',
    FILMGATE_PORT: '0',
    FILMGATE_DATA: join(folder, 'data'),
    FILMGATE_CONFIG: join(folder, 'filmgate.yaml'),
    FILMGATE_TOKEN: secrets.client,
    FILMGATE_OPERATOR_TOKEN: secrets.operator,
  }
  writeFileSync(
    env.FILMGATE_CONFIG,
    JSON.stringify({ accounts: { 'sim-none': { base_url: upstream.url, key: 'key' } } }),
  )
  const serve = async ({ args = [], env: more = {} }: Life) => {
    const script = join(import.meta.dirname, 'faults', 'kill-service.ts')
    const child = spawn(process.execPath, [...args, script], {
      env: { ...env, ...more },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    stack.defer(async () => {
      child.kill('SIGKILL')
      await exit
    })
    const [url] = await once(createInterface({ input: child.stdout }), 'line')
    return { child, exit, url: String(url) }
  }
  return {
    folder,
    upstream,
    /** Starts the process and gives it one task. */
    async liveUntilKilled({ killWhen, ...life }: Life) {
      const { child, exit, url } = await serve(life)
      const headers = { authorization: `Bearer ${secrets.client}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ model: 'sim-none', prompt: 'a fox' })
      // The kill may come before the response.
      const submitted = fetch(`${url}/v1/videos`, { method: 'POST', headers, body }).catch(() => {})
      if (killWhen) {
        await killWhen()
        child.kill('SIGKILL')
      }
      assert.deepEqual(await exit, [null, 'SIGKILL'])
      await submitted
    },
    /** The end of the task, by another process. */
    async nextSays(isIt: (shown: Shown) => boolean): Promise<Shown> {
      const { url } = await serve({})
      const ask = async <Answer>(path: string, secret: string) =>
        (await (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${secret}` } })).json()) as Answer
      const { data } = await ask<{ data: { id: string }[] }>('/v1/videos', secrets.client)
      assert.equal(data.length, 1)
      return until('it is so', async () => {
        const shown = await ask<Shown>(`/operator/v1/tasks/${data[0]?.id}`, secrets.operator)
        return isIt(shown) && shown
      })
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

interface Life {
  /** Arguments for Node. */
  args?: string[]
  env?: Record<string, string>
  /** Without it the process kills itself. */
  killWhen?: () => Promise<unknown>
}

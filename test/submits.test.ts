import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../src/core/clock.ts'
import { renewMs } from '../src/core/timing.ts'
import { providers } from '../src/providers/index.ts'
import type { Shown } from './gateway.ts'
import { type ScriptedUpstream, sendJson, startScripted, type UpstreamVideo } from './scripted-upstream.ts'
import { startService, type TestService, until } from './service.ts'

/* A submit as the upstream sees it: when it arrives, whether it is cut off, and which video is adopted for it. */

const film = { model: 'film', prompt: 'a red fox', seconds: '4', size: '1280x720' }

interface Stage extends AsyncDisposable {
  upstream: ScriptedUpstream
  service: TestService
  clock: FastClock
  submit(): Promise<string>
  attempts(id: string): Promise<Shown['attempts']>
  database(readOnly?: boolean): DatabaseSync
}

async function openStage(): Promise<Stage> {
  const clock = fastClock()
  await using stack = new AsyncDisposableStack()
  const upstream = stack.use(await startScripted())
  const accounts = { main: { provider: 'openai', base_url: upstream.url, key: 'a key', on_unknown: 'hold' } }
  const yaml = JSON.stringify({ accounts, models: { film: { account: 'main' } } })
  const service = stack.use(await startService({ yaml, members: providers, world: { clock } }))
  const resources = stack.move()
  return {
    upstream,
    service,
    clock,
    async submit() {
      const response = await service.submit(film, { connection: 'close' })
      assert.equal(response.status, 200, await response.clone().text())
      return ((await response.json()) as { id: string }).id
    },
    attempts: async (id) => (await service.operator<Shown>(`/tasks/${id}`)).attempts,
    database: (readOnly = true) => new DatabaseSync(join(service.data, 'filmgate.db'), { readOnly, timeout: 5_000 }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

it('when a submit arrives at the upstream, its attempt is committed', async () => {
  await using stage = await openStage()
  using database = stage.database()
  const openOnes = database.prepare("SELECT count(*) AS count FROM attempts WHERE state = 'open'")
  const seen: unknown[] = []
  stage.upstream.onSubmit = (response) => {
    seen.push(openOnes.get()?.count)
    sendJson(response, { id: `video_${seen.length}`, status: 'queued' })
  }
  for (let round = 1; round <= 3; round += 1) {
    const id = await stage.submit()
    await until('it arrives', () => seen.length === round)
    assert.equal(seen.at(-1), 1, 'it was sent before its attempt was committed')
    await until('it is accepted', async () => (await stage.attempts(id))[0]?.state === 'accepted')
  }
})

it('a submit that loses its lease is not cut off, and its answer counts', async () => {
  await using stage = await openStage()
  const { upstream, clock } = stage
  const arrived = Promise.withResolvers<ServerResponse>()
  let [submits, isCut] = [0, false]
  upstream.onSubmit = (response) => {
    submits += 1
    response.once('close', () => {
      isCut = !response.writableFinished
    })
    arrived.resolve(response)
  }
  const id = await stage.submit()
  const response = await arrived.promise
  using database = stage.database(false)
  // As another process that claims the task, and keeps it.
  database.prepare('UPDATE tasks SET fence = fence + 1, due_at = ?').run(clock.now() + 3_600_000)
  const before = clock.renewals()
  await until('the lease was to be renewed', () => clock.renewals() > before + 1)
  assert.equal(isCut, false, 'the submit was cut off, so its outcome is unknown')
  sendJson(response, { id: 'video_paid', status: 'queued' })
  await until('its answer is recorded', async () => (await stage.attempts(id))[0]?.state === 'accepted')
  // The other process ends.
  database.exec('UPDATE tasks SET due_at = 0')
  assert.equal((await stage.service.finish(id)).status, 'completed')
  const [attempt, ...others] = await stage.attempts(id)
  assert.deepEqual([attempt?.operation, others, submits], ['video_paid', [], 1])
})

it('a submit without an answer is not taken for a video that the upstream had before it', async () => {
  await using stage = await openStage()
  const { upstream, clock } = stage
  const listed = (id: string, ageSeconds: number): UpstreamVideo => {
    return { ...film, id, created_at: Math.floor(clock.now() / 1_000) - ageSeconds }
  }
  upstream.videos.push(listed('video_old', 3_600))
  upstream.onSubmit = (response) => void response.destroy()
  const id = await stage.submit()
  const isAccepted = async () => (await stage.attempts(id))[0]?.state === 'accepted'
  await until('it is looked for', async () => upstream.lists >= 2 || (await isAccepted()))
  upstream.videos.unshift(listed('video_new', 0))
  assert.equal((await stage.service.finish(id)).status, 'completed')
  assert.deepEqual(
    (await stage.attempts(id)).map(({ state, operation }) => [state, operation]),
    [['accepted', 'video_new']],
  )
})

interface FastClock extends Clock {
  /** How often leases were renewed. */
  renewals(): number
}

/** Runs ten times as fast as real time. */
function fastClock(): FastClock {
  const begun = Date.now()
  let renewals = -1
  return {
    now: () => begun + (Date.now() - begun) * 10,
    sleep(ms, signal) {
      // The engine sleeps this long between two renewals.
      if (ms === renewMs) renewals += 1
      return setTimeout(ms / 10, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
    },
    renewals: () => renewals,
  }
}

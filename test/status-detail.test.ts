import assert from 'node:assert/strict'
import { it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { startUpstream } from '../simulators/upstream.ts'
import type { AccountView } from '../src/core/account.ts'
import { healthy } from '../src/core/health.ts'
import type { Task } from '../src/core/task.ts'
import { providers } from '../src/providers/index.ts'
import { impatient } from './gateway.ts'
import { open, openStage, type ServerEvent, type Stage, startedAt, untilNoListeners } from './listening.ts'
import { startService } from './service.ts'
import { causeEachDetail, yaml } from './status-details.ts'

/* `status_detail`: why an unfinished video is not finished yet. */

interface Video {
  id: string
  status: string
  status_detail?: string | null
}

const sdk = { 'x-stainless-lang': 'js' }
const account = (fields: Partial<AccountView> = {}) =>
  ({ name: 'studio', concurrency: 1, health: healthy, ...fields }) as AccountView

async function read<Answer = Video>(stage: Stage, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await stage.fetch(`/v1/videos${path}`, { headers })
  assert.equal(answer.status, 200)
  return (await answer.json()) as Answer
}

const begun = { startedAt, progress: 5, account: 'studio', attempt: 'attempt 1', attempts: 1 }
const unfinished: [detail: string, fields: Partial<Task>][] = [
  ['fetching_image', { state: 'fetching', image: { url: 'http://127.0.0.1/x.png' } }],
  ['waiting_for_slot', {}],
  ['submitting', { state: 'held', account: 'studio', attempt: 'attempt 1', attempts: 1 }],
  ['generating', { ...begun, state: 'running' }],
  ['storing', { ...begun, state: 'storing' }],
  // The first account failed it, and it waits for another one.
  ['waiting_for_slot', { ...begun, state: 'queued', tried: ['studio'] }],
]

it('each state has its detail, in polls, in lists and in streams', async () => {
  await using stage = await openStage()
  stage.accounts.set('studio', account())
  const ids: string[] = []
  for (const [at, [, fields]] of unfinished.entries()) ids.push((await stage.queued(String(at + 1), fields)).id)
  const expected = unfinished.map(([detail]) => detail)
  for (const headers of [{}, sdk] as Record<string, string>[])
    for (const query of ['', '?wait=0']) {
      const polled = await Promise.all(ids.map((id) => read(stage, `/${id}${query}`, headers)))
      assert.deepEqual(
        polled.map((video) => video.status_detail),
        expected,
      )
    }
  const list = await read<{ data: Video[] }>(stage, '?order=asc')
  assert.deepEqual(
    list.data.map((video) => video.status_detail),
    expected,
  )
  for (const [at, id] of ids.entries()) {
    const stream = await open(stage, `/v1/videos/${id}/events`)
    assert.equal((await stream.next())?.data.status_detail, expected[at])
    await stream.cancel()
  }
})

it('a finished video has no detail, and null for SDKs', async () => {
  await using stage = await openStage()
  const completed = await stage.complete(await stage.begin(await stage.queued('1')))
  const failed = await stage.fail(await stage.begin(await stage.queued('2')))
  for (const { id } of [completed, failed]) {
    assert.ok(!('status_detail' in (await read(stage, `/${id}`))))
    assert.equal((await read(stage, `/${id}`, sdk)).status_detail, null)
  }
})

it('a model is unavailable if no account of it accepts tasks now', async () => {
  await using stage = await openStage()
  const { id } = await stage.queued('1')
  const gone = await stage.queued('2', { model: 'gone', card: 'gone' })
  const detail = async () => (await read(stage, `/${id}`)).status_detail
  const until = (pausedUntil: number) => ({ failures: 5, pausedUntil, reason: 'failing' }) as const
  const pauseMs = 60_000
  assert.equal(await detail(), 'model_unavailable', 'it was removed')
  for (const [fields, expected] of [
    [{}, 'waiting_for_slot'],
    [{ mode: 'draining' }, 'model_unavailable'],
    [{ mode: 'paused' }, 'model_unavailable'],
    [{ health: until(startedAt + pauseMs) }, 'model_unavailable'],
    [{ health: { failures: 1, pausedUntil: startedAt + pauseMs, reason: 'busy' } }, 'model_unavailable'],
    [{ health: { failures: 1, pausedUntil: startedAt + pauseMs, reason: 'credentials' } }, 'model_unavailable'],
    // The pause is over, and one task tests the account.
    [{ health: until(startedAt) }, 'waiting_for_slot'],
  ] as const) {
    stage.accounts.set('studio', account(fields))
    assert.equal(await detail(), expected, JSON.stringify(fields))
  }
  stage.accounts.set('studio', account({ health: until(startedAt + pauseMs) }))
  assert.equal(await detail(), 'model_unavailable')
  stage.clock.advance(pauseMs)
  assert.equal(await detail(), 'waiting_for_slot')
  assert.equal((await read(stage, `/${gone.id}`)).status_detail, 'model_unavailable')
})

it('a running video is not affected by its account', async () => {
  await using stage = await openStage()
  const { id } = await stage.begin(await stage.queued('1'))
  stage.accounts.set('studio', account({ mode: 'paused' }))
  assert.equal((await read(stage, `/${id}`)).status_detail, 'generating')
})

const told = (event: ServerEvent | undefined) => event && [event.event, event.data.status, event.data.status_detail]

it('a stream sends a new detail without a new status, and the detail of each new status', async () => {
  await using stage = await openStage()
  stage.accounts.set('studio', account())
  const task = await stage.queued('1')
  const one = await open(stage, `/v1/videos/${task.id}/events`)
  const all = await open(stage, '/v1/videos/events')
  assert.deepEqual(told(await one.next()), ['video.queued', 'queued', 'waiting_for_slot'])
  const passing = setInterval(() => stage.clock.advance(1_000), 20)
  stage.accounts.set('studio', account({ mode: 'paused' }))
  const unavailable = await one.next()
  assert.deepEqual(told(unavailable), ['video.progress', 'queued', 'model_unavailable'])
  assert.equal(unavailable?.id, null)
  stage.accounts.set('studio', account())
  assert.deepEqual(told(await one.next()), ['video.progress', 'queued', 'waiting_for_slot'])
  const running = await stage.begin(task)
  let event = await one.next()
  // It is held for a moment.
  if (event?.data.status_detail === 'submitting') event = await one.next()
  assert.deepEqual(told(event), ['video.in_progress', 'in_progress', 'generating'])
  assert.deepEqual(told(await all.next()), ['video.in_progress', 'in_progress', 'generating'])
  const storing = await stage.collect(running)
  for (const stream of [one, all])
    assert.deepEqual(told(await stream.next()), ['video.progress', 'in_progress', 'storing'])
  await stage.complete(storing)
  for (const stream of [one, all])
    assert.deepEqual(told(await stream.next()), ['video.completed', 'completed', undefined])
  clearInterval(passing)
  await all.cancel()
  await untilNoListeners(stage)
})

it('each detail is caused by what happens, and goes with its cause', async () => {
  await using upstream = await startUpstream()
  const members = { ...providers, ...simulated }
  const world = { outbound: { upstreamDeadlines: impatient } }
  await using service = await startService({ yaml, members, world })
  await causeEachDetail(service, upstream)
})

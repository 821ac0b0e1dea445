import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attempt } from '../src/core/attempt.ts'
import { newTaskId, queueTask, type Task } from '../src/core/task.ts'
import { openRandom } from '../src/main/random.ts'
import { newReport } from '../src/stores/contract/alarms.ts'
import { openSqlite } from '../src/stores/index.ts'
import type { Store } from '../src/stores/store.ts'
import { jumpingClock, operatorToken, startService, type TestService, until } from './service.ts'

/* A service with one of everything that can be requested. */

export const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }

/** The ids of what exists. */
export interface Ids {
  /** Videos. */
  queued: string
  done: string
  failed: string
  held: string[]
  /** Webhook endpoints: one that responds, with a delivery, and one that does not. */
  endpoint: string
  delivery: string
  deaf: string
  alarm: string
  /** A token. */
  token: string
}

export interface World extends AsyncDisposable {
  service: TestService
  clock: ReturnType<typeof jumpingClock>
  ids: Ids
}

export async function startWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack()
  const root = stack.adopt(mkdtempSync(join(tmpdir(), 'filmgate-responses-')), (path) =>
    rmSync(path, { recursive: true }),
  )
  const data = join(root, 'data')
  mkdirSync(data)
  const held: string[] = []
  const alarm = newReport('1', { kind: 'certificate_failing', subject: 'old.example:443', at: Date.now() })
  {
    await using store = await openSqlite({ folder: data, now: Date.now(), onFatal: assert.fail })
    for (let count = 0; count < 3; count += 1) held.push(await hold(store))
    await store.raiseAlarm(alarm)
  }
  const yaml = `
    outbound: { allow: [127.0.0.1] }
    aliases: { acme/fast: studio }
    models: { still: { account: studio, image: required } }`
  const keys = { FILMGATE_OPERATOR_TOKEN: operatorToken, GEMINI_API_KEY: 'x', FAL_KEY: 'x' }
  const env = { FILMGATE_DATA: data, FILMGATE_TRUSTED_PROXIES: '127.0.0.0/8', ...keys }
  const clock = jumpingClock()
  const receiver = stack.adopt(
    createServer((_request, response) => response.end()),
    (server) => void server.close(),
  )
  const service = stack.use(await startService({ yaml, env, world: { clock } }))
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const endpoint = await addEndpoint(service, `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`)
  // A closed port.
  const deaf = await addEndpoint(service, 'http://127.0.0.1:9/')
  const token = await addToken(service)
  const videos = await makeVideos(service)
  const delivery = await delivered(service, endpoint)
  const ids = { held, endpoint, deaf, token, alarm: alarm.id, ...videos, delivery }
  const resources = stack.move()
  return { service, clock, ids, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

async function makeVideos(service: TestService): Promise<Pick<Ids, 'queued' | 'done' | 'failed'>> {
  const submit = async (fields: object, headers = {}) =>
    ((await (await service.submit({ ...film, ...fields }, headers)).json()) as Task).id
  // A closed port, too: the image can never be downloaded.
  const failed = await submit({ image: 'http://127.0.0.1:9/a.png' })
  const done = await submit({}, { 'idempotency-key': 'one' })
  for (const id of [done, failed]) await service.finish(id)
  // Others are queued before it for longer than the test takes.
  let queued = ''
  for (let count = 0; count < 12; count += 1) queued = await submit({ seconds: '20', size: '1920x1080' })
  return { queued, done, failed }
}

async function addEndpoint(service: TestService, url: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'a receiver', url, event_types: ['video.completed', 'video.failed'] })
  const answer = await service.fetch('/v1/webhook_endpoints', { method: 'POST', headers, body })
  return ((await answer.json()) as { id: string }).id
}

async function addToken(service: TestService): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` }
  const init = { method: 'POST', headers, body: JSON.stringify({ name: 'a colleague' }) }
  const answer = await service.fetch('/operator/v1/tokens', init)
  return ((await answer.json()) as { id: string }).id
}

function delivered(service: TestService, endpoint: string): Promise<string> {
  return until('something was delivered', async () => {
    const list = await service.fetch(`/v1/webhook_endpoints/${endpoint}/deliveries?state=delivered`)
    return ((await list.json()) as { first_id: string | null }).first_id
  })
}

/** A task of unknown outcome that no worker claims. */
async function hold(store: Store): Promise<string> {
  const now = Date.now()
  const id = newTaskId(now, openRandom())
  const attempt: Attempt = {
    id: `att_${id.slice(-36)}`,
    task: id,
    number: 1,
    account: 'studio',
    keyVersion: '12345678',
    upstreamModel: 'studio',
    openedAt: now,
    state: 'open',
    operation: null,
    settledAt: null,
    problem: { code: 'provider_unavailable', message: 'the connection broke' },
  }
  const asked = { owner: 'default', model: 'studio', card: 'studio', prompt: 'a red fox', parameters: {}, image: null }
  const times = { startBy: now + 3_600_000, finishBy: now + 3_600_000 }
  const task: Task = {
    ...queueTask({ id, digest: 0, seconds: 1, size: { width: 256, height: 256 }, ...asked, ...times }, now),
    state: 'held',
    attempt: attempt.id,
    attempts: 1,
    account: attempt.account,
    dueAt: null,
  }
  await store.insert(task)
  const leased = await store.claimOne(id, 'held', now + 9_000)
  assert.ok(leased && (await store.record({ task: { ...leased, dueAt: null }, opened: attempt, fact: attempt })))
  return id
}

/** The operation of that task at studio. */
export function operationOf(id: string): object {
  const film = `att_${id.slice(-36)}`
  return { film, prompt: 'a red fox', seconds: 1, width: 256, height: 256, image: false, seed: null, caption: true }
}

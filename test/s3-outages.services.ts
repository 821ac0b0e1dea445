import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { simulated } from '../simulators/provider.ts'
import { tinyFilm } from '../simulators/upstream/tiny-film.ts'
import { markOf, startUpstream, type Upstream, withoutMark } from '../simulators/upstream.ts'
import { loadConfig } from '../src/config.ts'
import { type Service, start } from '../src/main.ts'
import { providers } from '../src/providers/index.ts'
import { operatorToken, token, until } from './service.ts'
import { type Fate, type FaultyProxy, startFaultyProxy } from './services/faulty-proxy.ts'
import { startS3, type TestS3 } from './services/s3.ts'

/* A whole service on a faulty S3 server: each video meets another fault while it is stored. */

const isPut = (request: string) => request.startsWith('PUT ')
const answering =
  (status: number, code: string) =>
  (request: string): Fate =>
    isPut(request) ? { status, code } : { pass: true }

/** What the log must say. */
const faults: Record<string, (request: string) => Fate> = {
  InternalError: answering(500, 'InternalError'),
  SlowDown: answering(503, 'SlowDown'),
  AccessDenied: answering(403, 'AccessDenied'),
  ExpiredToken: answering(403, 'ExpiredToken'),
  RequestTimeTooSkewed: answering(403, 'RequestTimeTooSkewed'),
  ConditionalRequestConflict: answering(409, 'ConditionalRequestConflict'),
  PreconditionFailed: answering(412, 'PreconditionFailed'),
  requestTimeout: (request) => (isPut(request) ? { silent: true } : { pass: true }),
}

interface World {
  upstream: Upstream
  s3: TestS3
  proxy: FaultyProxy
  service: Service
  log: string[]
  /** The fate of the requests for a task, by its id, or of all requests. Without an entry they pass. */
  fates: Map<string, (request: string) => Fate>
}
let world: World
const resources = new AsyncDisposableStack()

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-s3-outages-'))
  resources.defer(() => rmSync(folder, { recursive: true }))
  const s3 = resources.use(await startS3())
  // Requests wait until all faults are set up.
  const upstream = resources.use(await startUpstream({ mode: 'none', speed: 600_000 }))
  const fates: World['fates'] = new Map()
  const proxy = await startFaultyProxy(s3.endpoint, (request) => {
    const id = /video_[0-9a-f]{48}/.exec(request)?.[0] ?? ''
    return (fates.get('all') ?? fates.get(id))?.(request) ?? { pass: true }
  })
  resources.defer(() => proxy.stop())
  process.env.AWS_ACCESS_KEY_ID = s3.credentials.accessKeyId
  process.env.AWS_SECRET_ACCESS_KEY = s3.credentials.secretAccessKey
  const yaml = join(folder, 'filmgate.yaml')
  writeFileSync(
    yaml,
    JSON.stringify({ accounts: { 'sim-none': { base_url: upstream.url, key: 'the key', concurrency: 100 } } }),
  )
  const members = { ...providers, ...simulated }
  const env = {
    FILMGATE_PORT: '0',
    FILMGATE_DATA: join(folder, 'data'),
    FILMGATE_CONFIG: yaml,
    FILMGATE_TOKEN: token,
    FILMGATE_OPERATOR_TOKEN: operatorToken,
    FILMGATE_BUCKET: `s3://${s3.bucket}/films?endpoint=${encodeURIComponent(proxy.endpoint)}&path_style=true`,
  }
  const config = loadConfig({ flags: {}, env, members })
  const log: string[] = []
  // Shorter than in production, where it is half a minute.
  const bucket = { ...config.bucket, requestMs: 500 }
  const service = resources.use(await start({ ...config, bucket }, { members, writeLog: (line) => log.push(line) }))
  world = { upstream, s3, proxy, service, log, fates }
})
after(() => resources.disposeAsync())

const request = (path: string, init: RequestInit = {}, bearer = token) =>
  fetch(`${world.service.url}${path}`, { ...init, headers: { authorization: `Bearer ${bearer}`, ...init.headers } })

const post = (body: object) =>
  request('/v1/videos', {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

async function submit(prompt: string): Promise<string> {
  const answer = await post({ model: 'sim-none', prompt })
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { id: string }).id
}

async function statusOf(id: string): Promise<string> {
  const { status, error } = (await (await request(`/v1/videos/${id}`)).json()) as { status: string; error?: unknown }
  assert.ok(!error, `${id}: ${JSON.stringify(error)}`)
  return status
}

/** Lines of the log about videos that can't be stored. An outage has one for each kind of failure, whatever the task. */
const linesAbout = (words: string) =>
  world.log.filter((line) => line.includes('a task met a problem') && line.includes(words) && line.includes('collect'))

/** The codes of the problems in the timeline of a task. */
async function problemsOf(id: string): Promise<(string | undefined)[]> {
  const shown = await request(`/operator/v1/tasks/${id}`, {}, operatorToken)
  const { timeline } = (await shown.json()) as { timeline: { name: string; detail: { code?: string } }[] }
  return timeline.filter((event) => event.name === 'collect met a problem').map(({ detail }) => detail.code)
}

async function keysOf(id: string): Promise<string[]> {
  const { s3 } = world
  const client = new S3Client({ ...s3, region: 'us-east-1', forcePathStyle: true })
  const listed = await client.send(new ListObjectsV2Command({ Bucket: s3.bucket, Prefix: `films/${id}/` }))
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: s3.bucket }))
  assert.deepEqual(Uploads, [])
  return (listed.Contents ?? []).map(({ Key = '' }) => Key)
}

const acceptsOf = (prompt: string) =>
  world.upstream.ledger().accepts.filter((accept) => accept.prompt === prompt).length

async function isWhole(id: string, prompt: string): Promise<void> {
  await until(`${prompt} ends`, async () => (await statusOf(id)) === 'completed')
  const content = await request(`/v1/videos/${id}/content`)
  const film = Buffer.from(await content.arrayBuffer())
  assert.equal(markOf(film)?.prompt, prompt)
  assert.ok(withoutMark(film).equals(tinyFilm), prompt)
  assert.equal(acceptsOf(prompt), 1, `${prompt}: it was paid for that often`)
}

it('films wait for a storage at fault, are stored once when it recovers, and the log and the timeline say why', async () => {
  const { fates, upstream } = world
  const ids = new Map<string, string>()
  for (const [name, fate] of Object.entries(faults)) {
    const id = await submit(name)
    ids.set(name, id)
    fates.set(id, fate)
  }
  const sound = await submit('sound')
  upstream.setFaults({ speed: 50 })
  // Other tasks do not wait for them.
  await isWhole(sound, 'sound')
  for (const [name, id] of ids) {
    await until(`${name} is met`, async () => (await problemsOf(id)).length > 0)
    assert.equal(await statusOf(id), 'in_progress', name)
    assert.equal((await request(`/v1/videos/${id}/content`)).status, 404)
    const [line = '', ...more] = linesAbout(name)
    assert.ok(line.includes('"code":"storage_unavailable"'), `${name}: ${line}`)
    assert.deepEqual(more, [], name)
    assert.deepEqual(await keysOf(id), [], name)
    assert.deepEqual(await problemsOf(id), ['storage_unavailable'], name)
  }
  fates.clear()
  for (const [name, id] of ids) {
    await isWhole(id, name)
    assert.equal((await keysOf(id)).length, 1, name)
  }
})

it('a video whose responses are all lost, while nothing can be read, is completed later, and no extra object is left', async () => {
  const { fates, upstream } = world
  upstream.setFaults({ speed: 600_000 })
  const id = await submit('lost')
  fates.set(id, (asked) => (isPut(asked) ? { loseAnswer: true } : { status: 503, code: 'SlowDown' }))
  upstream.setFaults({ speed: 50 })
  await until('it is met', async () => (await problemsOf(id)).length > 0)
  assert.equal(await statusOf(id), 'in_progress')
  fates.clear()
  await isWhole(id, 'lost')
  assert.equal((await request(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
  await until('all of it is removed', async () => (await keysOf(id)).length === 0)
})

it('a download from a silent storage fails long before its client gives up', async () => {
  const { fates, upstream } = world
  upstream.setFaults({ speed: 50 })
  const id = await submit('silent')
  await isWhole(id, 'silent')
  fates.set(id, () => ({ silent: true }))
  const answer = await request(`/v1/videos/${id}/content`, { signal: AbortSignal.timeout(30_000) })
  fates.clear()
  assert.equal(answer.status, 503)
  assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
  await isWhole(id, 'silent')
})

it('a submit whose image can not be stored gets 503, and nothing of it is kept', async () => {
  const { fates, proxy } = world
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const listed = async () => ((await (await request('/v1/videos')).json()) as { data: unknown[] }).data.length
  const before = await listed()
  fates.set('all', answering(503, 'SlowDown'))
  const answer = await post({ model: 'studio', prompt: 'x', image: `data:image/png;base64,${png}` })
  fates.clear()
  assert.equal(answer.status, 503)
  assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
  assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'storage_unavailable')
  assert.equal(await listed(), before)
  const id = /video_[0-9a-f]{48}/.exec(
    proxy.seen.findLast((asked) => isPut(asked) && asked.includes('video_')) ?? '',
  )?.[0]
  assert.ok(id, 'nothing was put')
  assert.deepEqual(await keysOf(id), [])
})

it('a bucket that can be read and refuses writes is an alarm, until it accepts them', async () => {
  const { fates } = world
  const bucketOf = async () => ((await (await request('/readyz')).json()) as { bucket: string }).bucket
  const alarms = async (status: string) => {
    const listed = await request(`/operator/v1/alarms?status=${status}`, {}, operatorToken)
    const { data } = (await listed.json()) as { data: { id: string; kind: string }[] }
    return data.filter(({ kind }) => kind === 'bucket_failing').map(({ id }) => id)
  }
  await until('it can be written', async () => (await bucketOf()) === 'ok' && (await alarms('active')).length === 0)
  fates.set('all', answering(403, 'AccessDenied'))
  const [id = ''] = await until('it is an alarm', async () => {
    const found = (await bucketOf()) === 'ok' ? [] : await alarms('active')
    return found.length > 0 && found
  })
  fates.clear()
  await until('it is over', async () => (await bucketOf()) === 'ok' && (await alarms('cleared')).includes(id))
})

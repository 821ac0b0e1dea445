import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runCli } from '../src/cli/cli.fixture.ts'
import type { OperatorStorage } from '../src/wire/storage.ts'
import { jumpingClock, operatorToken, startService, type TestService, until } from './service.ts'

/* Limits on what a project has in the service, as a client and an operator see them. */

/** Long enough that none is finished before the end of the test. */
const long = { model: 'studio', prompt: 'a red fox', seconds: '20', size: '1920x1080' }
const env = { FILMGATE_OPERATOR_TOKEN: operatorToken }
const as = (secret: string) => ({ authorization: `Bearer ${secret}` })

interface Answer {
  id: string
  secret: string
  status: string
  queued: number | null
  error: { code: string; type: string; message: string; param: string | null }
}

async function post(service: TestService, path: string, body: object): Promise<Answer> {
  const headers = { ...as(operatorToken), 'content-type': 'application/json' }
  const response = await service.fetch(`/operator/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await response.json()) as Answer
}

/** Submits a video and waits until it has started: the next ones of a token with a concurrency of 1 wait behind it. */
async function occupy(service: TestService, secret: string): Promise<void> {
  const { id } = (await (await service.submit(long, as(secret))).json()) as Answer
  await until('the first video has started', async () => {
    const video = (await (await service.fetch(`/v1/videos/${id}`, { headers: as(secret) })).json()) as Answer
    return video.status === 'in_progress'
  })
}

it('a token with a limit on waiting videos is refused beyond it, and admitted when one is deleted', async () => {
  const yaml = 'tokens: [{ name: team, secret: a-secret-of-the-team, concurrency: 1, queued: 2 }]'
  await using service = await startService({ yaml, env })
  const secret = 'a-secret-of-the-team'
  await occupy(service, secret)
  const submit = () => service.submit(long, as(secret))
  const [second, third, refused] = [await submit(), await submit(), await submit()]
  assert.deepEqual([second.status, third.status, refused.status], [200, 200, 429])
  assert.deepEqual(
    ['retry-after', 'x-should-retry'].map((name) => refused.headers.get(name)),
    ['5', null],
  )
  const { error } = (await refused.json()) as Answer
  assert.deepEqual([error.code, error.type], ['queue_full', 'requests'])
  assert.match(error.message, /2 or more videos in the queue, and the limit of this token is 2 \(`queued`\)/)
  assert.equal((await service.submit(long)).status, 200, 'other projects are not affected')
  const { id } = (await second.json()) as Answer
  await service.fetch(`/v1/videos/${id}`, { method: 'DELETE', headers: as(secret) })
  await until('there is room again', async () => (await submit()).status === 200)
  assert.equal((await submit()).status, 429)
})

it('FILMGATE_QUEUED limits tokens without a limit of their own, and 0 lifts it while the service runs', async () => {
  await using service = await startService({ env: { ...env, FILMGATE_QUEUED: '1' } })
  const { id, secret, queued } = await post(service, '/tokens', { name: 'anna', concurrency: 1 })
  assert.equal(queued, null)
  await occupy(service, secret)
  const submit = async () => (await service.submit(long, as(secret))).status
  assert.deepEqual([await submit(), await submit()], [200, 429])
  assert.equal((await post(service, `/tokens/${id}`, { queued: 2 })).queued, 2)
  assert.deepEqual([await submit(), await submit()], [200, 429])
  assert.equal((await post(service, `/tokens/${id}`, { queued: 0 })).queued, 0)
  assert.deepEqual([await submit(), await submit()], [200, 200])
  const { error } = await post(service, `/tokens/${id}`, { queued: 100_001 })
  assert.deepEqual([error.code, error.param], ['invalid_value', 'queued'])
})

/** Its file has more than 1 MB. */
const film = { model: 'studio', prompt: 'a red fox in snow at dusk', seconds: '4', size: '1280x720' }

async function finished(service: TestService, secret: string): Promise<string> {
  const response = await service.submit(film, as(secret))
  assert.equal(response.status, 200, await response.clone().text())
  const { id } = (await response.json()) as Answer
  const path = `/v1/videos/${id}?wait=60&until=done`
  await until('the video is completed', async () => {
    const video = (await (await service.fetch(path, { headers: as(secret) })).json()) as Answer
    return video.status === 'completed'
  })
  return id
}

it('a token that stores as many bytes as it may is refused, until videos are deleted', async () => {
  const clock = jumpingClock()
  await using service = await startService({ env, world: { clock } })
  const { secret } = await post(service, '/tokens', { name: 'anna', stored_bytes: 1_000_000 })
  // The second is accepted before the first is stored, and is completed although it exceeds the limit.
  const ids = await Promise.all([finished(service, secret), finished(service, secret)])
  clock.jump(1_000)
  const refused = await service.submit(film, as(secret))
  assert.equal(refused.status, 429)
  assert.deepEqual(
    ['x-should-retry', 'retry-after'].map((name) => refused.headers.get(name)),
    ['false', null],
  )
  const { error } = (await refused.json()) as Answer
  assert.deepEqual([error.code, error.type], ['storage_quota_exceeded', 'insufficient_quota'])
  assert.match(error.message, /stores \d{7,} bytes .* limit of this token is 1000000 bytes \(`stored_bytes`\)\. Delete/)
  assert.equal((await service.submit(film)).status, 200, 'other projects are not affected')
  for (const id of ids) await service.fetch(`/v1/videos/${id}`, { method: 'DELETE', headers: as(secret) })
  await until('there is room again', async () => (await service.submit(film, as(secret))).status === 200)
})

it('FILMGATE_STORED_BYTES limits tokens without a limit of their own', async () => {
  const clock = jumpingClock()
  const yaml = 'tokens: [{ name: large, secret: a-secret-of-the-large, stored_bytes: 900000000 }]'
  await using service = await startService({ yaml, env: { ...env, FILMGATE_STORED_BYTES: '1MB' }, world: { clock } })
  const { secret } = await post(service, '/tokens', { name: 'anna' })
  for (const one of [secret, 'a-secret-of-the-large']) await finished(service, one)
  clock.jump(1_000)
  const statuses = [secret, 'a-secret-of-the-large'].map(async (one) => (await service.submit(film, as(one))).status)
  assert.deepEqual(await Promise.all(statuses), [429, 200])
})

it('at FILMGATE_BUCKET_LIMIT no video is accepted, and videos in progress are completed', async () => {
  const clock = jumpingClock()
  await using service = await startService({ env: { ...env, FILMGATE_BUCKET_LIMIT: '1MB' }, world: { clock } })
  const { secret } = await post(service, '/tokens', { name: 'anna' })
  const ids = await Promise.all([finished(service, secret), finished(service, secret)])
  clock.jump(1_000)
  const refused = await service.submit(film)
  assert.equal(refused.status, 503)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  const { error } = (await refused.json()) as Answer
  assert.equal(error.code, 'storage_unavailable')
  assert.match(error.message, /storage of the service has reached its limit, so no new videos are accepted/)
  assert.ok(service.log.some((line) => line.includes('the bucket has reached its limit')))
  for (const id of ids) await service.fetch(`/v1/videos/${id}`, { method: 'DELETE', headers: as(secret) })
  await until('videos are accepted', async () => (await service.submit(film)).status === 200)
})

interface Used {
  used: { queued: number; stored_bytes: number; spend: { period: string; amount: string; resets_at: string | null }[] }
}

it('the operator sees what the project of a token uses of its limits', async () => {
  const yaml = 'prices: { models: { studio: { price: [{ unit: second, price: "0.50" }] } } }'
  await using service = await startService({ yaml, env })
  const spend = { day: { limit: '9' }, total: { limit: '50' } }
  const { id, secret } = await post(service, '/tokens', { name: 'anna', project: 'shop', concurrency: 1, spend })
  const { id: other } = await post(service, '/tokens', { name: 'ben', project: 'shop' })
  await finished(service, secret)
  const usedBy = async (token: string) => (await service.operator<Used>(`/tokens/${token}`)).used
  const { queued, stored_bytes: bytes, spend: spent } = await usedBy(id)
  assert.deepEqual([queued, bytes > 1_000_000], [0, true])
  assert.deepEqual(
    spent.map(({ period, amount, resets_at: at }) => [period, amount, at === null]),
    [
      ['day', '2', false],
      ['total', '2', true],
    ],
  )
  assert.deepEqual(await usedBy(other), { queued: 0, more_queued: false, stored_bytes: bytes, spend: [] })
  assert.equal((await service.operator<Used>('/tokens/config:operator')).used, null)
  const shown = await runCli(['token', 'show', 'anna'], {
    env: { FILMGATE_BASE_URL: service.url, FILMGATE_OPERATOR_TOKEN: operatorToken },
    cwd: service.data,
  })
  assert.match(shown.stdout, /\nwaiting now +0\nstored now +[\d.]+ MB\n/)
  assert.match(shown.stdout, /\nspent today +2 of 9 USD, resets in .*\nspent +2 of 50 USD\n/)
})

it('operators see how many bytes expire in which hour', async () => {
  const clock = jumpingClock()
  await using service = await startService({ env, world: { clock } })
  const { secret } = await post(service, '/tokens', { name: 'anna' })
  const before = clock.now()
  await finished(service, secret)
  const storage = await service.operator<OperatorStorage>('/storage')
  const [expiry] = storage.expiries
  assert.ok(expiry && storage.expiries.length === 1)
  assert.deepEqual([expiry.videos, storage.kept.tasks, storage.bucket_limit], [1, 0, null])
  assert.ok(expiry.bytes > 1_000_000 && expiry.bytes === storage.stored_bytes)
  const hours = (Date.parse(expiry.from) - before) / 3_600_000
  assert.ok(hours > 22.9 && hours < 24.1, `${hours} hours`)
})

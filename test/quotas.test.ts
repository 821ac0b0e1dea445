import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operatorToken, startService, type TestService, until } from './service.ts'

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

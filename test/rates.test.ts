import assert from 'node:assert/strict'
import { it } from 'node:test'
import OpenAI, { AzureOpenAI, RateLimitError } from 'openai-7.53'
import { jumpingClock, startService, token } from './service.ts'

const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' } as const

function told({ headers }: Response): (string | null)[] {
  const names = ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`)
  return [...names, 'ratelimit'].map((name) => headers.get(name))
}

it('every response says what is left, and only requests that create a video count', async () => {
  await using service = await startService({ env: { FILMGATE_RATE: '3' } })
  const full = ['3', '3', '0ms', '"videos";r=3;t=0']
  assert.deepEqual(told(await service.fetch('/v1/models')), full)
  assert.deepEqual(told(await service.fetch('/v1/videos')), full)
  const first = await service.submit(film)
  assert.deepEqual(told(first).slice(0, 2), ['3', '2'])
  assert.equal(first.headers.get('ratelimit-policy'), '"videos";q=3;w=60')
  const { id } = (await first.json()) as { id: string }
  for (const path of [`/v1/videos/${id}`, '/v1/videos/video_none', `/v1/videos/${id}/content?variant=x`])
    assert.deepEqual(told(await service.fetch(path)).slice(0, 2), ['3', '2'], path)
  assert.deepEqual(told(await service.submit({ ...film, seconds: '999' })).slice(0, 2), ['3', '1'])
})

it('what is too much is 429 with when to come back, makes nothing, and passes with time', async () => {
  const clock = jumpingClock()
  await using service = await startService({ env: { FILMGATE_RATE: '2' }, world: { clock } })
  for (let count = 0; count < 2; count += 1) assert.equal((await service.submit(film)).status, 200)
  const refused = await service.submit(film)
  assert.equal(refused.status, 429)
  const wait = Number(refused.headers.get('retry-after'))
  assert.ok(wait > 0 && wait <= 30, String(wait))
  assert.ok(Number(refused.headers.get('retry-after-ms')) <= wait * 1_000)
  const { error } = (await refused.json()) as { error: { code: string; message: string; type: string } }
  assert.deepEqual([error.code, error.type], ['rate_limit_exceeded', 'requests'])
  assert.match(error.message, /2 videos per minute/)
  const { data } = (await (await service.fetch('/v1/videos')).json()) as { data: unknown[] }
  assert.equal(data.length, 2)
  const client = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1`, maxRetries: 0 })
  await assert.rejects(client.videos.create({ ...film } as never), RateLimitError)
  clock.jump(31_000)
  assert.equal((await service.submit(film)).status, 200)
})

it('a token may have a rate of its own, or none', async () => {
  const yaml = 'tokens: [{ name: few, secret: few, rate: 1 }, { name: free, secret: free, rate: 0 }]'
  await using service = await startService({ yaml })
  const as = (secret: string) => service.submit(film, { authorization: `Bearer ${secret}` })
  assert.deepEqual([(await as('few')).status, (await as('few')).status], [200, 429])
  const free = await as('free')
  assert.equal(free.status, 200)
  assert.deepEqual(told(free), [null, null, null, null])
  assert.equal((await service.submit(film)).headers.get('x-ratelimit-limit-requests'), '6000')
})

it('writes to webhook endpoints have a rate for each token, whatever its videos', async () => {
  let now = Date.now()
  // The clock stands still, so that nothing is refilled.
  const clock = { ...jumpingClock(), now: () => now }
  const yaml = 'tokens: [{ name: many, secret: many, rate: 0 }, { name: other, secret: other }]'
  await using service = await startService({ yaml, world: { clock } })
  const write = (secret: string, path = '') => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    return service.fetch(`/v1/webhook_endpoints${path}`, { method: 'POST', headers, body: '{}' })
  }
  const unknown = `/whe_${'0'.repeat(36)}`
  const replays = [`${unknown}/replay`, `${unknown}/deliveries/wh_${'0'.repeat(44)}/replay`]
  const paths = ['', unknown, `${unknown}/rotate_secret`, `${unknown}/test`, ...replays]
  for (let count = 0; count < 10; count += 1)
    for (const path of paths) assert.notEqual((await write('many', path)).status, 429, path)
  for (const path of paths) {
    const refused = await write('many', path)
    assert.equal(refused.status, 429, path)
    assert.equal(refused.headers.get('retry-after'), '1')
    const { error } = (await refused.json()) as { error: { code: string; message: string } }
    assert.equal(error.code, 'rate_limit_exceeded')
    assert.match(
      error.message,
      /may create, change, test and replay webhook endpoints 60 times per minute\. Try again in /,
    )
  }
  const read = await service.fetch('/v1/webhook_endpoints', { headers: { authorization: 'Bearer many' } })
  assert.equal(read.status, 200)
  assert.equal((await write('other')).status, 400)
  now += 1_000
  assert.equal((await write('many')).status, 400)
})

it("Azure's paths and header are answered if that is wanted, and unknown if not", async () => {
  await using service = await startService({ env: { FILMGATE_AZURE: 'on' } })
  const key = { 'api-key': token }
  const paths = ['/openai/v1/models?api-version=preview', '/openai/models', '/models', '/v1/models', '/models/studio']
  for (const path of paths) {
    const answer = await fetch(`${service.url}${path}`, { headers: key })
    assert.equal(answer.status, 200, path)
  }
  const client = new OpenAI({ apiKey: token, baseURL: `${service.url}/openai/v1`, maxRetries: 0 })
  const { id } = await client.videos.create({ ...film } as never)
  assert.equal((await client.videos.retrieve(id)).id, id)
  const azure = new AzureOpenAI({ endpoint: service.url, apiKey: token, apiVersion: 'preview', maxRetries: 0 })
  assert.deepEqual(
    (await azure.videos.list()).data.map((video) => video.id),
    [id],
  )
  assert.equal((await fetch(`${service.url}/videos/${id}`, { headers: key })).status, 200)
  assert.equal((await fetch(`${service.url}/v1/models`, { headers: { 'api-key': 'wrong' } })).status, 401)
  assert.equal((await fetch(`${service.url}/operator/v1/accounts`, { headers: key })).status, 401)
  assert.equal((await fetch(`${service.url}/videosomething`, { headers: key })).status, 404)

  await using plain = await startService()
  assert.equal((await fetch(`${plain.url}/v1/models`, { headers: key })).status, 401)
  for (const path of ['/openai/v1/models', '/models', '/videos'])
    assert.equal((await plain.fetch(path)).status, 404, path)
})

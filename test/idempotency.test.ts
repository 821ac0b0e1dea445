import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, it } from 'node:test'
import OpenAI, { UnprocessableEntityError } from 'openai-7.53'
import { startService, token } from './service.ts'

const service = await startService({
  yaml: 'tokens: [{ name: other, secret: other-secret }]',
})
after(() => service[Symbol.asyncDispose]())
const film = { model: 'studio', seconds: '1', size: '256x256', prompt: 'a red fox' } as const

interface Answer {
  id: string
  status: string
  progress: number
  error?: { code: string; param: string; message: string }
}

async function submit(key: string, body: object = film, headers: Record<string, string> = {}) {
  const response = await service.submit(body, { 'idempotency-key': key, ...headers })
  return { status: response.status, body: (await response.json()) as Answer }
}

async function count(): Promise<number> {
  const page = (await (await service.fetch('/v1/videos?limit=100')).json()) as { data: unknown[] }
  return page.data.length
}

it('the same key and request get the response of the creation, whatever the state of the video is by then', async () => {
  const before = await count()
  const first = await submit('one')
  await service.finish(first.body.id)
  const again = await submit('one')
  assert.deepEqual(again, first)
  assert.equal(first.body.status, 'queued')
  assert.equal(await count(), before + 1)
})

it('another request with the same key is 422, which names the key and the video, and makes nothing', async () => {
  const first = await submit('two')
  const before = await count()
  const other = await submit('two', { ...film, prompt: 'a blue fox' })
  assert.equal(other.status, 422)
  assert.equal(other.body.error?.code, 'idempotency_key_reused')
  assert.equal(other.body.error?.param, 'Idempotency-Key')
  assert.ok(other.body.error?.message.includes(first.body.id))
  assert.equal(await count(), before)
})

it('twenty at once make one video', async () => {
  const before = await count()
  const answers = await Promise.all(Array.from({ length: 20 }, () => submit('three')))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  assert.equal(await count(), before + 1)
})

it('a request that was refused leaves its key free', async () => {
  assert.equal((await submit('four', { ...film, seconds: '999' })).status, 400)
  assert.equal((await submit('four')).status, 200)
})

it('a key is its own in each token', async () => {
  const mine = await submit('five')
  const theirs = await submit('five', film, { authorization: 'Bearer other-secret' })
  assert.equal(theirs.status, 200)
  assert.notEqual(theirs.body.id, mine.body.id)
})

it('a key outlives a restart', async () => {
  const first = await submit('six')
  await service.restart()
  assert.equal((await submit('six')).body.id, first.body.id)
})

it('an invalid key is refused with what to send', async () => {
  for (const key of ['x'.repeat(256), 'schlüssel', '']) {
    const headers = { 'idempotency-key': key }
    const response = await service.submit(film, headers)
    assert.equal(response.status, 400, JSON.stringify(key))
    const { error } = (await response.json()) as Answer
    assert.deepEqual([error?.code, error?.param], ['invalid_value', 'Idempotency-Key'])
  }
})

it('two keys are not one', async () => {
  const body = JSON.stringify(film)
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': ['a', 'b'],
  }
  const answer = await new Promise<IncomingMessage>((resolve) => {
    request(`${service.url}/v1/videos`, { method: 'POST', headers }, resolve).end(body)
  })
  assert.equal(answer.statusCode, 400)
  assert.match(await text(answer), /Invalid Idempotency-Key\. Send one header with .+ characters/)
})

it("OpenAI's SDK sends it as an option, and sees the same video and the right error", async () => {
  const client = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1`, maxRetries: 0 })
  const options = { headers: { 'Idempotency-Key': 'seven' } }
  const first = await client.videos.create({ ...film, seconds: '1' as '4', size: '256x256' as '720x1280' }, options)
  const again = await client.videos.create({ ...film, seconds: '1' as '4', size: '256x256' as '720x1280' }, options)
  assert.deepEqual(again, first)
  await assert.rejects(
    client.videos.create({ model: 'studio', prompt: 'another' }, options),
    (error) => error instanceof UnprocessableEntityError && error.code === 'idempotency_key_reused',
  )
})

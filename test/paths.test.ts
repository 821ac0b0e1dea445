import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { startService, type TestService } from './service.ts'

/* Paths, methods and encodings of other services' clients. */

let service: TestService
before(async () => {
  service = await startService()
})
after(() => service[Symbol.asyncDispose]())

const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' }
interface Video {
  id: string
  object: string
  status: string
  metadata?: unknown
  error?: { code: string; param: string | null; message: string }
}

async function post(path: string, body: string, type = 'application/json') {
  const answer = await service.fetch(path, { method: 'POST', headers: { 'content-type': type }, body })
  return { status: answer.status, body: (await answer.json()) as Video & Record<string, unknown> }
}

it('the paths of xAI and Kong make and poll a video, with the names that their clients read', async () => {
  for (const path of ['/v1/videos/generations', '/v1/video/generations', '/v1/video/generations/']) {
    const { status, body } = await post(path, JSON.stringify(film))
    assert.deepEqual([status, body.object, body.task_id, body.request_id], [200, 'video', body.id, body.id], path)
    const polled = await service.fetch(`${path.replace(/\/$/, '')}/${body.id}`)
    const video = (await polled.json()) as Record<string, unknown>
    assert.deepEqual([polled.status, video.id, video.task_id, video.request_id], [200, body.id, body.id, body.id])
    const ours = (await (await service.fetch(`/v1/videos/${body.id}`)).json()) as object
    assert.ok(!('task_id' in ours) && !('request_id' in ours))
  }
  const refused = await post('/v1/videos/generations', '{}')
  assert.deepEqual(Object.keys(refused.body), ['error'])
})

it('a slash at the end of a path changes nothing', async () => {
  const { status, body } = await post('/v1/videos/', JSON.stringify(film))
  assert.equal(status, 200)
  for (const path of ['/v1/videos/', '/v1/models/', '/v1/models/studio/', `/v1/videos/${body.id}/`])
    assert.equal((await service.fetch(path)).status, 200, path)
})

it('a URL-encoded form is a form', async () => {
  const type = 'application/x-www-form-urlencoded'
  const fields = new URLSearchParams({ ...film, prompt: 'a fox & 狐', seed: '7', 'metadata[job]': 'a' })
  const { status, body } = await post('/v1/videos', String(fields), `${type}; charset=utf-8`)
  assert.deepEqual([status, body.prompt, body.metadata], [200, 'a fox & 狐', { job: 'a' }])
  const bare = 'model=studio&prompt=un caf\u00e9 \u718a\u732b'
  assert.equal((await post('/v1/videos', bare, type)).body.prompt, 'un café 熊猫')
  assert.equal((await post('/v1/videos', 'model=studio&prompt=50% off', type)).body.prompt, '50% off')
  const wrong: [string, number][] = [
    ['model=studio&prompt=x%FFy', 400],
    [`${fields}&seed=8`, 400],
    [`${fields}&a=1`, 400],
    ['&'.repeat(100_000), 400],
    [`__proto__=1&${fields}`, 400],
    [`${'n'.repeat(201)}=1`, 400],
    ['', 400],
    [`image=${'A'.repeat(2 ** 20)}`, 413],
  ]
  for (const [text, expected] of wrong)
    assert.equal((await post('/v1/videos', text, type)).status, expected, text.slice(0, 50))
  for (const text of ['prompt=%FF', '&'.repeat(100_000), `${'n'.repeat(201)}=1`]) {
    const { error } = (await post('/v1/videos', text, type)).body
    assert.equal(error?.code, 'invalid_multipart', text.slice(0, 50))
  }
})

it('a wrong method is 405 with those that are right', async () => {
  const wrong: [method: string, path: string, allow: string][] = [
    ['PUT', '/v1/videos', 'POST, GET, HEAD'],
    ['POST', '/v1/videos/video_1', 'GET, HEAD, DELETE'],
    ['PATCH', '/v1/videos/video_1/?x=1', 'GET, HEAD, DELETE'],
    ['GET', '/v1/videos/video_1/remix', 'POST'],
    ['GET', '/v1/videos/generations', 'POST'],
    ['GET', '/v1/video/generations', 'POST'],
    ['PUT', '/v1/videos/edits', 'POST'],
    ['PUT', '/v1/videos/generations/', 'POST'],
    ['DELETE', '/v1/models/a/b', 'GET, HEAD'],
    ['OPTIONS', '/v1/models', 'GET, HEAD'],
    ['PUT', '/', 'GET, HEAD'],
  ]
  for (const [method, path, allow] of wrong) {
    const answer = await service.fetch(path, { method })
    const { error } = (await answer.json()) as Video
    assert.deepEqual([answer.status, error?.code], [405, 'method_not_allowed'], `${method} ${path}`)
    const allowed = answer.headers.get('allow') ?? ''
    assert.deepEqual(allowed.split(', ').toSorted(), allow.split(', ').toSorted(), path)
    assert.ok(error?.message.endsWith(` Use ${allowed.replace(/, (?=\w+$)/, ' or ')}.`), error?.message)
  }
  for (const path of ['/v1/nothing', '/v1/videos//x/y', '/v1/videos/characters'])
    assert.equal((await service.fetch(path, { method: 'PUT' })).status, 404, path)
})

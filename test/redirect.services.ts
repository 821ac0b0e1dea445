import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { openS3 } from '../src/buckets/index.ts'
import { authorization, type ContentServer, serveContent } from './content-server.ts'
import { startS3, type TestS3 } from './services/s3.ts'

let storage: TestS3
let server: ContentServer
let proxy: ContentServer

before(async () => {
  storage = await startS3()
  const bucket = await openS3({ ...storage, prefix: 'films', forcePathStyle: true })
  server = await serveContent(bucket, 'redirect')
  proxy = await serveContent(bucket, 'proxy')
})
after(async () => {
  await server.stop()
  await proxy.stop()
  await storage[Symbol.asyncDispose]()
})

const ask = (headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`${server.url}${server.path}`, { ...init, headers: { authorization, ...headers } })

it('a client that follows gets the video from the storage, whole or in parts', async () => {
  const whole = await ask()
  assert.ok(whole.redirected && whole.url.startsWith(storage.endpoint))
  assert.deepEqual([whole.status, whole.headers.get('content-type')], [200, 'video/mp4'])
  assert.match(whole.headers.get('content-disposition') ?? '', /^attachment; filename="video_0+\.mp4"$/)
  assert.ok(server.video.equals(Buffer.from(await whole.arrayBuffer())))
  const part = await ask({ range: 'bytes=-5' })
  assert.equal(part.status, 206)
  assert.ok(server.video.subarray(-5).equals(Buffer.from(await part.arrayBuffer())))
})

it('the redirect may be kept for less time than its link lives, and that no longer than the video', async () => {
  const times = async () => {
    const answer = await ask({}, { redirect: 'manual' })
    assert.equal(answer.status, 302)
    const { searchParams } = new URL(answer.headers.get('location') ?? '')
    return [searchParams.get('X-Amz-Expires'), answer.headers.get('cache-control')]
  }
  assert.deepEqual(await times(), ['600', 'private, max-age=300'])
  server.task.expiresAt = Date.now() + 99_500
  assert.deepEqual(await times(), ['99', 'private, max-age=49'])
})

it('our checks come first, and HEAD and conditions are answered here', async () => {
  const direct = (headers?: Record<string, string>, method = 'GET') => ask(headers, { method, redirect: 'manual' })
  assert.equal((await direct({ authorization: 'Bearer wrong' })).status, 401)
  assert.equal((await direct({ range: 'bytes=100000-' })).status, 416)
  assert.equal((await direct({ 'if-none-match': server.etag })).status, 304)
  const head = await direct({}, 'HEAD')
  assert.deepEqual(
    [head.status, head.headers.get('content-length'), head.headers.get('etag'), head.headers.get('location')],
    [200, '100000', server.etag, null],
  )
  server.task.state = 'running'
  assert.equal((await direct()).status, 404)
  server.task.state = 'completed'
  server.task.expiresAt = Date.now() - 1
  assert.equal((await direct()).status, 410)
})

it('as a proxy we send it from the storage, whole or in parts', async () => {
  const get = (headers: Record<string, string> = {}) =>
    fetch(`${proxy.url}${proxy.path}`, { headers: { authorization, ...headers } })
  assert.ok(proxy.video.equals(Buffer.from(await (await get()).arrayBuffer())))
  const part = await get({ range: 'bytes=250-259' })
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 250-259/100000'])
  assert.ok(proxy.video.subarray(250, 260).equals(Buffer.from(await part.arrayBuffer())))
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { startService, type TestService, token } from './service.ts'

let service: TestService
let path: string
let whole: Buffer
let etag: string

before(async () => {
  service = await startService()
  const task = (await (
    await service.submit({ model: 'studio', prompt: 'x', seconds: '1', size: '256x256' })
  ).json()) as { id: string }
  await service.finish(task.id)
  path = `/v1/videos/${task.id}/content`
  const answer = await service.fetch(path)
  whole = Buffer.from(await answer.arrayBuffer())
  etag = answer.headers.get('etag') ?? ''
})
after(() => service[Symbol.asyncDispose]())

const ask = (headers: Record<string, string>, method = 'GET') => service.fetch(path, { method, headers })
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

it('the whole video comes with its length, its type and a tag made of its bytes', async () => {
  const answer = await ask({})
  assert.equal(answer.headers.get('etag'), `"${createHash('sha256').update(whole).digest('hex')}"`)
  assert.equal(answer.headers.get('accept-ranges'), 'bytes')
  assert.equal(answer.headers.get('content-length'), String(whole.length))
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="video_[0-9a-f]{48}\.mp4"$/)
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
})

it('any Accept header gets the video', async () => {
  for (const accept of ['application/binary', 'application/json', 'image/png', '*/*'])
    assert.equal((await ask({ accept })).status, 200)
})

it('a range gives that part, a suffix the end, and the parts make the whole', async () => {
  const last = whole.length - 1
  const parts: [string, number, number][] = [
    ['bytes=0-99', 0, 99],
    ['bytes=100-', 100, last],
    ['bytes=-50', last - 49, last],
    [`bytes=${last}-${last + 1000}`, last, last],
  ]
  for (const [range, start, end] of parts) {
    const answer = await ask({ range })
    assert.deepEqual(
      [answer.status, answer.headers.get('content-range')],
      [206, `bytes ${start}-${end}/${whole.length}`],
    )
    assert.equal(answer.headers.get('content-length'), String(end - start + 1))
    assert.ok((await bytesOf(answer)).equals(whole.subarray(start, end + 1)), range)
  }
})

it('a range beyond the end is 416 and says how long the video is', async () => {
  const answer = await ask({ range: `bytes=${whole.length}-` })
  assert.deepEqual([answer.status, answer.headers.get('content-range')], [416, `bytes */${whole.length}`])
  assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'range_not_satisfiable')
})

it('a range that makes no sense is ignored', async () => {
  for (const range of ['bytes=9-1', 'bytes=x', 'bytes=0-1,3-4', 'frames=1-2', '']) {
    const answer = await ask({ range })
    assert.equal(answer.status, 200, range)
    assert.equal((await bytesOf(answer)).length, whole.length)
  }
})

it('If-None-Match answers 304 with no body, whatever the range', async () => {
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const answer = await ask({ 'if-none-match': tag, range: 'bytes=0-1' })
    assert.deepEqual([answer.status, (await bytesOf(answer)).length], [304, 0])
    assert.equal(answer.headers.get('etag'), etag)
  }
  assert.equal((await ask({ 'if-none-match': '"other"' })).status, 200)
})

it('If-Range gives the part of the same video and the whole of another', async () => {
  const modified = (await ask({})).headers.get('last-modified') ?? ''
  const status = async (condition: string) => (await ask({ range: 'bytes=0-1', 'if-range': condition })).status
  assert.deepEqual([await status(etag), await status(modified)], [206, 206])
  assert.deepEqual(
    [await status('"other"'), await status(`W/${etag}`), await status('Thu, 01 Jan 1970 00:00:00 GMT')],
    [200, 200, 200],
  )
})

it('a condition that the video does not meet is 412, and one that it meets changes nothing', async () => {
  const modified = (await ask({})).headers.get('last-modified') ?? ''
  const before = new Date(Date.parse(modified) - 1_000).toUTCString()
  const status = async (headers: Record<string, string>) => (await ask(headers)).status
  for (const tag of [etag, '*', `"x", ${etag}`]) assert.equal(await status({ 'if-match': tag }), 200, tag)
  for (const tag of ['"x"', `W/${etag}`, '']) assert.equal(await status({ 'if-match': tag }), 412, tag)
  assert.equal(await status({ 'if-unmodified-since': modified }), 200)
  assert.equal(await status({ 'if-unmodified-since': before }), 412)
  assert.equal(await status({ 'if-unmodified-since': 'soon' }), 200)
  // A tag counts more than a date.
  assert.equal(await status({ 'if-match': etag, 'if-unmodified-since': before }), 200)
  const refused = await ask({ 'if-match': '"x"' })
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'precondition_failed')
})

it('HEAD has the headers of GET and no body', async () => {
  const answer = await ask({}, 'HEAD')
  assert.deepEqual(
    [answer.status, answer.headers.get('content-length'), answer.headers.get('etag')],
    [200, String(whole.length), etag],
  )
  assert.equal((await bytesOf(answer)).length, 0)
  // Only GET has ranges.
  const part = await ask({ range: 'bytes=0-9' }, 'HEAD')
  assert.deepEqual([part.status, part.headers.get('content-length')], [200, String(whole.length)])
})

it('only the video itself can be asked for', async () => {
  assert.equal((await service.fetch(`${path}?variant=video`)).status, 200)
  const answer = await service.fetch(`${path}?variant=hologram`)
  assert.deepEqual(
    [answer.status, ((await answer.json()) as { error: { param: string } }).error.param],
    [400, 'variant'],
  )
})

it('after expires_at it is 410, the bytes are gone, a download in flight finishes, and the task still says when', async () => {
  let ahead = 0
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  await using short = await startService({ world: { clock: { now: () => Date.now() + ahead, sleep } } })
  const film = { model: 'studio', prompt: 'noise and rain over a city at night', seconds: '8', size: '1280x720' }
  const { id } = (await (await short.submit(film)).json()) as { id: string }
  const done = await short.finish(id)
  const slow = await slowDownload(`${short.url}/v1/videos/${id}/content`)
  ahead = 25 * 3_600_000
  const answer = await short.fetch(`/v1/videos/${id}/content`)
  assert.deepEqual(
    [answer.status, ((await answer.json()) as { error: { code: string } }).error.code],
    [410, 'video_expired'],
  )
  const gone = () =>
    readdirSync(join(short.data, 'bucket'), { recursive: true }).every((name) => !String(name).includes(id))
  while (!gone()) await sleep(20)
  const { bytes, expected } = await slow.rest()
  assert.equal(bytes, expected)
  assert.deepEqual(await short.finish(id), done)
})

/** Begins a download, and reads on only when the test says so. */
async function slowDownload(url: string) {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
    get(url, { headers: { authorization: `Bearer ${token}` } }, resolve),
  )
  response.pause()
  return {
    async rest() {
      let bytes = 0
      for await (const chunk of response) bytes += (chunk as Buffer).length
      return { bytes, expected: Number(response.headers['content-length']) }
    },
  }
}

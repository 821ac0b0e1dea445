import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { type Path, readOutline, readPath, videoAt } from './inline-video.ts'

const film = Uint8Array.from({ length: 50 }, (_, at) => (at * 37) % 256)
const base64 = Buffer.from(film).toString('base64')
const answer = JSON.stringify({
  name: 'a "quoted" \\ name, with ]}{[ in it: ünïcödé',
  data: 'bm90IHRoaXM=',
  steps: [{ type: 'thought', data: 'bm90IHRoaXM=' }, { content: [{ text: 'x' }, { type: 'video', data: base64 }] }],
  n: [1, [2, '3'], { a: null }],
})
const path: Path = ['steps', 1, 'content', 1, 'data']

/** A stream of these chunks, and whether it was cancelled. */
function streamOf(chunks: Iterable<Uint8Array>) {
  const next = chunks[Symbol.iterator]()
  const state = { cancelled: false }
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = next.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel() {
      state.cancelled = true
    },
  })
  return { stream, state }
}

function cut(text: string, ...places: number[]): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text)
  const ends = [0, ...places, bytes.length]
  return streamOf(ends.slice(1).map((end, at) => bytes.subarray(ends[at], end))).stream
}

async function filmIn(body: ReadableStream<Uint8Array>, at = path): Promise<Uint8Array> {
  const { body: bytes } = await videoAt(body, at)
  assert.ok(bytes)
  return Uint8Array.from(await buffer(bytes))
}

function* pieces(size: number, head: string, tail: string): Generator<Uint8Array> {
  yield Buffer.from(head)
  const some = Buffer.from(randomBytes(48 * 1024).toString('base64'))
  for (let at = 0; at < size; at += some.length) yield some
  yield Buffer.from(tail)
}

describe('a video inside JSON', () => {
  it('is read wherever the chunks are cut', async () => {
    const { length } = Buffer.from(answer)
    for (let at = 0; at <= length; at += 1) {
      assert.deepEqual(await filmIn(cut(answer, at)), film, `cut at ${at}`)
      assert.deepEqual(await readOutline(cut(answer, at)), { __proto__: null, ...JSON.parse(answer) })
    }
    const each = Array.from({ length }, (_, at) => at)
    assert.deepEqual(await filmIn(cut(answer, ...each)), film)
    assert.deepEqual(await readOutline(cut(answer, ...each)), { __proto__: null, ...JSON.parse(answer) })
  })

  it('may be written with escapes, without padding and between spaces', async () => {
    const shapes = [
      base64.replaceAll('/', '\\/').replaceAll('=', '\\u003d'),
      base64.replaceAll('=', ''),
      base64.replaceAll('+', '-').replaceAll('/', '_'),
    ]
    for (const shape of shapes) {
      const text = `\n{ "\\u0061" : [ {} , "y" , "${shape}" ] , "b" : 1 }`
      for (let at = 0; at <= text.length; at += 1) assert.deepEqual(await filmIn(cut(text, at), ['a', 2]), film)
    }
  })

  it('is cut off in a poll, however long it is', async () => {
    const { stream } = streamOf(pieces(20 * 2 ** 20, '{"done":true,"videos":[{"data":"', '","type":"video"}],"n":7}'))
    const { done, videos, n } = await readOutline(stream)
    const [{ data, type }] = videos as [{ data: string; type: string }]
    assert.deepEqual([done, type, n, data.length], [true, 'video', 7, 16_384])
  })

  it('keeps whole escapes and whole JSON where a string is cut off', async () => {
    for (let more = 0; more < 8; more += 1) {
      const text = `{"a":"${'x'.repeat(16_384 - more)}\\u003d\\"ü","b":1}`
      assert.equal((await readOutline(cut(text, 5))).b, 1)
    }
  })

  it('is streamed, with a few chunks in memory at most', async () => {
    const size = 24 * 2 ** 20
    let given = 0
    function* counted() {
      for (const piece of pieces(size, '{"v":"', '"}')) {
        given += piece.length
        yield piece
      }
    }
    const { body } = await videoAt(streamOf(counted()).stream, ['v'])
    assert.ok(body)
    let taken = 0
    for await (const chunk of body) {
      taken += chunk.length
      assert.ok(given - taken * (4 / 3) < 400_000, `${given} were read for ${taken}`)
    }
    assert.ok(taken >= (size / 4) * 3)
  })

  it('cancels the rest of the response, at its end and when its reader stops', async () => {
    const rest = ['{"v":"', base64, '","more":"', 'x'.repeat(9), '"}'].map((text) => Buffer.from(text))
    const read = streamOf(rest)
    await filmIn(read.stream, ['v'])
    assert.equal(read.state.cancelled, true)
    const left = streamOf(pieces(2 ** 20, '{"v":"', '"}'))
    const { body } = await videoAt(left.stream, ['v'])
    await body?.cancel()
    assert.equal(left.state.cancelled, true)
  })

  it('may be missing, incomplete or not base64', async () => {
    const gone = { code: 'output_unavailable', retryable: true }
    for (const text of ['{}', '', '[]', '{"steps":[]}', '{"v":{"v":"QUJD"}}', '{"v":7,"w":"QUJD"}', '{"v":""}'])
      await assert.rejects(filmIn(cut(text), ['v']), gone, text)
    await assert.rejects(videoAt(null, ['v']), gone)
    const unread = { code: 'provider_unavailable', retryable: true }
    for (const text of ['{"v":"QUJD', '{"v":"QU!D"}', '{"v":"\\x"}', '['.repeat(1_000)])
      await assert.rejects(filmIn(cut(text), ['v']), unread, text)
  })

  it('is not read from a response that is not JSON, or too long', async () => {
    const unread = { code: 'provider_unavailable', retryable: true }
    for (const text of ['', '{', '<h1>', '{"a":"b', '"\\']) await assert.rejects(readOutline(cut(text)), unread, text)
    await assert.rejects(readOutline(null), unread)
    for (const text of ['null', '[]', '7']) assert.deepEqual({ ...(await readOutline(cut(text))) }, {})
    const spaces = Buffer.alloc(65_536, ' ')
    function* endless() {
      yield Buffer.from('{}')
      while (true) yield spaces
    }
    const { stream, state } = streamOf(endless())
    await assert.rejects(readOutline(stream), unread)
    assert.equal(state.cancelled, true)
  })
})

it('a path is read from a stored output; an output without one is gone, and the task is polled again', () => {
  assert.deepEqual(readPath(JSON.parse(JSON.stringify(path))), path)
  for (const odd of [undefined, null, 'data', { 0: 'data' }, ['data', null]])
    assert.throws(() => readPath(odd), { code: 'output_unavailable', retryable: true })
})

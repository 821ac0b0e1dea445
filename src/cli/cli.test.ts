import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { readArguments, suggestion } from './arguments.ts'
import { findConnection } from './connection.ts'
import { isTransient, NetworkFailure, ServerFailure } from './failure.ts'
import { patiently } from './patience.ts'
import { quoted } from './program.ts'
import { networkFailure, retryAfterOf } from './response.ts'
import { fileNameOf, slug } from './slug.ts'
import { readTask } from './video.ts'

it('a prompt makes a file name of whole words, in any script', () => {
  assert.equal(slug('A red fox, in snow at dusk!'), 'a-red-fox-in-snow-at-dusk')
  assert.equal(slug('Crème brûlée / ../../etc/passwd'), 'creme-brulee-etc-passwd')
  assert.equal(slug('雪の中の赤い狐'), '雪の中の赤い狐')
  assert.equal(slug('?!'), 'film')
  assert.equal(slug('x'.repeat(99)).length, 40)
  assert.ok(slug('a very long prompt that goes on and on until nobody reads it').length <= 40)
  assert.equal(fileNameOf('a fox', 'video_01a1dd2c9cc9832ed0b9e63'), 'a-fox-0b9e63.mp4')
})

describe('the connection', () => {
  const of = (flags: object, env: Record<string, string>) => {
    const { baseUrl, token } = findConnection(flags, env)
    return `${baseUrl} ${token}`
  }
  it('uses the flags, then FILMGATE_*, then OPENAI_*', () => {
    const ours = { FILMGATE_BASE_URL: 'http://a:1', FILMGATE_TOKEN: 'fg' }
    const openai = { OPENAI_BASE_URL: 'https://b.example/v1/', OPENAI_API_KEY: 'sk' }
    assert.equal(
      of({ 'base-url': 'https://c.example/api', token: 't' }, { ...ours, ...openai }),
      'https://c.example/api t',
    )
    assert.equal(of({}, { ...ours, ...openai }), 'http://a:1/v1 fg')
    assert.equal(of({}, openai), 'https://b.example/v1 sk')
    assert.equal(of({}, { FILMGATE_TOKEN: 'fg' }), 'http://127.0.0.1:8484/v1 fg')
    assert.equal(of({ 'base-url': 'films.example' }, openai), 'https://films.example/v1 sk')
    assert.equal(of({ 'base-url': 'localhost:1/' }, openai), 'http://localhost:1/v1 sk')
  })
  it('never sends FILMGATE_TOKEN to OPENAI_BASE_URL', () => {
    assert.equal(
      of({}, { FILMGATE_TOKEN: 'fg', OPENAI_BASE_URL: 'https://b.example/v1' }),
      'http://127.0.0.1:8484/v1 fg',
    )
  })
  it('says what is missing or can not be used', () => {
    assert.throws(() => of({}, {}), { message: 'no token is set', exitCode: 2 })
    assert.throws(() => of({ token: 'x', 'base-url': 'ftp://x' }, {}), /is not a base URL/)
    assert.throws(() => of({ token: 'x\ny' }, {}), /can't be sent in a header/)
  })
})

it('a typo gets a suggestion, a different word does not', () => {
  const known = ['--model', '--seconds', '--size', '--seed', '--no-caption']
  assert.equal(suggestion('--sezonds', known), '; did you mean --seconds?')
  assert.equal(suggestion('--mdoel', known), '; did you mean --model?')
  assert.equal(suggestion('--no-cap', known), '; did you mean --no-caption?')
  assert.equal(suggestion('--verbose', known), '')
  const options = { size: { type: 'string' } } as const
  assert.throws(() => readArguments(['--size'], { options }), {
    exitCode: 2,
    message: /'--size <value>' argument missing/,
  })
})

it('a wait that a server asks for is honoured up to a minute', () => {
  const after = (headers: Record<string, string>) => retryAfterOf(new Headers(headers))
  assert.equal(after({}), null)
  assert.equal(after({ 'retry-after': '3' }), 3_000)
  assert.equal(after({ 'retry-after': '3600' }), 60_000)
  assert.equal(after({ 'retry-after-ms': '250', 'retry-after': '9' }), 250)
  const dates = { date: 'Sun, 15 Nov 2026 03:00:00 GMT', 'retry-after': 'Sun, 15 Nov 2026 03:00:07 GMT' }
  assert.equal(after(dates), 7_000)
  assert.equal(after({ 'retry-after': 'soon' }), null)
  assert.equal(after({ 'retry-after': '-5' }), 0)
})

it('a failure is called unsent only if that is certain', () => {
  const sent = (code: string) => networkFailure(new TypeError('', { cause: { code } }), '').sent
  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED'])
    assert.equal(sent(code), false)
  for (const code of ['ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE', 'UND_ERR_HEADERS_TIMEOUT', ''])
    assert.equal(sent(code), true)
})

it('a response that takes too long is called that, also if it stops in its body', async () => {
  await using server = createServer((_request, response) => void response.writeHead(200).write('{'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  // Ends when the headers have arrived, however long that takes.
  const patience = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}`, { signal: patience.signal })
  const failed = response.text().catch((thrown: unknown) => thrown)
  patience.abort(new DOMException('', 'TimeoutError'))
  const { message, sent } = networkFailure(await failed, 'http://x/v1')
  assert.deepEqual([message, sent], ['no response in time: http://x/v1', true])
  server.closeAllConnections()
})

describe('patience', () => {
  const refusal = (status: number, retryAfterMs: number | null = null) =>
    new ServerFailure('no', { status, code: null, param: null, requestId: null, retryAfterMs })
  async function waits(errors: unknown[]) {
    const slept: number[] = []
    let now = 0
    const sleep = async (ms: number) => {
      slept.push(ms)
      now += ms
    }
    const work = async () => {
      if (errors.length > 0) throw errors.shift()
    }
    const terminal = { now: () => now, sleep }
    await patiently(work, { terminal, signal: new AbortController().signal, onTrouble() {} })
    return slept
  }
  it('waits as told, else ever longer', async () => {
    const broken = new NetworkFailure('broken', { sent: true })
    assert.deepEqual(await waits([refusal(503), broken, refusal(429, 7_000), refusal(500)]), [500, 1_000, 7_000, 4_000])
  })
  it('pauses even if the server asks for no pause, or for one that is over', async () => {
    assert.deepEqual(await waits([refusal(429, 0), refusal(429, 0), refusal(429, 1)]), [500, 1_000, 2_000])
  })
  it('ends where waiting does not help, and after ten minutes', async () => {
    await assert.rejects(waits([refusal(404)]))
    await assert.rejects(waits(Array.from({ length: 99 }, () => refusal(503))))
    assert.equal(isTransient(new Error('ours')), false)
  })
})

it('tasks of other servers are read for what they say', () => {
  assert.equal(readTask({ id: 'x' }), undefined)
  assert.equal(readTask({ id: 'x', status: 'processing' })?.status, 'in_progress')
  assert.equal(readTask({ id: 'x', status: 'succeeded' })?.status, 'completed')
  const cancelled = readTask({ id: 'x', status: 'cancelled', seconds: 4 })
  assert.deepEqual([cancelled?.status, cancelled?.seconds], ['failed', '4'])
  assert.match(cancelled?.error?.message ?? '', /cancelled/)
  assert.equal(readTask({ id: 'x', status: 'failed', error: 'no' })?.error?.message, 'no')
  assert.equal(readTask({ id: 'x', status: 'queued', created_at: 1e300 })?.createdAt, null)
  assert.equal(readTask({ id: 'x\n  rm -r ~', status: 'queued' }), undefined)
})

it('the detail of a status becomes a sentence, and an unknown one is not shown', () => {
  const reasonOf = (status_detail: unknown) => readTask({ id: 'x', status: 'queued', status_detail })?.reason
  assert.equal(reasonOf('waiting_for_slot'), 'waiting for a free slot')
  assert.match(reasonOf('model_unavailable') ?? '', /^the model is unavailable/)
  for (const other of ['generating', 'toString', 'on_fire', 7, null, undefined]) assert.equal(reasonOf(other), null)
})

it('words are quoted for a shell', () => {
  assert.deepEqual(['fox.mp4', 'a fox.mp4', "it's"].map(quoted), ['fox.mp4', "'a fox.mp4'", `'it'\\''s'`])
})

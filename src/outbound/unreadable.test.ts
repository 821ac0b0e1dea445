import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { openOutbound, type UpstreamRequest } from '../outbound.ts'
import { dialLoopback as dial, listen, reply } from './loopback.fixture.ts'

/* Responses whose status can be read and whose body cannot. */

const never = new AbortController().signal
const job: UpstreamRequest = { method: 'POST', body: '{}' }
const open = { name: 'Problem', code: 'provider_unavailable', retryable: true }
const upstreamDeadlines = { headersMs: 300, bodyIdleMs: 300, totalMs: 5_000 }
const outboundOf = () => openOutbound({ dial, allow: [], resolve: async () => ['127.0.0.1'], upstreamDeadlines })

const cut = (status: number) => reply(status, { 'content-length': 1_000 }, '{"a":')
const spoilt: [title: string, answer: (status: number) => string][] = [
  ['is cut short', cut],
  ['has more than 4 MiB', (status) => reply(status, {}, 'x'.repeat(5 * 2 ** 20))],
  ['has broken gzip in it', (status) => reply(status, { 'content-encoding': 'gzip' }, 'abc')],
]

for (const [title, answer] of spoilt) {
  test(`a refusal whose body ${title} is returned by its status, another response leaves the outcome open`, async () => {
    let status = 0
    await using server = await listen(() => answer(status))
    await using outbound = outboundOf()
    const upstream = outbound.upstream(server.origin)
    for (status of [400, 401, 402, 403, 404, 413, 422, 429]) {
      const refusal = await upstream.send('/', job, never)
      assert.deepEqual([refusal.status, await refusal.text()], [status, ''])
      await assert.rejects(upstream.fetch('/', job, never), open)
    }
    for (status of [200, 302, 408, 409, 500, 503]) await assert.rejects(upstream.send('/', job, never), open)
  })
}

test('a refusal whose body hangs is returned by its status, unless the caller aborts first', async () => {
  const stop = new AbortController()
  await using server = await listen((path, socket) => {
    socket.write(cut(429))
    if (path === '/stop') setImmediate(() => stop.abort('enough'))
    return undefined
  })
  await using outbound = outboundOf()
  const upstream = outbound.upstream(server.origin)
  assert.equal((await upstream.send('/', job, never)).status, 429)
  await assert.rejects(upstream.send('/stop', job, stop.signal), (thrown) => thrown === 'enough')
})

test('the error for a response that is not JSON names the status and quotes none of the text', async () => {
  const bodies: [body: string, seen: RegExp][] = [
    ['{"x": sk-live-0123456789', /^Error: status 200 with a body that is not JSON$/],
    ['', /^Error: status 200 with an empty body$/],
  ]
  for (const [body, seen] of bodies) {
    await using server = await listen(() => reply(200, {}, body))
    await using outbound = outboundOf()
    const upstream = outbound.upstream(server.origin)
    for (const answer of [
      await upstream.send('/', job, never),
      await upstream.fetch('/', job, never),
      await upstream.download(`${server.origin}/`, {}, never),
    ])
      await assert.rejects(answer.json(), (thrown: Error & { code: string }) => {
        assert.doesNotMatch(inspect(thrown), /sk-l/)
        assert.match(String(thrown.cause), seen)
        return thrown.code === open.code
      })
  }
})

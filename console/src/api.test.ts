import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { ApiError, afterFailure, call, dataOf, overtake, queries, Unavailable } from './api.ts'

function respond(t: TestContext, status: number, body: string): void {
  t.mock.method(globalThis, 'fetch', async () => new Response(body, { status }))
}

const error = { message: 'The disk is full.', type: 'server_error', param: null, code: 'storage_unavailable' } as const

/** The words of the service, or null, if the request can be sent again; else the status. */
async function failureOf(path = '/v1/videos', timeoutMs = 1_000): Promise<string | number | null> {
  try {
    await call(path, { timeoutMs })
  } catch (thrown) {
    if (thrown instanceof Unavailable) return thrown.reason
    if (thrown instanceof ApiError) return thrown.status
    throw thrown
  }
  return assert.fail('it succeeded')
}

it('a service that can’t respond now says why, and a proxy in its place does not', async (t) => {
  respond(t, 503, JSON.stringify({ error }))
  assert.equal(await failureOf(), 'The disk is full.')
  for (const body of ['<h1>503</h1>', '', '{}', 'null']) {
    respond(t, 503, body)
    assert.equal(await failureOf(), null)
  }
  respond(t, 500, 'null')
  assert.equal(await failureOf(), 500)
})

it('what a proxy refuses in place of the service is not about the request', async (t) => {
  for (const status of [401, 403, 404]) {
    respond(t, status, '<h1>Sign in to the network</h1>')
    assert.equal(await failureOf(), null)
  }
  respond(t, 413, '<h1>Too large</h1>')
  assert.equal(await failureOf(), 413)
  respond(t, 404, JSON.stringify({ error }))
  assert.equal(await failureOf(), 404)
  // A service that was started again without its console.
  assert.equal(await failureOf('/console/session'), null)
  respond(t, 200, '{}')
  assert.equal(await failureOf('/console/session'), null)
})

it('a page of a proxy is not a response of the service', async (t) => {
  respond(t, 200, '<h1>Sign in to the network</h1>')
  assert.equal(await failureOf(), null)
})

it('a request that takes too long can be sent again', async (t) => {
  t.mock.method(globalThis, 'fetch', (_: string, { signal }: { signal: AbortSignal }) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  // A timer of a signal does not keep the process alive.
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  assert.equal(await failureOf('/v1/videos', 10), null)
})

const failed = (status: number) => new ApiError(status, { error })

it('only the first read of a page is thrown: one that fails later leaves what is shown', () => {
  assert.throws(() => dataOf({ data: undefined, error: failed(500) }), /The disk is full/)
  assert.equal(dataOf({ data: undefined, error: null }), undefined)
  assert.equal(dataOf({ data: 'shown', error: failed(500) }), 'shown')
  // A video that was deleted.
  assert.equal(dataOf({ data: null, error: failed(500) }), null)
})

it('what failed is read again, unless it would be refused again', () => {
  const isReadAgain = (thrown: Error | null) => afterFailure({ state: { error: thrown } }) !== false
  for (const passing of [failed(500), failed(429), new Unavailable(null)]) assert.ok(isReadAgain(passing))
  for (const lasting of [failed(400), failed(403), failed(404), null]) assert.ok(!isReadAgain(lasting))
})

it('a read that is older than an event does not replace it', async (t) => {
  t.after(() => queries.clear())
  const queryKey = ['/v1/videos/video_1']
  const read = Promise.withResolvers<string>()
  const reading = queries.fetchQuery({ queryKey, queryFn: () => read.promise }).catch(() => 'cancelled')
  await overtake(queryKey, 'completed')
  read.resolve('in_progress')
  assert.equal(await reading, 'cancelled')
  assert.equal(queries.getQueryData(queryKey), 'completed')
})

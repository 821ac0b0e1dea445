import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Bucket } from '../buckets/bucket.ts'
import { Problem } from '../core/problem.ts'
import type { Upstream } from '../outbound.ts'
import { measureBucket, measureUpstream } from './measured.ts'

const { signal } = new AbortController()

/** Notes what is counted, and the pauses of a request. */
function openUpstreamMeter() {
  const results: string[] = []
  const upstream = (account: string, call: string) => ({
    end: (result: string) => void results.push(`${account} ${call} ${result}`),
    pause() {
      results.push('paused')
      return () => void results.push('resumed')
    },
  })
  return { results, meter: { upstream } }
}

it('requests to a provider count by their status, or by what went wrong', async () => {
  const { results, meter } = openUpstreamMeter()
  const send = async (answer: number | Error) => {
    const fetch = async () => {
      if (answer instanceof Error) throw answer
      return new Response(null, { status: answer })
    }
    const upstream = measureUpstream('kling', { send: fetch, fetch, download: fetch } as Upstream, meter)
    return upstream.send('/', { method: 'POST' }, signal)
  }
  for (const status of [200, 429, 299, 555]) assert.equal((await send(status)).status, status)
  await assert.rejects(send(new Problem('provider_unreachable', 'no')), { code: 'provider_unreachable' })
  await assert.rejects(send(new Error('broken')), /broken/)
  assert.deepEqual(
    results.map((result) => result.replace('kling send ', '')),
    ['200', '429', '2xx', '5xx', 'unreachable', 'failed'],
  )
})

it('a commit before a request is sent is not the provider’s time, and its failure not the provider’s', async () => {
  const { results, meter } = openUpstreamMeter()
  const send: Upstream['send'] = async (_path, _init, _signal, departure) => {
    await departure?.ready()
    departure?.leave()
    return new Response()
  }
  const upstream = measureUpstream('kling', { send, fetch: send, download: send } as unknown as Upstream, meter)
  const sendWith = (ready: () => Promise<void>) =>
    upstream.send('/', { method: 'POST' }, signal, { ready, leave: () => void results.push('left') })
  await sendWith(async () => void results.push('committed'))
  assert.deepEqual(results.splice(0), ['paused', 'committed', 'resumed', 'left', 'kling send 200'])
  await assert.rejects(
    sendWith(() => Promise.reject(new Error('the disk is full'))),
    /the disk is full/,
  )
  assert.deepEqual(results.splice(0), ['paused', 'resumed'])
})

it('a request that was aborted does not count', async () => {
  const { results, meter } = openUpstreamMeter()
  const abort = new AbortController()
  const fetch = async () => {
    abort.abort()
    throw abort.signal.reason
  }
  const upstream = measureUpstream('kling', { send: fetch, fetch, download: fetch } as Upstream, meter)
  await assert.rejects(upstream.fetch('/', { method: 'GET' }, abort.signal), { name: 'AbortError' })
  assert.deepEqual(results, [])
})

it('operations of a bucket count by their result, and a bucket offers what it did before', async () => {
  const results: string[] = []
  const meter = { bucket: (operation: string) => (result: string) => void results.push(`${operation} ${result}`) }
  const bucket: Bucket = {
    put: () => Promise.reject(new Error('full')),
    open: async () => undefined,
    removeFolder: async () => {},
    checkWritable: () => Promise.reject(new Error('read-only')),
    link: async (key, { type }) => `${key} ${type}`,
  }
  const measured = measureBucket(bucket, meter)
  await assert.rejects(measured.put('a/b', [], signal), /full/)
  assert.equal(await measured.open('a/b'), undefined)
  await measured.removeFolder('a')
  await assert.rejects(measured.checkWritable(), /read-only/)
  assert.equal(await measured.link?.('a/b', { expiresInSeconds: 1, type: 'video/mp4' }), 'a/b video/mp4')
  assert.deepEqual(results, ['put failed', 'open missing', 'remove ok', 'check failed', 'link ok'])
  assert.deepEqual(Object.keys(measured).toSorted(), ['checkWritable', 'link', 'open', 'put', 'removeFolder'])
})

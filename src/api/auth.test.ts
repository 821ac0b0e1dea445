import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyRequest } from 'fastify'
import { openAccess } from '../access.ts'
import { digestSecret, type Token } from '../core/token.ts'
import { authenticate } from './auth.ts'

const token: Token = { kind: 'client', name: 'anna', digest: digestSecret('secret'), models: ['*'] }
const clock = { now: () => 0 }

it('knows a token in every spelling of its header, and remembers none of the odd ones', () => {
  const { identify: check } = authenticate(openAccess({ tokens: [token] }), 'client', { clock })
  const identify = (authorization: string) => {
    const request = { headers: { authorization } } as FastifyRequest
    check(request)
    return request.token.name
  }
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  for (let spaces = 1; spaces <= 3_000; spaces += 1)
    assert.equal(identify(`Bearer${' '.repeat(9_000 + spaces)}secret`), 'anna')
  collect()
  const grown = (process.memoryUsage().heapUsed - before) / 2 ** 20
  assert.ok(grown < 5, `${grown.toFixed(1)} MiB are still held`)
  for (const spelling of ['Bearer secret', 'bearer secret', 'BEARER  secret']) assert.equal(identify(spelling), 'anna')
})

it('accepts a token only as a whole: neither its beginning nor anything after it, also once it is known', () => {
  const { identify: check } = authenticate(openAccess({ tokens: [token] }), 'client', { clock, azure: true })
  const statusOf = (headers: Record<string, string>) => {
    try {
      check({ headers } as unknown as FastifyRequest)
      return 'accepted'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const wrong = ['secre', 'secrets', 'secret x', 's', 'Secret', 'ecret']
  // The second time the right header is in the cache.
  for (const _ of ['unknown', 'known']) {
    for (const secret of wrong) {
      assert.equal(statusOf({ authorization: `Bearer ${secret}` }), 'invalid_api_key', secret)
      assert.equal(statusOf({ 'api-key': secret }), 'invalid_api_key', secret)
    }
    for (const header of ['', 'B', 'Bearer', 'Bearer '])
      assert.equal(statusOf({ authorization: header }), 'invalid_api_key', `'${header}'`)
    assert.equal(statusOf({ authorization: 'Bearer secret' }), 'accepted')
    assert.equal(statusOf({ 'api-key': 'secret' }), 'accepted')
  }
})

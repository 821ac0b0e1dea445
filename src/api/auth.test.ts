import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyRequest } from 'fastify'
import { digestSecret, type Token } from '../core/token.ts'
import { authenticate } from './auth.ts'

const token: Token = { kind: 'client', name: 'anna', digest: digestSecret('secret'), models: ['*'] }

it('knows a token in every spelling of its header, and remembers none of the odd ones', () => {
  const check = authenticate(new Map([[token.digest, token]]), 'client')
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

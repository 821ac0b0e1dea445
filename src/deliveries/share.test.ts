import assert from 'node:assert/strict'
import { it } from 'node:test'
import { inAll, perHost, shareOut } from './share.ts'

const none = { busy: new Map<string, number>(), silent: new Set<string>() }
const endpoints = (count: number, host: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => ({ id: `e${at}`, host: host(at) }))
const sum = (claims: { limit: number }[]) => claims.reduce((total, { limit }) => total + limit, 0)

it('gives one endpoint what its host may have, and no more', () => {
  assert.deepEqual(shareOut([{ id: 'e', host: 'a' }], none), [{ endpoint: 'e', limit: perHost }])
  const busy = new Map([['a', perHost - 1]])
  assert.deepEqual(shareOut([{ id: 'e', host: 'a' }], { ...none, busy }), [{ endpoint: 'e', limit: 1 }])
  assert.deepEqual(shareOut([{ id: 'e', host: 'a' }], { ...none, busy: new Map([['a', perHost]]) }), [])
})

it('shares the places of a host among its endpoints, and all places among the hosts', () => {
  const ofOne = shareOut(
    endpoints(4, () => 'a'),
    none,
  )
  assert.deepEqual(
    ofOne.map(({ limit }) => limit),
    [2, 2, 2, 2],
  )
  const ofMany = shareOut(
    endpoints(100, (at) => `h${at}`),
    none,
  )
  assert.equal(sum(ofMany), inAll)
  assert.ok(ofMany.every(({ limit }) => limit === 1))
  assert.equal(
    sum(
      shareOut(
        endpoints(3, (at) => `h${at}`),
        { ...none, busy: new Map([['x', inAll - 2]]) },
      ),
    ),
    2,
  )
})

it('keeps half of all places for hosts that answer, however many do not', () => {
  const silent = new Set(Array.from({ length: 50 }, (_, at) => `h${at}`))
  const claims = shareOut([...endpoints(50, (at) => `h${at}`), { id: 'live', host: 'live' }], { ...none, silent })
  assert.equal(claims.find(({ endpoint }) => endpoint === 'live')?.limit, perHost)
  assert.equal(sum(claims) - perHost, inAll / 2)
  const full = new Map([...silent].slice(0, 4).map((host) => [host, perHost]))
  assert.deepEqual(
    shareOut(
      endpoints(50, (at) => `h${at}`),
      { busy: full, silent },
    ),
    [],
  )
})

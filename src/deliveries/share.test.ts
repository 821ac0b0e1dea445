import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openRotation } from '../core/shares.ts'
import { inAll, type OwnerHost, perHost, shareOut, type Traffic } from './share.ts'

const none: Traffic = { running: () => [], isSilent: () => false }
const pairs = (count: number, owner: string, host: string) => Array<OwnerHost>(count).fill({ owner, host })
const endpoints = (count: number, owner: string, host: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => ({ id: `${owner}${at}`, owner, host: host(at) }))
const share = (waiting: ReturnType<typeof endpoints>, traffic: Partial<Traffic> = {}, rotation = openRotation()) =>
  shareOut(waiting, { ...none, ...traffic }, rotation)
const sum = (claims: { endpoint: string; limit: number }[], of = '') =>
  claims.filter(({ endpoint }) => endpoint.startsWith(of)).reduce((total, { limit }) => total + limit, 0)

it('gives an owner half of the slots of a host, and another owner of the same host some at once', () => {
  const alice = endpoints(1, 'alice', () => 'relay')
  assert.deepEqual(share(alice), [{ endpoint: 'alice0', limit: perHost / 2 }])
  const running = () => pairs(perHost / 2, 'alice', 'relay')
  assert.deepEqual(share([...alice, ...endpoints(1, 'bob', () => 'relay')], { running }), [
    { endpoint: 'bob0', limit: perHost / 4 },
  ])
})

it('shares the slots of a host among the endpoints of an owner, and all slots among the hosts', () => {
  const ofOne = share(endpoints(4, 'alice', () => 'a'))
  assert.deepEqual(
    ofOne.map(({ limit }) => limit),
    [2, 2, 2, 2],
  )
  const ofMany = share(endpoints(100, 'alice', (at) => `h${at}`))
  assert.equal(sum(ofMany), inAll / 2)
  assert.ok(ofMany.every(({ limit }) => limit === 1))
})

it('has slots at once for an owner who comes when all of another’s endpoints are busy', () => {
  const alice = endpoints(16, 'alice', (at) => `h${at}`)
  const running = () => Array.from({ length: inAll / 2 }, (_, at) => ({ owner: 'alice', host: `h${at % 16}` }))
  const claims = share([...alice, ...endpoints(1, 'bob', () => 'live')], { running })
  assert.deepEqual([sum(claims, 'alice'), sum(claims, 'bob')], [0, perHost / 2])
})

it('gives the last slots to the owners who were served longest ago', () => {
  const rotation = openRotation()
  const owners = Array.from({ length: 2 * inAll }, (_, at) => `owner${at}.`)
  const waiting = owners.flatMap((owner) => endpoints(1, owner, () => owner))
  const served = () => {
    const claims = share(waiting, {}, rotation)
    const names = claims.map(({ endpoint }) => endpoint.replace(/0$/, ''))
    for (const name of names) rotation.serve(name)
    return names
  }
  assert.deepEqual([...served(), ...served()].sort(), owners.sort())
})

it('keeps half of all slots for hosts that respond, and shares the other half among owners, too', () => {
  const isSilent = ({ host }: OwnerHost) => host !== 'live'
  const silent = (owner: string) => endpoints(50, owner, (at) => `${owner}${at}`)
  const claims = share([...silent('alice'), ...endpoints(1, 'live', () => 'live')], { isSilent })
  assert.deepEqual([sum(claims, 'alice'), sum(claims, 'live')], [inAll / 4, perHost / 2])
  const running = () => Array.from({ length: inAll / 4 }, (_, at) => ({ owner: 'alice', host: `alice${at}` }))
  const next = share([...silent('alice'), ...silent('bob')], { isSilent, running })
  assert.deepEqual([sum(next, 'alice'), sum(next, 'bob')], [0, inAll / 8])
})

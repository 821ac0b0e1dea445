import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { buildBareApp } from '../test/bare-app.ts'
import { openAccess } from './access.ts'
import type { AppDependencies } from './api/app.ts'
import { authenticate } from './api/auth.ts'
import { loadConfig } from './config.ts'
import { manualClock } from './core/clock.fixture.ts'
import { digestSecret, idOf, plainFields, type StoredToken, type Token } from './core/token.ts'
import { openClaims } from './engine/claims.ts'
import { noHealths } from './engine/memory.fixture.ts'
import type { EngineOptions } from './engine/options.ts'
import type { Runs } from './engine/runs.ts'

const tokenOf = (secret: string, fields: Partial<Token> = {}): Token => ({
  kind: 'client',
  name: 'anna',
  digest: digestSecret(secret),
  models: ['*'],
  ...fields,
})

/** The API and the claims of one process, and the registry that both use. */
function openProcess() {
  const access = openAccess({ tokens: [tokenOf('of ben', { name: 'ben' })], ratePerMinute: 100 })
  const { catalog } = loadConfig({ flags: {}, env: { FILMGATE_CONFIG: '/dev/null' } })
  const clock = manualClock(0)
  const random = (count: number) => new Uint8Array(count)
  const log = { info() {}, warn() {}, error() {} }
  const app = buildBareApp({
    access,
    catalog,
    clock,
    random,
    log,
    store: {},
    bucket: {},
  } as unknown as AppDependencies)
  let caps = {}
  const store = {
    async claimQueued(wanted: { ownerCaps: object }) {
      caps = wanted.ownerCaps
      return { tasks: [], nextDue: null }
    },
  }
  const tools = { catalog, accounts: new Map() }
  const queue = { worker: { limit: 1 }, where: 'queue', lagMs: 0 }
  const claim = openClaims({ access, store, tools, clock, random, healths: noHealths } as unknown as EngineOptions, {
    lanes: {
      all: [queue as never],
      extend: async () => {},
      storingOf: () => undefined,
      nextDues: async () => new Map(),
    },
    runs: { active: new Set(), renewedAt: 0 } as unknown as Runs,
    mayClaim: () => true,
  })
  return {
    access,
    clock,
    /** The models that a request with this secret sees. */
    async read(secret: string) {
      const { statusCode, headers, body } = await app.inject({ url: '/v1/models', headers: asBearer(secret) })
      const rates = ['limit', 'remaining'].map((name) => headers[`x-ratelimit-${name}-requests`])
      if (statusCode !== 200) return { status: statusCode }
      const models = (JSON.parse(body) as { data: { id: string }[] }).data.map(({ id }) => id)
      return { status: statusCode, rates, hasStudio: models.includes('studio') }
    },
    /** An invalid request, which counts for the rate. */
    submit: (secret: string) =>
      app.inject({ method: 'POST', url: '/v1/videos', headers: asBearer(secret), payload: {} }),
    async claimedCaps() {
      await claim()
      return caps
    },
  }
}

function asBearer(secret: string) {
  return { authorization: `Bearer ${secret}` }
}

it('a token that is added is valid at once, and unknown as soon as it is removed', async () => {
  const { access, read, claimedCaps } = openProcess()
  const token = tokenOf('secret', { concurrency: 2 })
  assert.deepEqual(await read('secret'), { status: 401 })
  assert.deepEqual([access.knows('anna'), await claimedCaps()], [false, {}])
  for (const _ of ['added', 'added again']) {
    access.change({ set: [token] })
    // The second time its header is in the cache.
    for (const _ of ['unknown', 'known']) assert.equal((await read('secret')).status, 200)
    assert.deepEqual([access.knows('anna'), await claimedCaps()], [true, { anna: 2 }])
    access.change({ remove: [idOf(token)] })
    assert.deepEqual(await read('secret'), { status: 401 })
    assert.deepEqual([access.knows('anna'), await claimedCaps()], [false, {}])
  }
  assert.equal((await read('of ben')).status, 200)
})

it('a change of what a token may do is in force at once', async () => {
  const { access, read, claimedCaps } = openProcess()
  access.change({ set: [tokenOf('secret')] })
  assert.deepEqual(await read('secret'), { status: 200, rates: ['100', '100'], hasStudio: true })
  access.change({ set: [tokenOf('secret', { models: ['other'], rate: 7, concurrency: 1 })] })
  assert.deepEqual(await read('secret'), { status: 200, rates: ['7', '7'], hasStudio: false })
  assert.deepEqual(await claimedCaps(), { anna: 1 })
  access.change({ set: [tokenOf('secret', { rate: 0, concurrency: 3 })] })
  assert.deepEqual(await read('secret'), { status: 200, rates: [undefined, undefined], hasStudio: true })
  assert.deepEqual(await claimedCaps(), { anna: 3 })
})

it('a new secret replaces the old one, and takes over what is left of the rate', async () => {
  const { access, read, submit } = openProcess()
  const old = tokenOf('old', { rate: 5 })
  access.change({ set: [old] })
  await submit('old')
  access.change({ set: [tokenOf('new', { rate: 5 })] })
  assert.deepEqual(await read('old'), { status: 401 })
  assert.deepEqual((await read('new')).rates, ['5', '4'])
})

it('an operator token is valid for the operator alone, until it is removed', async () => {
  const { access, read, claimedCaps } = openProcess()
  const { identify } = authenticate(access, 'operator', { clock: { now: () => 0 } })
  const isOperator = () => {
    try {
      identify({ headers: asBearer('secret') } as FastifyRequest)
      return true
    } catch {
      return false
    }
  }
  const operator = tokenOf('secret', { kind: 'operator', name: 'operator', concurrency: 1 })
  access.change({ set: [operator] })
  assert.deepEqual([isOperator(), await read('secret'), access.knows('operator')], [true, { status: 401 }, false])
  access.change({ remove: [idOf(operator)] })
  assert.deepEqual([isOperator(), await claimedCaps()], [false, {}])
})

it('a process that never had a client token knows every owner, and one that lost its last knows none', () => {
  const access = openAccess()
  access.change({ set: [tokenOf('of an operator', { kind: 'operator', name: 'operator' })] })
  assert.ok(access.knows('anna'))
  const token = tokenOf('secret')
  access.change({ set: [token] })
  access.change({ remove: [idOf(token)] })
  assert.ok(!access.knows('anna'))
})

const stored = (secret: string, fields: Partial<StoredToken> = {}): StoredToken => ({
  ...{ ...plainFields, ...tokenOf(secret), id: `tok_${'0'.repeat(19)}1`, older: [] },
  ...{ createdAt: 1, changedAt: 1, revokedAt: null, revision: 1, ...fields },
})

it('a token is accepted only while it is enabled, not expired and not revoked', async () => {
  const { access, read, clock } = openProcess()
  const statusOf = async () => (await read('secret')).status
  const steps: [fields: Partial<StoredToken>, status: number][] = [
    [{}, 200],
    [{ enabled: false }, 401],
    [{ enabled: true, expiresAt: 5_000 }, 200],
    [{ expiresAt: null, revokedAt: 3 }, 401],
  ]
  for (const [at, [fields, status]] of steps.entries()) {
    access.change({ set: [stored('secret', { ...fields, revision: at + 1 })] })
    // The second time its header is in the cache.
    for (const _ of ['unknown', 'known']) assert.equal(await statusOf(), status, JSON.stringify(fields))
    assert.equal(access.knows(stored('secret').id), fields.revokedAt === undefined)
  }
  access.change({ set: [stored('secret', { expiresAt: 5_000, revision: 9 })] })
  assert.equal(await statusOf(), 200)
  clock.advance(4_999)
  assert.equal(await statusOf(), 200)
  clock.advance(1)
  assert.equal(await statusOf(), 401)
})

it('after a rotation the old secret is accepted until its time, and the new one goes on', async () => {
  const { access, read, clock } = openProcess()
  access.change({ set: [stored('old', { rate: 5 })] })
  const older = [{ digest: digestSecret('old'), until: 1_000 }]
  access.change({ set: [stored('new', { older, rate: 5, revision: 2 })] })
  assert.deepEqual([(await read('old')).status, (await read('new')).status], [200, 200])
  clock.advance(1_000)
  assert.deepEqual([(await read('old')).status, (await read('new')).status], [401, 200])
})

it('a change that was read before a later one, and arrives after it, changes nothing', async () => {
  const { access, read } = openProcess()
  access.change({ set: [stored('secret', { revokedAt: 2, revision: 2 })] })
  access.change({ set: [stored('secret')] })
  assert.equal((await read('secret')).status, 401)
})

it('a configured token wins over one of the store with its name, and over one with its secret', async () => {
  const { access, read } = openProcess()
  access.change({ set: [stored('stored', { name: 'ben' }), stored('of ben', { id: 'tok_2' })] })
  assert.deepEqual([(await read('stored')).status, (await read('of ben')).status], [401, 200])
  assert.equal(access.find(digestSecret('of ben'))?.token.id, undefined)
  access.change({ remove: ['config:ben'] })
  assert.equal((await read('stored')).status, 200)
})

it('the tokens of a project share its tasks: the largest cap applies, and none if one token has none', async () => {
  const { access, claimedCaps } = openProcess()
  const tokens = [2, 5].map((concurrency, at) => stored(`${at}`, { id: `tok_${at}`, project: 'shop', concurrency }))
  access.change({ set: tokens })
  assert.deepEqual(await claimedCaps(), { shop: 5 })
  access.change({ set: [stored('2', { id: 'tok_2', project: 'shop' })] })
  assert.deepEqual(await claimedCaps(), {})
  access.change({ set: [stored('2', { id: 'tok_2', project: 'shop', revokedAt: 1, revision: 2 })] })
  assert.deepEqual(await claimedCaps(), { shop: 5 })
})

it('a token that is disabled or has expired neither lifts nor lowers the cap of its project', async () => {
  const { access, clock, claimedCaps } = openProcess()
  const of = (id: string, fields: Partial<StoredToken>) => stored(id, { id: `tok_${id}`, project: 'shop', ...fields })
  access.change({ set: [of('a', { concurrency: 2 }), of('b', { expiresAt: 500 }), of('c', { enabled: false })] })
  assert.deepEqual(await claimedCaps(), {}, 'a token without a cap is active')
  clock.advance(500)
  assert.deepEqual(await claimedCaps(), { shop: 2 })
  access.change({ set: [of('d', { concurrency: 9, expiresAt: 800 })] })
  assert.deepEqual(await claimedCaps(), { shop: 9 })
  clock.advance(300)
  assert.deepEqual(await claimedCaps(), { shop: 2 })
  access.change({ set: [of('a', { concurrency: 2, enabled: false, revision: 2 })] })
  assert.deepEqual(await claimedCaps(), { shop: 2 }, 'no token is active, and the tasks that are left stay limited')
})

it('a worker without client tokens in its configuration knows every owner whose tokens are not all revoked', () => {
  const access = openAccess({ isPartial: true, tokens: [stored('a'), stored('b', { id: 'tok_b', revokedAt: 1 })] })
  assert.deepEqual(
    ['config of another process', stored('a').id, 'tok_b'].map((owner) => access.knows(owner)),
    [true, true, false],
  )
})

it('many wrong secrets from one address are slowed down, and a valid token is not', async () => {
  const { read, clock } = openProcess()
  for (let count = 0; count < 20; count += 1) assert.equal((await read(`wrong ${count}`)).status, 401)
  let isRefused = false
  const late = read('wrong again').then(({ status }) => {
    isRefused = true
    return status
  })
  assert.equal((await read('of ben')).status, 200)
  assert.ok(!isRefused)
  clock.advance(3_000)
  assert.equal(await late, 401)
})

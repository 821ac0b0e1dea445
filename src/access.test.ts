import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { openAccess } from './access.ts'
import { type AppDependencies, buildApp } from './api/app.ts'
import { authenticate } from './api/auth.ts'
import { loadConfig } from './config.ts'
import { manualClock } from './core/clock.fixture.ts'
import { digestSecret, type Token } from './core/token.ts'
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
  const app = buildApp({
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
    access.change({ remove: [token.digest] })
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
  access.change({ set: [tokenOf('new', { rate: 5 })], remove: [old.digest] })
  assert.deepEqual(await read('old'), { status: 401 })
  assert.deepEqual((await read('new')).rates, ['5', '4'])
})

it('an operator token is valid for the operator alone, until it is removed', async () => {
  const { access, read, claimedCaps } = openProcess()
  const { identify } = authenticate(access, 'operator')
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
  access.change({ remove: [operator.digest] })
  assert.deepEqual([isOperator(), await claimedCaps()], [false, {}])
})

it('a process that never had a client token knows every owner, and one that lost its last knows none', () => {
  const access = openAccess()
  access.change({ set: [tokenOf('of an operator', { kind: 'operator', name: 'operator' })] })
  assert.ok(access.knows('anna'))
  const token = tokenOf('secret')
  access.change({ set: [token] })
  access.change({ remove: [token.digest] })
  assert.ok(!access.knows('anna'))
})

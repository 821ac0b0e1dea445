import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openDiscovery } from './accounts/discovery.ts'
import { type AccountOptions, openAccounts } from './accounts.ts'
import type { AccountConfig } from './config/accounts.ts'
import { buildCatalog, type CardTemplate } from './core/catalog.ts'
import { manualClock } from './core/clock.fixture.ts'
import { type Health, healthy } from './core/health.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-accounts-'))
after(() => rmSync(folder, { recursive: true }))
const paused: Health = { failures: 1, pausedUntil: 60_000, reason: 'busy' }

/** A registry whose engines have these models. */
function openRegistry(models: readonly string[] = [], showsLocal = true) {
  const discover = async () => models.map((id) => ({ id, upstreamModel: id }) as CardTemplate)
  const member = { create: async () => ({ name: 'engine', discover }) }
  const outbound = { upstream: () => ({}) }
  return openAccounts({
    members: { engine: member },
    folder: '',
    media: {},
    outbound,
    showsLocal,
  } as unknown as AccountOptions)
}

function configOf(name: string, fields: Partial<AccountConfig> = {}): AccountConfig {
  const about = { name, provider: 'engine', concurrency: 1, onUnknown: 'hold' } as const
  return { ...about, baseUrl: 'http://engine.test', credential: 'key', ...fields }
}

it('the maps show an added, changed or removed account at once', async () => {
  const accounts = openRegistry()
  const { all, shown } = accounts
  await accounts.change({ set: [configOf('a'), configOf('b')] })
  assert.deepEqual(
    [[...all.keys()], [...shown.keys()]],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
  )
  await accounts.change({ set: [configOf('a', { concurrency: 9 })], remove: ['b'] })
  assert.deepEqual([[...all.keys()], all.get('a')?.concurrency, shown.get('a')], [['a'], 9, all.get('a')])
  await assert.rejects(
    accounts.change({ set: [configOf('c', { provider: 'none' })], remove: ['a'] }),
    /no provider 'none'/,
  )
  assert.deepEqual([...all.keys()], ['a'], 'a change that fails changes nothing')
})

it('a changed account keeps its pause only while it keeps its address and key', async () => {
  const accounts = openRegistry()
  const healthAfter = async (fields: Partial<AccountConfig>) => {
    await accounts.change({ set: [configOf('a')] })
    const account = accounts.all.get('a')
    assert.ok(account)
    account.health = paused
    await accounts.change({ set: [configOf('a', fields)] })
    return accounts.all.get('a')?.health
  }
  assert.equal(await healthAfter({ concurrency: 2 }), paused)
  assert.equal(await healthAfter({ credential: 'another' }), healthy)
  assert.equal(await healthAfter({ baseUrl: 'http://other.test' }), healthy)
  // The response to a request that was sent before the change.
  const pausedLater = async (fields: Partial<AccountConfig>) => {
    await accounts.change({ remove: ['a'] })
    await accounts.change({ set: [configOf('a')] })
    const before = accounts.all.get('a')
    assert.ok(before)
    await accounts.change({ set: [configOf('a', fields)] })
    before.health = paused
    return accounts.all.get('a')?.health
  }
  assert.equal(await pausedLater({ concurrency: 2 }), paused)
  assert.equal(await pausedLater({ credential: 'another' }), healthy)
})

it('a process that only serves the API does not show its own accounts', async () => {
  const accounts = openRegistry([], false)
  await accounts.change({ set: [configOf('studio@1'), configOf('a')] })
  assert.deepEqual([[...accounts.all.keys()], [...accounts.shown.keys()]], [['studio@1', 'a'], ['a']])
})

it('the models of an added account are discovered, and those of a removed account are gone', async () => {
  const models = ['first']
  const accounts = openRegistry(models)
  const catalog = buildCatalog([], {}, null)
  const clock = manualClock(0)
  const log = { info() {}, warn: assert.fail, error: assert.fail }
  await using _discovery = await openDiscovery({ catalog, accounts, clock, log, file: join(folder, 'models') })
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    return [...catalog.entries.keys()]
  }
  assert.deepEqual(await settle(), [])
  await accounts.change({ set: [configOf('a')] })
  assert.deepEqual(await settle(), ['first'])
  models.push('second')
  clock.advance(60_000)
  assert.deepEqual(await settle(), ['first', 'second'])
  await accounts.change({ remove: ['a'] })
  models.push('third')
  clock.advance(60_000)
  assert.deepEqual(await settle(), [])
})

it('an account at another address has the models of that address only', async () => {
  const models: Record<string, string[]> = { 'http://one.test': ['first'], 'http://two.test': ['second'] }
  const discover = async ({ address }: { address: string }) => {
    const names = models[address]
    if (!names) throw new Error('the engine is down')
    return names.map((id) => ({ id, upstreamModel: id }) as CardTemplate)
  }
  const accounts = openAccounts({
    members: { engine: { create: async () => ({ name: 'engine', discover }) } },
    folder: '',
    media: {},
    outbound: { upstream: (address: string) => ({ address }) },
    showsLocal: true,
  } as unknown as AccountOptions)
  const catalog = buildCatalog([], {}, null)
  const log = { info() {}, warn() {}, error: assert.fail }
  const file = join(folder, 'models by address')
  await using _discovery = await openDiscovery({ catalog, accounts, clock: manualClock(0), log, file })
  const modelsAt = async (baseUrl: string) => {
    await accounts.change({ set: [configOf('a', { baseUrl })] })
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    return [...catalog.entries.keys()]
  }
  assert.deepEqual(await modelsAt('http://one.test'), ['first'])
  assert.deepEqual(await modelsAt('http://two.test'), ['second'], 'at once')
  assert.deepEqual(await modelsAt('http://down.test'), [])
  // Added again, at an address whose engine is down: the models of another address do not come back.
  await accounts.change({ remove: ['a'] })
  models['http://two.test'] = []
  delete models['http://one.test']
  assert.deepEqual(await modelsAt('http://down.test'), [])
  assert.deepEqual(await modelsAt('http://two.test'), ['second'], 'those that were found there, until it lists others')
})

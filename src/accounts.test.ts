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

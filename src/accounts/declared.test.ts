import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, remote } from '../config/load.fixture.ts'
import { manualClock } from '../core/clock.fixture.ts'
import type { Declaration } from '../core/declaration.ts'
import { Problem } from '../core/problem.ts'
import { newDeclaration } from '../stores/contract/declarations.ts'
import { followDeclared, openDeclared } from './declared.ts'

const acme = { ...remote.acme, baseUrl: 'https://acme.test', key: { variable: 'ACME_KEY' } }
const members = { acme, openai: { ...remote.acme, cards: [] } } as never

/** What the registry of accounts is told, and the catalogue. */
function openWorld(yaml = '{}') {
  const { combining, accounts: configured, catalog } = load(yaml, {}, {}, members)
  const accounts = new Map(configured.map(({ name }) => [name, 'active']))
  const hidden: string[] = []
  const warnings: unknown[] = []
  let checks = 0
  const declared = openDeclared({
    combining: {
      ...combining,
      combine(declared) {
        checks += 1
        return combining.combine(declared)
      },
    },
    configured: { accounts: configured, catalog: { ...catalog, entries: new Map(catalog.entries) } },
    localise: (combined) => combined,
    accounts: {
      async change({ set = [], remove = [] }) {
        for (const { name, mode = 'active', concurrency } of set) accounts.set(name, `${mode} ${concurrency}`)
        for (const name of remove) accounts.delete(name)
      },
    },
    catalog,
    hide: (secrets) => void hidden.push(...secrets),
    warn: (_event, { declaration, why }) => void warnings.push([declaration, why]),
  })
  const shown = () => Object.fromEntries(accounts)
  const names = () => [...catalog.entries.keys()]
  return { declared, catalog, shown, hidden, warnings, names, checks: () => checks }
}

const account = (name: string, revision: number, fields: Partial<Declaration> = {}) =>
  newDeclaration(name, { settings: { provider: 'acme' }, key: `key of ${name}`, revision, ...fields })
const model = (name: string, of: string, revision: number, fields: Partial<Declaration> = {}) =>
  newDeclaration(name, { kind: 'model', settings: { account: of, model: 'one' }, revision, ...fields })

function refusalOf(work: () => void): Problem {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Problem, String(error))
    return error
  }
  return assert.fail('it was not refused')
}

it('puts accounts, models and aliases in force, and takes them out again', async () => {
  const { declared, shown, names, hidden, warnings } = openWorld()
  const alias = newDeclaration('quick', { kind: 'alias', settings: { model: 'fast' }, revision: 3 })
  await declared.adopt([account('main', 1), model('fast', 'main', 2), alias])
  assert.deepEqual(shown(), { main: 'active 4' })
  assert.deepEqual(names(), ['acme-1', 'fast', 'quick'])
  assert.deepEqual([hidden, declared.configOf('main')?.credential], [['key of main'], 'key of main'])
  const changed = account('main', 4, { mode: 'paused', settings: { provider: 'acme', concurrency: 9 } })
  await declared.adopt([changed])
  assert.deepEqual(shown(), { main: 'paused 9' })
  const gone = { removedAt: 9, key: null }
  await declared.adopt([{ ...alias, ...gone, revision: 5 }, model('fast', 'main', 6, gone), account('main', 7, gone)])
  assert.deepEqual([shown(), names()], [{}, []])
  assert.deepEqual([declared.all('account'), declared.find('account', 'main')?.revision, warnings], [[], 7, []])
})

it('ignores rows that are older than those it knows', async () => {
  const { declared, shown } = openWorld()
  await declared.adopt([account('main', 2, { mode: 'draining' })])
  await declared.adopt([account('main', 1)])
  assert.deepEqual(shown(), { main: 'draining 4' })
})

it('the configuration wins over a declaration of the same name, which is shown as not in force', async () => {
  const { declared, shown, warnings } = openWorld('accounts: { main: { provider: acme, key: x } }')
  const mine = account('main', 1, { settings: { provider: 'acme', concurrency: 50 } })
  await declared.adopt([mine, account('other', 2)])
  assert.deepEqual(shown(), { main: 'active', other: 'active 4' })
  assert.match(declared.whyUnused(mine) ?? '', /the configuration has the same account/)
  assert.deepEqual(warnings, [['account:main', 'the configuration has the same account']])
  assert.ok(declared.isConfigured('account', 'main'))
})

it('what has a mistake is left out, with what depends on it, and the rest is in force', async () => {
  const { declared, shown, names, warnings } = openWorld()
  const bad = account('bad', 1, { settings: { provider: 'nobody' } })
  const orphan = model('lost', 'bad', 2)
  await declared.adopt([bad, orphan, account('main', 3), model('fast', 'main', 4)])
  assert.deepEqual([shown(), names()], [{ main: 'active 4' }, ['acme-1', 'fast']])
  assert.match(declared.whyUnused(bad) ?? '', /there is no provider 'nobody'/)
  assert.match(declared.whyUnused(orphan) ?? '', /there is no account 'bad'/)
  await declared.adopt([account('main', 5, { mode: 'paused' })])
  assert.equal(warnings.length, 2, 'each is logged once')
})

it('many mistakes are found with few checks of everything', async () => {
  const { declared, names, warnings, checks } = openWorld()
  const lost = Array.from({ length: 200 }, (_, at) => model(`lost-1.${at}`, 'gone', 10 + at))
  const aliases = Array.from({ length: 200 }, (_, at) =>
    newDeclaration(`alias-${at}`, { kind: 'alias', settings: { model: `lost-1.${at}` }, revision: 300 + at }),
  )
  await declared.adopt([account('main', 1), model('fast', 'main', 2), ...lost, ...aliases])
  assert.deepEqual([names(), warnings.length], [['acme-1', 'fast'], 400])
  assert.ok(checks() < 10, `${checks()} checks`)
})

it('of two that do not go together, the second is left out', async () => {
  const { declared, shown } = openWorld()
  const engine = { settings: { provider: 'openai', base_url: 'http://engine.test/v1' }, key: 'the same' }
  const two = account('two', 2, engine)
  await declared.adopt([account('one', 1, engine), two, account('main', 3)])
  assert.deepEqual(shown(), { main: 'active 4', one: 'active 4' })
  assert.match(declared.whyUnused(two) ?? '', /'one' and 'two' have the same address and the same key/)
})

it('refuses more than a thousand, and names that number', async () => {
  const { declared } = openWorld()
  const alias = (at: number) =>
    newDeclaration(`alias-${at}`, { kind: 'alias', settings: { model: 'fast' }, revision: 10 + at })
  const aliases = Array.from({ length: 998 }, (_, at) => alias(at))
  await declared.adopt([account('main', 1), model('fast', 'main', 2), ...aliases])
  const refused = refusalOf(() => declared.check(alias(998)))
  assert.equal(refused.code, 'invalid_request')
  assert.match(refused.message, /'alias-998' can't be added: there are 1000 accounts, models and aliases/)
  declared.check(alias(5))
  declared.check({ ...alias(5), removedAt: 9 })
  await declared.adopt([{ ...alias(5), removedAt: 9, revision: 2_000 }])
  declared.check(alias(998))
})

it('checks a change before it is written', async () => {
  const { declared } = openWorld()
  await declared.adopt([account('main', 1), model('fast', 'main', 2)])
  declared.check(account('other', 0))
  const wrong = refusalOf(() => declared.check(account('other', 0, { key: null })))
  assert.deepEqual([wrong.code, wrong.param], ['invalid_value', 'key'])
  assert.match(wrong.message, /^accounts\.other\.key: it is missing; send the key of the provider\.$/)
  const used = refusalOf(() => declared.check(account('main', 1, { removedAt: 9, key: null })))
  assert.equal(used.code, 'invalid_request')
  assert.match(used.message, /'main' can't be removed, because it is used\. models\.fast\.account: there is no account/)
  declared.check(model('fast', 'main', 2, { removedAt: 9 }))
})

it('follows what another process declares, at a message or half a second later', async () => {
  const { declared, shown } = openWorld()
  const clock = manualClock()
  let rows: Declaration[] = []
  let ring = () => {}
  const store = {
    declarations: async (since = 0) => rows.filter(({ revision }) => revision > since),
    onDeclarations(listener: () => void) {
      ring = listener
      return () => {}
    },
  }
  const settled = async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
  }
  await using _following = followDeclared(store, declared, {
    clock,
    since: 0,
    log: { info: assert.fail, warn: assert.fail, error: assert.fail },
  })
  rows = [account('main', 1)]
  ring()
  await settled()
  assert.deepEqual(shown(), { main: 'active 4' })
  rows = [account('main', 2, { mode: 'paused' })]
  clock.advance(500)
  await settled()
  assert.deepEqual(shown(), { main: 'paused 4' })
})

it('names the models that could not be generated without an account or a model', async () => {
  const { declared, catalog } = openWorld()
  const [main, fast] = [account('main', 1), model('fast', 'main', 2)]
  await declared.adopt([main, account('other', 3), fast])
  const card = catalog.entries.get('fast')?.card
  assert.ok(card)
  // As discovery does.
  catalog.entries.set('found', { name: 'found', card: { ...card, id: 'found' } })
  assert.deepEqual(declared.modelsWithout(fast), ['fast'])
  assert.deepEqual(declared.modelsWithout(main), ['fast', 'found'])
  await declared.adopt([account('other', 4, { removedAt: 9, key: null })])
  assert.deepEqual(declared.modelsWithout(main), ['acme-1', 'fast', 'found'])
})

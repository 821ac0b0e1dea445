import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, remote } from './load.fixture.ts'

const members = { acme: { ...remote.acme, baseUrl: 'https://acme.test', key: { variable: 'ACME_KEY' } } } as never
const none = { accounts: {}, models: {}, aliases: {} }
const main = { provider: 'acme', key: 'a-key' }

function combine(declared: Partial<typeof none>, yaml = '{}', env = {}) {
  return load(yaml, env, {}, members).combining.combine({ ...none, ...declared })
}

it('adds accounts, models and aliases to those of the file, by the same rules', () => {
  const yaml = 'accounts: { filed: { provider: acme, key: x } }\naliases: { one: acme-1 }'
  const { accounts, catalog, mistakes } = combine(
    {
      accounts: { main: { ...main, concurrency: 7, base_url: 'https://other.test/v1' } },
      models: { fast: { account: 'main', model: 'one', seconds: { values: [4] } } },
      aliases: { quick: 'fast' },
    },
    yaml,
  )
  assert.deepEqual(mistakes, [])
  assert.deepEqual(
    accounts.map(({ name, concurrency, source }) => [name, concurrency, source]),
    [
      ['filed', 4, undefined],
      ['main', 7, 'store'],
    ],
  )
  assert.deepEqual(
    catalog.entries.get('acme-1')?.card.routes.map(({ account }) => account),
    ['filed', 'main'],
  )
  assert.deepEqual([...catalog.entries.keys()], ['acme-1', 'fast', 'one', 'quick'])
  assert.equal(catalog.entries.get('quick')?.card.id, 'fast')
})

it('an added account does not replace the one that a variable sets', () => {
  const { accounts } = combine({ accounts: { main } }, '{}', { ACME_KEY: 'of the variable' })
  assert.deepEqual(
    accounts.map(({ name, credential }) => [name, credential]),
    [
      ['acme', 'of the variable'],
      ['main', 'a-key'],
    ],
  )
})

it('reports every mistake with its place, and never a key', () => {
  const cases: [Partial<typeof none>, RegExp][] = [
    [
      { accounts: { main: { provider: 'acme' } } },
      /^accounts\.main\.key: it is missing; send the key of the provider$/,
    ],
    [
      { accounts: { main: { provider: 'amce', key: 'k' } } },
      /^accounts\.main\.provider: there is no provider 'amce'; use/,
    ],
    [{ accounts: { main: { ...main, concurrency: 0 } } }, /^accounts\.main\.concurrency: it is not a whole number/],
    [{ accounts: { main: { ...main, base_url: 'nowhere' } } }, /^accounts\.main\.base_url: /],
    [
      { accounts: { main: { ...main, colour: 'red' } } },
      /^accounts\.main: 'colour' is not a setting; use one of: provider/,
    ],
    [{ accounts: { main: { ...main, key: 'sécret' } } }, /^accounts\.main\.key: it can't be sent in a header/],
    [{ accounts: { '../x': main } }, /^accounts\["\.\.\/x"\]: it is not a valid name/],
    [{ models: { fast: { account: 'nobody' } } }, /^models\.fast\.account: there is no account 'nobody'/],
    [
      { models: { fast: { account: 'main', seconds: { values: [99] } } }, accounts: { main } },
      /^models\.fast\.seconds: /,
    ],
    [{ aliases: { quick: 'nothing' } }, /^aliases\.quick: there is no model 'nothing'/],
  ]
  for (const [declared, expected] of cases) {
    const { mistakes } = combine(declared)
    assert.match(mistakes[0] ?? '', expected)
    assert.doesNotMatch(mistakes.join('\n'), /sécret|a-key/)
  }
})

it('a provider that is part of each process has no accounts that can be added', () => {
  const { combining } = load('{}')
  const { mistakes } = combining.combine({ ...none, accounts: { second: { provider: 'studio' } } })
  assert.match(mistakes[0] ?? '', /^accounts\.second\.provider: 'studio' has no accounts that can be added/)
})

it('knows what the configuration has', () => {
  const yaml = `
    accounts: { filed: { provider: acme, key: x }, off: { provider: acme, enabled: false } }
    models: { fast: { account: filed, model: one } }
    aliases: { one: acme-1 }`
  const { isConfigured } = load(yaml, { FILMGATE_ALIASES: 'two=acme-1' }, {}, members).combining
  for (const [kind, name] of [
    ['account', 'filed'],
    ['account', 'off'],
    ['model', 'fast'],
    ['alias', 'one'],
    ['alias', 'two'],
  ] as const)
    assert.ok(isConfigured(kind, name), name)
  for (const [kind, name] of [
    ['account', 'fast'],
    ['model', 'acme-1'],
    ['alias', 'toString'],
  ] as const)
    assert.ok(!isConfigured(kind, name), name)
})

import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { load, mistakesOf, remote } from './load.fixture.ts'

const account = (options: object) => JSON.stringify({ accounts: { main: { provider: 'acme', ...options } } })
const base_url = 'https://api.example.com/v1'
const wrong = (options: object, env: Record<string, string> = {}) => mistakesOf(account(options), env, {}, remote)

it('a key is taken without the line break that a secret file ends in', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how the file writes it
  for (const key of ['abc\n', 'abc \r\n', '${KEY}']) {
    const { accounts, secrets } = load(account({ base_url, key }), { KEY: 'abc\n' }, {}, remote)
    assert.deepEqual([accounts[0]?.credential, secrets], ['abc', ['abc']])
  }
})

it('a key that no header can carry is a mistake at start, and is not shown', () => {
  for (const key of [' abc', 'a\nbc', 'schlüssel', 'a\u0000b'])
    assert.deepEqual(wrong({ base_url, key }), [
      "accounts.main.key: it can't be sent in a header; use printable ASCII, with no space at either end",
    ])
  for (const key of ['', '\n', 7, ['abc']])
    assert.deepEqual(wrong({ base_url, key }), ['accounts.main.key: it is no text; write it in quotes'])
})

it('a provider on the network needs an address that can be one', () => {
  assert.deepEqual(wrong({ key: 'abc' }), [
    'accounts.main.base_url: it is missing; say where the provider is: https://…',
  ])
  for (const url of ['ftp://x', 'nowhere', 'https://a:secret@x', 'https://x?a=secret', 'https://x/#secret']) {
    const [mistake = '', ...others] = wrong({ base_url: url })
    assert.match(mistake, /^accounts\.main\.base_url: a base URL has .+; write for example https:/)
    assert.deepEqual(others, [])
    assert.doesNotMatch(mistake, /secret/)
  }
  assert.deepEqual(wrong({ base_url }), [])
})

it('a word in a list is not that word', () => {
  for (const on_unknown of [['hold'], { toString: 'x' }, 5])
    assert.deepEqual(wrong({ base_url, on_unknown }), [
      'accounts.main.on_unknown: it is not text; use hold, fail or resubmit',
    ])
  assert.match(wrong({ base_url, on_unknown: 'guess' }).join(), /^accounts\.main\.on_unknown: 'guess' means nothing;/)
  for (const provider of [{ toString: 'x' }, ['acme']])
    assert.deepEqual(wrong({ provider }), ['accounts.main.provider: it is not text; use one of: acme'])
})

it('one mistake hides no other, and makes none', () => {
  const yaml = `
accounts: { main: { provider: acme, enabled: maybe, concurrency: 0 }, other: { provider: akme, concurrency: 1e300 } }
models:
  fox: { account: main }
  hen: { account: other }
  owl: { account: off, seconds: { max: 0 } }
aliases: { reynard: owl }
default_model: hen
`
  assert.deepEqual(mistakesOf(yaml, {}, {}, remote), [
    'accounts.main.enabled: it is neither true nor false; write true or false',
    'accounts.main.concurrency: it is not a whole number from 1 to 100000; say how many tasks may be in work at once',
    'accounts.main.base_url: it is missing; say where the provider is: https://…',
    "accounts.other.provider: there is no provider 'akme'; use one of: acme",
    'accounts.other.concurrency: it is not a whole number from 1 to 100000; say how many tasks may be in work at once',
    "models.owl.account: there is no account 'off'; use one of: main",
    'models.owl.seconds: min and max are no range of whole seconds; write for example min: 1 and max: 20',
  ])
})

const keyed = { acme: { ...remote.acme, baseUrl: base_url, key: { variable: 'ACME_KEY' } } } as typeof remote

it('the usual variable of a vendor is enough to have an account there', () => {
  const names = (yaml: string, env: Record<string, string>) =>
    load(yaml, env, {}, keyed).accounts.map(({ name, baseUrl, credential }) => [name, baseUrl, credential])
  assert.deepEqual(names('', { ACME_KEY: ' abc\n' }), [['acme', base_url, 'abc']])
  assert.deepEqual(load('', { ACME_KEY: 'abc' }, {}, keyed).secrets, ['abc'])
  assert.deepEqual([...load('', { ACME_KEY: 'abc' }, {}, keyed).catalog.entries.keys()], ['acme-1'])
  assert.deepEqual(names('', {}), [])
  assert.deepEqual(names('', { ACME_KEY: ' ' }), [])
  assert.deepEqual(names('accounts: { acme: { enabled: false } }', { ACME_KEY: 'abc' }), [])
  const two = 'accounts: { a: { provider: acme, key: one }, b: { provider: acme, base_url: "https://eu.example.com" } }'
  assert.deepEqual(names(two, { ACME_KEY: 'abc' }), [
    ['a', base_url, 'one'],
    ['b', 'https://eu.example.com', 'abc'],
  ])
})

it('an account without a key says which variable has it', () => {
  assert.deepEqual(mistakesOf('accounts: { acme: {} }', {}, {}, keyed), [
    'accounts.acme.key: it is missing; set ACME_KEY, or write it here',
  ])
})

it('a key may be a file of JSON, which is never shown', () => {
  const file = {
    acme: { ...remote.acme, baseUrl: base_url, key: { variable: 'ACME_FILE', isFile: true } },
  } as typeof remote
  assert.match(
    mistakesOf('', { ACME_FILE: '/nowhere/key.json' }, {}, file)[0] ?? '',
    /^ACME_FILE: '\/nowhere\/key.json' can't be read \(ENOENT\); .*enabled: false/,
  )
  const path = `${mkdtempSync(join(tmpdir(), 'filmgate-key-'))}/key.json`
  writeFileSync(path, '{\n  "private_key": "-----BEGIN\\n"\n}\n')
  const { accounts, secrets } = load('', { ACME_FILE: path }, {}, file)
  assert.equal(accounts[0]?.credential, '{"private_key":"-----BEGIN\\n"}')
  assert.deepEqual(secrets, [accounts[0]?.credential])
})

it('a variable makes no second account of a name that is taken', () => {
  const two = { ...keyed, other: { ...keyed.acme, key: { variable: 'OTHER_KEY' } } } as typeof remote
  const { accounts } = load('accounts: { acme: { provider: other, key: x } }', { ACME_KEY: 'abc' }, {}, two)
  assert.deepEqual(
    accounts.map(({ name, provider }) => [name, provider]),
    [['acme', 'other']],
  )
})

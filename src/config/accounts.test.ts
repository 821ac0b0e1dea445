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

it("a key that can't be sent in a header is a mistake, and is not shown", () => {
  for (const key of [' abc', 'a\nbc', 'schlüssel', 'a\u0000b'])
    assert.deepEqual(wrong({ base_url, key }), [
      "accounts.main.key: it can't be sent in a header; use printable ASCII, with no space at either end",
    ])
  for (const key of ['', '\n', 7, ['abc']])
    assert.deepEqual(wrong({ base_url, key }), ['accounts.main.key: it is empty or not text; write it in quotes'])
})

it('a provider on the network needs an address that can be one', () => {
  assert.deepEqual(wrong({ key: 'abc' }), [
    'accounts.main.base_url: it is missing; write the address of the provider: https://…',
  ])
  for (const url of ['ftp://x', 'nowhere', 'https://a:secret@x', 'https://x?a=secret', 'https://x/#secret']) {
    const [mistake = '', ...others] = wrong({ base_url: url })
    assert.match(mistake, /^accounts\.main\.base_url: a base URL has .+; write for example https:/)
    assert.deepEqual(others, [])
    assert.doesNotMatch(mistake, /secret/)
  }
  for (const url of ['http://h\tx', 'http://h/\0', ' http://h', 'http:/x', 'http:x', 'http:\\\\x', 'http:///x'])
    assert.match(wrong({ base_url: url }).join(), /^accounts\.main\.base_url: a base URL has .+; write for/, url)
  for (const url of ['http://h:0/v1', 'http://h..', 'http://a..b/v1', 'https://.h', 'http://.'])
    assert.match(wrong({ base_url: url }).join(), /^accounts\.main\.base_url: a base URL has .+; write for/, url)
  for (const url of [base_url, `${base_url}\n`, 'https://h.', 'HTTP://[::1]:8000', 'http://10.0.0.1:65535/v1/'])
    assert.deepEqual(wrong({ base_url: url }), [], url)
})

it('a list of one word is not that word', () => {
  for (const on_unknown of [['hold'], { toString: 'x' }, 5])
    assert.deepEqual(wrong({ base_url, on_unknown }), [
      'accounts.main.on_unknown: it is not text; use hold, fail or resubmit',
    ])
  assert.match(wrong({ base_url, on_unknown: 'guess' }).join(), /^accounts\.main\.on_unknown: 'guess' is not allowed;/)
  for (const provider of [{ toString: 'x' }, ['acme']])
    assert.deepEqual(wrong({ provider }), ['accounts.main.provider: it is not text; use one of: acme'])
})

it('one mistake neither hides nor causes another', () => {
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
    'accounts.main.concurrency: it is not a whole number from 1 to 100000; set how many tasks may run at once',
    'accounts.main.base_url: it is missing; write the address of the provider: https://…',
    "accounts.other.provider: there is no provider 'akme'; use one of: acme",
    'accounts.other.concurrency: it is not a whole number from 1 to 100000; set how many tasks may run at once',
    "models.owl.account: there is no account 'off'; use one of: main",
    'models.owl.seconds.max: it is not a whole number from 1 to 3600; write for example 20',
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
  // The same content in filmgate.yaml, from a variable or by request.
  const written = JSON.stringify({ accounts: { acme: { key: '{\n  "private_key": "-----BEGIN\\n"\n}\n' } } })
  assert.equal(load(written, {}, {}, file).accounts[0]?.credential, accounts[0]?.credential)
  const broken = JSON.stringify({ accounts: { acme: { key: '{\n  "private_key"' } } })
  assert.match(mistakesOf(broken, {}, {}, file).join(), /^accounts\.acme\.key: it can't be sent in a header; [^{]*$/)
})

it('a variable adds no second account with the same name', () => {
  const two = { ...keyed, other: { ...keyed.acme, key: { variable: 'OTHER_KEY' } } } as typeof remote
  const { accounts } = load('accounts: { acme: { provider: other, key: x } }', { ACME_KEY: 'abc' }, {}, two)
  assert.deepEqual(
    accounts.map(({ name, provider }) => [name, provider]),
    [['acme', 'other']],
  )
})

it('an account that is switched off has no mistakes, but for its names', () => {
  const off = { enabled: false, concurrency: 0, key: '', on_unknown: 'guess', verify: 'guess' }
  assert.deepEqual(wrong(off), [])
  assert.deepEqual(wrong({ ...off, speed: 9 }), [
    "accounts.main: 'speed' is not a setting; use one of: provider, enabled, concurrency, on_unknown, verify, base_url, key",
  ])
  assert.deepEqual(wrong({ ...off, provider: 'akme' }), [
    "accounts.main.provider: there is no provider 'akme'; use one of: acme",
  ])
})

it('an account and an engine may say how results are verified; without it, the way on which they come decides', () => {
  const modesOf = (yaml: string) => load(yaml).accounts.map(({ verify }) => verify)
  assert.deepEqual(modesOf('engines: [{ url: "http://x", verify: smart }, { url: "http://y" }]'), [
    undefined,
    'smart',
    undefined,
  ])
  assert.deepEqual(modesOf('accounts: { studio: { verify: full } }'), ['full'])
  assert.deepEqual(mistakesOf('accounts: { studio: { verify: fast } }'), [
    "accounts.studio.verify: 'fast' is not allowed; use full or smart",
  ])
})

it('the address of an engine is enough', () => {
  const { accounts } = load('engines: [{ url: "http://127.0.0.1:8000" }, { url: "http://gpu:30000/api", name: big }]')
  const engines = accounts.filter(({ provider }) => provider === 'openai')
  assert.deepEqual(
    engines.map(({ name, baseUrl, concurrency, credential }) => [name, baseUrl, concurrency, credential]),
    [
      ['127.0.0.1-8000', 'http://127.0.0.1:8000/v1', 1, null],
      ['big', 'http://gpu:30000/api', 1, null],
    ],
  )
})

it('what is wrong with an engine is named with its fix', () => {
  for (const [yaml, expected] of [
    ['engines: { url: x }', /^engines: it is not a list; /],
    ['engines: [{}]', /^engines\[0\]\.url: it is missing; /],
    ['engines: [{ url: "ftp://x" }]', /^engines\[0\]\.url: .*https?:\/\//],
    ['engines: [{ url: "http://x", concurrency: 0 }]', /^engines\[0\]\.concurrency: /],
    ['engines: [{ url: "http://x", name: "a b" }]', /^engines\[0\]\.name: it is not a valid name; /],
    ['engines: [{ url: "http://x", model: "m" }]', /^engines\[0\]: .model. is not a setting; /],
    ['engines: [{ url: "http://x" }, { url: "http://x" }]', /^engines: 'x' is the name of two accounts or engines; /],
    ['engines: [{ url: "http://x", name: studio }]', /^engines: 'studio' is the name of two accounts or engines; /],
  ] as const)
    assert.match(mistakesOf(yaml)[0] ?? '', expected, yaml)
})

it('resubmits what the list of an engine without a key, on a private address, shows it never got; others hold', () => {
  const policyOf = (engine: string) => load(`engines: [${engine}]`).accounts.at(-1)?.onUnknown
  for (const host of ['127.0.0.1:8000', 'localhost:8000', '192.168.1.20', '10.0.0.3:30000', '[::1]:8000', '[fd00::1]'])
    assert.equal(policyOf(`{ url: "http://${host}" }`), 'resubmit', host)
  for (const host of ['203.0.113.9.example.com', '8.8.8.8', 'gpu', '[2606:4700::1]', '[::ffff:8.8.8.8]'])
    assert.equal(policyOf(`{ url: "http://${host}" }`), 'hold', host)
  assert.equal(policyOf('{ url: "http://127.0.0.1", key: "secret" }'), 'hold')
  assert.equal(policyOf('{ url: "http://127.0.0.1", on_unknown: fail }'), 'fail')
  assert.equal(policyOf('{ url: "http://8.8.8.8", on_unknown: resubmit }'), 'resubmit')
})

it('refuses two accounts with the same address and key: their jobs could not be distinguished', () => {
  const message = /'a' and 'b' have the same address and the same key; use one of them/
  const twice = 'engines: [{ url: "http://127.0.0.1:8000", name: a }, { url: "http://127.0.0.1:8000/v1/", name: b }]'
  assert.throws(() => load(twice), message)
  const apart =
    'engines: [{ url: "http://127.0.0.1:8000", name: a, key: x }, { url: "http://127.0.0.1:8000", name: b, key: y }]'
  assert.equal(load(apart).accounts.filter(({ provider }) => provider === 'openai').length, 2)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, mistakesOf } from './load.fixture.ts'

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
    ['engines: [{ url: "http://x", name: "a b" }]', /^engines\[0\]\.name: it is no name; /],
    ['engines: [{ url: "http://x", model: "m" }]', /^engines\[0\]: .model. is not a setting; /],
    ['engines: [{ url: "http://x" }, { url: "http://x" }]', /^engines: 'x' is the name of two; /],
    ['engines: [{ url: "http://x", name: studio }]', /^engines: 'studio' is the name of two; /],
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

it('refuses two accounts at one place with one key: their jobs could not be told apart', () => {
  const message = /'a' and 'b' are the same place with the same key; use one of them/
  const twice = 'engines: [{ url: "http://127.0.0.1:8000", name: a }, { url: "http://127.0.0.1:8000/v1/", name: b }]'
  assert.throws(() => load(twice), message)
  const apart =
    'engines: [{ url: "http://127.0.0.1:8000", name: a, key: x }, { url: "http://127.0.0.1:8000", name: b, key: y }]'
  assert.equal(load(apart).accounts.filter(({ provider }) => provider === 'openai').length, 2)
})

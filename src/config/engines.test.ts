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

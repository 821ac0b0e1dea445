import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, mistakesOf } from './load.fixture.ts'

it('an alias of nothing, or of itself, is a mistake of the file', () => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]', ...'bcdefg'].map((line, at, all) => {
    const before = at === 1 ? 'a' : all[at - 1]
    return at === 0 ? line : `${line}: &${line} [${Array.from({ length: 10 }, () => `*${before}`).join(', ')}]`
  })
  for (const [yaml, mistake] of [
    ['accounts: &a {main: *a}', 'filmgate.yaml: accounts.main contains itself; write out what its alias stands for'],
    ['accounts: *nobody', /^filmgate\.yaml: Unresolved alias [^:*]*; write out what its aliases stand for$/],
    [bomb.join('\n'), /^filmgate\.yaml: Excessive alias count .*; write out what its aliases stand for$/],
    ['accounts: !!set {a, b}', /^filmgate\.yaml: Unresolved tag at line 1, column 11; fix the YAML there$/],
    ['a: 1\na: 2', /^filmgate\.yaml: Map keys must be unique at line 2, column 1; fix the YAML there$/],
  ] as const) {
    const [first = '', ...others] = mistakesOf(yaml)
    if (typeof mistake === 'string') assert.equal(first, mistake)
    else assert.match(first, mistake)
    assert.deepEqual(others, [])
  }
})

it('one part of the file may stand in several places', () => {
  const { accounts } = load('accounts: { one: &same { provider: studio, concurrency: 3 }, two: *same }')
  assert.deepEqual(accounts.map(({ name, concurrency }) => [name, concurrency]).slice(1), [
    ['one', 3],
    ['two', 3],
  ])
})

it('the value of a variable is never shown, wherever it was put by mistake', () => {
  const yaml = `
accounts: { a: { provider: "\${KEY}" }, b: { provider: studio, on_unknown: "\${KEY}", base_url: "\${KEY}", key: "\${KEY}" } }
models: { m: { account: "x\${KEY}", image: "\${KEY}", size: { default: "\${KEY}" } }, n: { routes: [{ account: "\${KEY}" }] } }
aliases: { c: "\${KEY}", "d e": "\${KEY}" }
default_model: "\${KEY}"
tokens: [{ name: "\${NAME}", secret: "1" }, { name: "\${NAME}", secret: "2" }, { name: x, secret: "\${KEY}", models: "\${KEY}" }]
outbound: { allow: ["\${KEY}"] }
`
  const list = mistakesOf(yaml, { KEY: 'sk-very secret', NAME: 'Very Secret' })
  assert.equal(list.length, 15, list.join('\n'))
  assert.doesNotMatch(list.join('\n'), /very secret/i)
  assert.match(list[0] ?? '', /^accounts\.a\.provider: there is no provider '\$\{KEY\}'; use one of: studio, /)
  const place = mistakesOf('', { FILMGATE_STORE: 'pg://me:very-secret@x', FILMGATE_BUCKET: 's3://me:very-secret@x' })
  assert.match(
    place.join('\n'),
    /^FILMGATE_STORE: its value can't be used; .+\nFILMGATE_BUCKET: its value can't be used/,
  )
  assert.doesNotMatch(place.join('\n'), /secret/)
})

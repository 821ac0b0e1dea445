import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { Mistakes } from './config/mistakes.ts'
import { loadConfig } from './config.ts'
import { digestSecret } from './core/token.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-config-'))
after(() => rmSync(folder, { recursive: true }))

function load(yaml: string, env: Record<string, string> = {}, flags: Record<string, string> = {}) {
  const path = join(folder, 'filmgate.yaml')
  writeFileSync(path, yaml)
  return loadConfig({ flags, env: { FILMGATE_CONFIG: path, ...env } })
}

function mistakesOf(yaml: string, env: Record<string, string> = {}, flags: Record<string, string> = {}): string[] {
  try {
    load(yaml, env, flags)
  } catch (error) {
    assert.ok(error instanceof Mistakes)
    return error.list
  }
  return []
}

it('without any setting it listens on loopback, keeps videos a day, and has the built-in model', () => {
  const config = load('')
  assert.deepEqual(
    [config.host, config.port, config.data, config.retentionMs],
    ['127.0.0.1', 8484, './filmgate-data', 86_400_000],
  )
  assert.deepEqual([...config.catalog.entries.keys()], ['studio'])
  assert.equal(config.catalog.defaultModel, null)
  assert.deepEqual(config.tokens, [])
})

it('a flag wins over its variable, and an empty one counts as none', () => {
  assert.equal(load('', { FILMGATE_PORT: '1' }, { port: '2' }).port, 2)
  assert.equal(load('', { FILMGATE_PORT: '' }).port, 8484)
})

it('reads the whole of filmgate.yaml', () => {
  const config = load(
    `
models:
  studio: { seconds: { max: 10, default: 8 }, description: ours }
  short: { provider: studio, seconds: { values: [2, 3] }, size: { values: [640x360, 360x640] }, image: none }
aliases: { sora-2: studio }
default_model: sora-2
providers: { studio: { concurrency: 3 } }
tokens:
  - { name: a, secret: "\${SECRET}", models: [sora-*] }
  - { name: b, secret: two words }
outbound: { allow: [10.0.0.0/8] }
`,
    { SECRET: 'from outside', FILMGATE_TOKEN: 'My API Key' },
  )
  assert.deepEqual([...config.catalog.entries.keys()], ['studio', 'short', 'sora-2'])
  assert.deepEqual(config.catalog.entries.get('sora-2')?.card.seconds, { min: 1, max: 10, default: 8 })
  assert.deepEqual(config.catalog.entries.get('short')?.card.size, {
    values: ['640x360', '360x640'],
    default: '640x360',
  })
  assert.deepEqual(config.catalog.entries.get('short')?.card.seconds, { values: [2, 3], default: 2 })
  assert.equal(config.catalog.defaultModel, 'sora-2')
  assert.deepEqual(config.providers, { studio: { concurrency: 3 } })
  assert.deepEqual(config.tokens, [
    { name: 'default', digest: digestSecret('My API Key'), models: ['*'] },
    { name: 'a', digest: digestSecret('from outside'), models: ['sora-*'] },
    { name: 'b', digest: digestSecret('two words'), models: ['*'] },
  ])
  assert.deepEqual(config.outboundAllow, ['10.0.0.0/8'])
})

it('a provider that is switched off takes its models along', () => {
  assert.deepEqual([...load('providers: { studio: { enabled: false } }').catalog.entries.keys()], [])
})

it('reports every mistake at once, each with its place and its fix', () => {
  const list = mistakesOf(
    `
modells: {}
aliases: { sora-2: nothing, studio: studio, "bad name": studio }
default_model: nowhere
providers: { studio: { concurrency: 0, speed: 9 }, acme: {} }
models:
  studio: { seconds: { min: 5, max: 2 }, image: maybe, size: { default: big } }
  other: { description: no provider }
tokens: [{ name: a }, { name: b, secret: " x" }, { name: b, secret: y }, { secret: y }, { name: c, secret: y, models: all }]
outbound: { allow: ["not a place"] }
`,
    { FILMGATE_PORT: '99999', FILMGATE_RETENTION: 'soon', FILMGATE_TOKN: 'x', FILMGATE_BASE_URL: 'fine' },
    { host: 'no host' },
  )
  const expected = [
    "--host: 'no host' can't be used",
    "FILMGATE_PORT: '99999' can't be used",
    "FILMGATE_RETENTION: 'soon' can't be used",
    'FILMGATE_TOKN: there is no such setting',
    "'modells' is not a setting",
    "'acme' is not a setting",
    "'speed' is not a setting",
    'providers.studio.concurrency',
    'models.studio.seconds',
    'models.studio.image',
    'models.studio.size.default',
    'models.other.provider',
    "aliases.sora-2: there is no model 'nothing'",
    'aliases.studio: a model has this name already',
    'aliases.bad name',
    "default_model: there is no model 'nowhere'",
    'tokens[0].secret',
    "tokens[1]: the secret can't be sent",
    "tokens[2]: the name 'b' is taken",
    'tokens[3].name',
    'tokens[4].models',
    'outbound.allow',
  ]
  for (const part of expected)
    assert.ok(
      list.some((line) => line.includes(part)),
      `no mistake says: ${part}`,
    )
  assert.equal(list.length, expected.length, list.join('\n'))
  for (const line of list) assert.match(line, /^.+: .+; .+$/)
})

it('a file that is absent, broken or of another shape is a mistake, as is a variable that is not set', () => {
  assert.match(mistakesOf('', { FILMGATE_CONFIG: join(folder, 'absent.yaml') })[0] ?? '', /can't be read/)
  assert.match(mistakesOf('a: [')[0] ?? '', /filmgate\.yaml: .*; mend the YAML/)
  assert.match(mistakesOf('- a')[0] ?? '', /not a map/)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how the file writes it
  assert.match(mistakesOf('default_model: ${NOT_SET}')[0] ?? '', /NOT_SET is not set/)
  assert.match(mistakesOf('tokens: 3')[0] ?? '', /not a list/)
})

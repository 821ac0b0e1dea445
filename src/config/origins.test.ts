import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { load, remote } from './load.fixture.ts'

const yaml = `
aliases: { fast: acme-1 }
accounts: { main: { provider: acme, key: "a-key-in-the-file", base_url: "https://\${HOST}/v1", concurrency: 2 } }
tokens: [{ name: team, secret: "\${TEAM}", models: [acme-1, fast] }]
`
const env = {
  ...{ TEAM: 'the-secret-of-the-team', HOST: 'acme.example', FILMGATE_RETENTION: '7d' },
  ...{ FILMGATE_OPERATOR_TOKEN: 'the-secret-of-the-operator', FILMGATE_ALARM_SLACK: 'https://slack.example/T0/secret' },
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
}

it('says of every value where it comes from, and shows no secret', () => {
  const { origins } = load(yaml, env, { port: '0' }, remote)
  const of = (name: string) => {
    const found = origins.find((origin) => origin.name === name)
    return found && [found.source, found.where.replace(/^.*\//, ''), found.shown]
  }
  assert.deepEqual(of('port'), ['flag', '--port', '0'])
  assert.deepEqual(of('retention'), ['variable', 'FILMGATE_RETENTION', '7d'])
  assert.deepEqual(of('rate'), ['default', 'FILMGATE_RATE', '6000'])
  assert.deepEqual(of('store'), ['default', 'FILMGATE_STORE', null])
  assert.deepEqual(of('operator-token'), ['variable', 'FILMGATE_OPERATOR_TOKEN', null])
  assert.deepEqual(of('aliases.fast'), ['file', 'filmgate.yaml', 'acme-1'])
  assert.deepEqual(of('accounts.main.concurrency'), ['file', 'filmgate.yaml', '2'])
  assert.deepEqual(of('accounts.main.base_url'), ['file', 'filmgate.yaml', `https://\${HOST}/v1`])
  assert.deepEqual(of('tokens[0].models'), ['file', 'filmgate.yaml', 'acme-1, fast'])
  for (const name of ['accounts.main.key', 'tokens[0].secret'])
    assert.deepEqual(of(name), ['file', 'filmgate.yaml', null])
  assert.deepEqual(of('OTEL_EXPORTER_OTLP_HEADERS'), ['variable', 'OTEL_EXPORTER_OTLP_HEADERS', null])
  const visible = JSON.stringify(origins.map(({ text: _, ...others }) => others))
  assert.doesNotMatch(visible, /secret-of|a-key-in|slack\.example/)
})

it('hides a value that contains a secret, whatever its key is', () => {
  const { origins } = load('aliases: { other: studio }', { FILMGATE_TOKEN: 'studio' })
  assert.equal(origins.find(({ name }) => name === 'aliases.other')?.shown, null)
})

it('reads the file again, and says why a start would fail', () => {
  const config = load('aliases: { fast: studio }')
  load('aliases: { fast: studio, faster: studio }')
  const next = config.reread()
  assert.ok(next.origins?.some(({ name }) => name === 'aliases.faster'))
  assert.ok(!config.origins.some(({ name }) => name === 'aliases.faster'))
  assert.throws(() => load('aliases: { fast: nothing }'))
  const { origins, mistakes } = config.reread()
  assert.equal(origins, null)
  assert.match(mistakes.join(), /aliases\.fast.*nothing/)
})

it('reads nothing again while no file has changed, and everything when one has', (test) => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-reread-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const key = join(folder, 'key.json')
  writeFileSync(key, '{}')
  const members = {
    acme: { ...remote.acme, baseUrl: 'https://acme.example', key: { variable: 'ACME_KEY_FILE', isFile: true } },
  } as typeof remote
  const config = load('aliases: { fast: acme-1 }', { ACME_KEY_FILE: key }, {}, members)
  const file = config.origins.find(({ name }) => name === 'aliases.fast')?.where ?? ''
  const first = config.reread()
  assert.deepEqual(first.mistakes, [])
  assert.equal(config.reread(), first)
  // Of the same size, and with the time of the file before.
  const { atime, mtime } = statSync(file)
  writeFileSync(file, 'aliases: { best: acme-1 }')
  utimesSync(file, atime, mtime)
  const second = config.reread()
  assert.ok(second.origins?.some(({ name }) => name === 'aliases.best'))
  assert.equal(config.reread(), second)
  rmSync(key)
  assert.match(config.reread().mistakes.join(), /key\.json' can't be read \(ENOENT\)/)
  writeFileSync(key, '{}')
  assert.deepEqual(config.reread().mistakes, [])
})

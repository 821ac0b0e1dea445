import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import type { Place } from '../migrate.ts'
import { advice } from './migrate.ts'

it('a prefix is shown as it has to be written', () => {
  const from: Place = { data: './old', store: { kind: 'sqlite' }, bucket: { kind: 'disk' } }
  const to: Place = { ...from, bucket: { kind: 's3', bucket: 'films', prefix: 'my films/100%' } }
  const text = advice({ rows: null, objects: null, finished: true }, { from, to })
  assert.ok(text.includes('s3://films/my%20films/100%25'), text)
})

it('the settings to start with are shown without a password, wherever it stood', () => {
  const from: Place = { data: './old', store: { kind: 'sqlite' }, bucket: { kind: 'disk' } }
  for (const [url, shown] of [
    ['postgres://me:hush@db/films', 'postgres://me:PASSWORD@db/films'],
    ['postgres://me@db/films?password=hush', 'postgres://me@db/films?password=PASSWORD'],
    ['postgres://me:hush@db/films?sslmode=require&password=hu%2Fsh&password=hush', 'password=PASSWORD'],
  ] as const) {
    const to: Place = { ...from, store: { kind: 'postgres', url } }
    const text = advice({ rows: [], objects: null, finished: true }, { from, to })
    assert.ok(text.includes(shown), text)
    assert.doesNotMatch(text, /hush|hu%2Fsh|hu\/sh/)
  }
})

it('the key of the secrets is that of the old data folder, or the same setting as before', () => {
  const data = mkdtempSync(join(tmpdir(), 'filmgate-advice-'))
  after(() => rmSync(data, { recursive: true }))
  const from: Place = { data, store: { kind: 'sqlite' }, bucket: { kind: 'disk' } }
  const to: Place = { ...from, store: { kind: 'postgres', url: 'postgres://me@db/films' } }
  const shown = () => advice({ rows: [], objects: null, finished: true }, { from, to })
  assert.doesNotMatch(shown(), /secret\.key/)
  assert.match(shown(), /\n {2}FILMGATE_SECRET_KEY=KEY\n {2}\(KEY: as before; if there was none, .*openssl rand/)
  writeFileSync(join(data, 'secret.key'), 'a key')
  assert.match(shown(), /\n {2}FILMGATE_SECRET_KEY=\$\(cat .*\/secret\.key'?\)\n/)
  const stays = advice({ rows: null, objects: null, finished: true }, { from, to: from })
  assert.doesNotMatch(stays, /FILMGATE_SECRET_KEY/)
})

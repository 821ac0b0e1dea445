import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, mistakesOf } from './load.fixture.ts'
import { secretsOf } from './places.ts'

const postgres = { FILMGATE_STORE: 'postgres://me@db/films' }
const s3 = { FILMGATE_BUCKET: 's3://films' }

it('a process that does a part of the work needs a store and a bucket that the others can use', () => {
  const bucket = (role: string) =>
    `role: '${role}' can't share films that are in a data folder; set FILMGATE_BUCKET to an S3 bucket that all processes use: s3://…`
  for (const role of ['api', 'worker']) {
    const own = { FILMGATE_ROLE: role }
    assert.deepEqual(mistakesOf('', { ...postgres, ...own }), [bucket(role)])
    assert.deepEqual(mistakesOf('', { ...s3, ...own }), [
      `role: '${role}' alone has nobody to work with; set a store that processes can share: postgres://…`,
    ])
    assert.equal(mistakesOf('', own).length, 2)
    assert.equal(load('', { ...postgres, ...s3, ...own }).role, role)
  }
})

it('films in the data folder, rows in a database that others can use: one is warned', () => {
  assert.deepEqual(load('', postgres).warnings, [
    'FILMGATE_BUCKET: the films are in the data folder of this process, so it must be the only one on its database; for more, set an S3 bucket',
  ])
  for (const env of [{}, s3, { ...postgres, ...s3 }]) assert.deepEqual(load('', env).warnings, [])
})

it('a % that begins no escape is a mistake of the store, and its fix is told without the password', () => {
  for (const url of [
    'postgres://me:100%@db/films',
    'postgres://me:a%zzb@db/films',
    'postgres://db/films?password=a%',
  ]) {
    const list = mistakesOf('', { FILMGATE_STORE: url })
    assert.deepEqual(list, ["FILMGATE_STORE: its value can't be used; write each % of a name or password as %25"], url)
  }
  assert.deepEqual(mistakesOf('', { FILMGATE_STORE: 'postgres://me:100%25@db/films' }), [])
})

it('a password is a secret wherever pg takes one from, as it is written and as it is meant', () => {
  const secrets = (url: string) => [...secretsOf({ kind: 'postgres', url })].sort()
  assert.deepEqual(secrets('postgres://me:s%2Fx@db/films'), ['s%2Fx', 's/x'])
  assert.deepEqual(secrets('postgres://me@db/films?sslmode=require&password=s%2Fx'), ['s%2Fx', 's/x'])
  assert.deepEqual(secrets('postgres://me:one@db/films?password=two'), ['one', 'two'])
  assert.deepEqual(secrets('postgres://me@db/films'), [])
  const { secrets: all } = load('', { FILMGATE_STORE: 'postgres://me@db/films?password=hush' })
  assert.ok(all.includes('hush'))
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { load, mistakesOf } from './load.fixture.ts'
import { secretsOf } from './places.ts'

const postgres = { FILMGATE_STORE: 'postgres://me@db/films' }
const s3 = { FILMGATE_BUCKET: 's3://films' }

it('a process that does a part of the work needs a store and a bucket that the others can use', () => {
  const bucket = (role: string) =>
    `FILMGATE_ROLE: '${role}' needs a bucket that other processes share; set FILMGATE_BUCKET to an S3 bucket that all processes use: s3://…`
  for (const role of ['api', 'worker']) {
    const own = { FILMGATE_ROLE: role }
    assert.deepEqual(mistakesOf('', { ...postgres, ...own }), [bucket(role)])
    assert.deepEqual(mistakesOf('', { ...s3, ...own }), [
      `FILMGATE_ROLE: '${role}' needs a database that other processes share; set FILMGATE_STORE to a database that all processes use: postgres://…`,
    ])
    assert.equal(mistakesOf('', own).length, 2)
    assert.equal(load('', { ...postgres, ...s3, ...own }).role, role)
  }
})

it('videos in the data folder and rows in a shared database are a warning', () => {
  assert.deepEqual(load('', postgres).warnings, [
    'FILMGATE_BUCKET: the videos are in the data folder of this process, so it must be the only process on its database; for more processes, set an S3 bucket',
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

it('what cuts a password short in the URL of the store is named, without the password', () => {
  const shape = 'postgres://user:password@host:5432/database'
  for (const mark of ['/', '?', '#'])
    assert.deepEqual(
      mistakesOf('', { FILMGATE_STORE: `postgres://me:hu${mark}sh@db/films` }),
      [`FILMGATE_STORE: its value can't be used; write each / ? # of a password as %2F %3F %23, as in ${shape}`],
      mark,
    )
  const others = mistakesOf('', { FILMGATE_STORE: 'postgres://me@db' })
  assert.deepEqual(others, [`FILMGATE_STORE: its value can't be used; use ${shape}, or leave it out`])
})

it('a password in any part of the URL is a secret, encoded and decoded', () => {
  const secrets = (url: string) => [...secretsOf({ kind: 'postgres', url })].sort()
  assert.deepEqual(secrets('postgres://me:s%2Fx@db/films'), ['s%2Fx', 's/x'])
  assert.deepEqual(secrets('postgres://me@db/films?sslmode=require&password=s%2Fx'), ['s%2Fx', 's/x'])
  assert.deepEqual(secrets('postgres://me:one@db/films?password=two'), ['one', 'two'])
  assert.deepEqual(secrets('postgres://me@db/films'), [])
  const { secrets: all } = load('', { FILMGATE_STORE: 'postgres://me@db/films?password=hush' })
  assert.ok(all.includes('hush'))
})

it('a part of a store URL without an effect is a mistake, and the fix names it', () => {
  const fixOf = (url: string) => mistakesOf('', { FILMGATE_STORE: url }).join('\n')
  const own = "FILMGATE_STORE: its value can't be used; "
  for (const [query, fix] of [
    ['unknown=1', "leave out 'unknown': the options are user, "],
    ['statement_timeout=0', "leave out 'statement_timeout'"],
    ['query_timeout=1', "leave out 'query_timeout'"],
    ['host=elsewhere', "leave out 'host'"],
    ['port=99999', "leave out 'port'"],
    ['options=-c%20statement_timeout%3D0', "leave out 'options'"],
    ['uselibpqcompat=true', "leave out 'uselibpqcompat'"],
    ['sslmode=bogus', 'use one of these as sslmode: disable, require, '],
    ['sslmode=prefer', 'use one of these as sslmode'],
    ['sslmode=', 'give sslmode a value'],
    ['sslmode=require&sslmode=disable', 'give sslmode once'],
    ['sslmode=verify-ca', 'set the certificate authority of sslmode=verify-ca'],
    ['password=a&hush=1', 'use only these options: user, '],
    ['password=a#hush', 'write each # of a name or password as %23'],
  ]) {
    const said = fixOf(`postgres://me@db/films?${query}`)
    assert.ok(said.startsWith(`${own}${fix}`), `${query}: ${said}`)
    assert.doesNotMatch(said, /hush/)
  }
  for (const query of [
    'sslmode=require',
    'sslmode=verify-ca&sslrootcert=/ca.pem&sslcert=/a.pem&sslkey=/a.key',
    'user=me&password=a%23b&application_name=films',
  ])
    assert.equal(fixOf(`postgres://db/films?${query}`), '')
})

it('a part of a bucket URL without an effect is a mistake, and the fix names it', () => {
  for (const [rest, fix] of [
    ['films?endpoint=minio:9000', 'begin the endpoint with https:// or http://'],
    ['films?endpoint=minio', 'begin the endpoint with'],
    ['films?endpoint=https://key:secret@minio', 'give the keys as AWS_ACCESS_KEY_ID'],
    ['films?endpoint=https://minio/path', 'end the endpoint after its host and port'],
    ['films?endpoint=https://minio?x', 'end the endpoint after its host and port'],
    ['films?endpoint=https://a&endpoint=https://b', 'give endpoint once'],
    ['films?region=', 'give region a value, or leave it out'],
    ['films?path_style=yes', 'use true or false as path_style'],
    ['films?acl=public', "leave out 'acl': the options are endpoint, region, path_style"],
    ['films:9000/prod', 'give the port with the endpoint'],
    ['films/prod#1', 'write a # of the prefix as %23'],
    ['films/prod#', 'write a # of the prefix as %23'],
    ['films/a/../b', "name the prefix without '.' and '..'"],
    ['films/a/%2e%2e/b', "name the prefix without '.' and '..'"],
    ['films/100%', 'write each % of the prefix as %25'],
    ['fi%20lms', 'use s3://bucket/prefix?'],
  ]) {
    const said = mistakesOf('', { FILMGATE_BUCKET: `s3://${rest}` }).join('\n')
    assert.ok(said.startsWith(`FILMGATE_BUCKET: its value can't be used; ${fix}`), `${rest}: ${said}`)
  }
  const { bucket } = load('', { FILMGATE_BUCKET: 's3://films/my%20films/b%C3%BC/?endpoint=http://127.0.0.1:9000/' })
  assert.deepEqual(bucket, {
    kind: 's3',
    bucket: 'films',
    prefix: 'my films/bü',
    endpoint: 'http://127.0.0.1:9000/',
  })
})

it('a wrong bucket URL is one mistake, and conflicts name the flag or the variable', () => {
  const bad = { ...postgres, FILMGATE_BUCKET: 'films', FILMGATE_ROLE: 'api', FILMGATE_CONTENT: 'redirect' }
  assert.deepEqual(
    mistakesOf('', bad).map((line) => line.split(':')[0]),
    ['FILMGATE_BUCKET'],
  )
  const wrong = (env: Record<string, string>, flags = {}) =>
    mistakesOf('', env, flags).map((line) => line.split(':')[0])
  assert.deepEqual(wrong({ FILMGATE_CONTENT: 'redirect' }), ['FILMGATE_CONTENT'])
  assert.deepEqual(wrong({}, { content: 'redirect' }), ['--content'])
  assert.deepEqual(wrong(s3, { role: 'api' }), ['--role'])
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import pg from 'pg'
import { startCli } from '../src/cli/cli.fixture.ts'
import { parseStore } from '../src/config/places.ts'
import { assertMoved, local, move, objectsOf } from './migrate/moving.ts'
import { makeSource } from './migrate/source.ts'
import { operatorToken, startService, until } from './service.ts'
import { startPlaces } from './services/places.ts'

/* Common mistakes in a migration: each is reported at once, with what to do. */

const places = await startPlaces({ fsync: 'off' })
const { postgres, s3 } = places
const folder = mkdtempSync(join(tmpdir(), 'filmgate-migrate-'))
after(async () => {
  await places[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})
const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return (await client.query(text).finally(() => client.end())).rows
}

async function makeDatabase(name: string): Promise<string> {
  await query(postgres.url, `CREATE DATABASE ${name}`)
  return postgres.url.replace(/postgres$/, name)
}

async function run(...args: string[]): Promise<string> {
  await using cli = startCli(['migrate', ...args], { cwd: folder, env: { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } })
  const { code, stderr } = await cli.exit
  return `${code} ${stderr}`
}

it('a target on which a service only lived is empty, and what it left of itself is dropped', async () => {
  using source = await makeSource({ each: 1 })
  const url = await makeDatabase('lived')
  const env = { FILMGATE_STORE: url, FILMGATE_OPERATOR_TOKEN: operatorToken }
  {
    await using service = await startService({ env })
    await until('it says that it lives', async () => (await query(url, 'SELECT FROM healths')).length > 0)
    assert.ok(service.url)
  }
  const to = { ...local(join(folder, 'lived')), store: parseStore(url).value }
  assertMoved(await move(local(source.data), to), objectsOf(source))
})

it('a target with rows of its own is refused, with their table and what to do', async () => {
  using source = await makeSource({ each: 1 })
  const url = await makeDatabase('used')
  {
    await using service = await startService({ env: { FILMGATE_STORE: url } })
    assert.ok(service.url)
  }
  const said = await run('--from-data', source.data, '--to-store', url)
  assert.match(said, /^1 [\s\S]*the target is not empty: its table tokens has rows/)
  assert.match(said, /drop it and create it again\), and move before a service is first started there/)
})

it('a row that the target does not take is named', async () => {
  using source = await makeSource({ each: 1 })
  const [id = ''] = source.films.keys()
  source.sql(`UPDATE tasks SET seconds = 3000000000 WHERE id = '${id}' RETURNING id`)
  const said = await run('--from-data', source.data, '--to-store', await makeDatabase('refusing'))
  assert.match(
    said,
    new RegExp(`^1 [^]*the target refuses a row of tasks \\(id ${id}\\): .*out of range.*; fix it in the source`),
  )
})

it('a source and a target that are the same database under two names are refused as such', async () => {
  const url = await makeDatabase('twice')
  const other = url.replace('127.0.0.1', 'localhost')
  const films = ['--from-bucket', 's3://films?region=x', '--to-bucket', 's3://other?region=x']
  const said = await run('--from-store', url, '--to-store', other, ...films)
  assert.match(said, /^1 [\s\S]*the target: source and target are the same database/)
})

it('a bucket that can not be used is reported with its fix, before any row is read', async () => {
  using source = await makeSource({ each: 1 })
  const url = await makeDatabase('early')
  const secure = s3.endpoint.replace('http:', 'https:')
  for (const [bucket, why, fix] of [
    [`s3://nowhere?endpoint=${s3.endpoint}&path_style=true`, /NoSuchBucket/, /create the bucket/],
    ['s3://films?endpoint=http://127.0.0.1:1&path_style=true', /ECONNREFUSED/, /check the endpoint, and that it runs/],
    [`s3://films?endpoint=${secure}&path_style=true`, /speaks http:\/\/, not https/, /start the endpoint with http:/],
  ] as const) {
    const said = await run('--from-data', source.data, '--to-store', url, '--to-bucket', bucket)
    const [, given, mend] = /^1 [\s\S]*the storage failed: (.*)\n\s*To fix it: (.*)/.exec(said) ?? []
    assert.match(given ?? said, why)
    assert.match(mend ?? said, fix)
    assert.doesNotMatch(said, /counting|rows|EPROTO/)
    assert.deepEqual(await query(url, 'SELECT FROM tasks'), [])
  }
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { startService, type TestService } from './service.ts'

/* The secrets of webhooks are encrypted in the database, and the key can be changed. */

const root = mkdtempSync(join(tmpdir(), 'filmgate-test-secrets-'))
after(() => rmSync(root, { recursive: true }))

const newKey = () => randomBytes(32).toString('base64')
const start = (data: string, keys?: string) =>
  startService({ env: { FILMGATE_DATA: data, ...(keys !== undefined && { FILMGATE_SECRET_KEY: keys }) } })

interface Endpoint {
  id: string
  signing_secret: string
  signing_secret_hint: string
}

async function create(service: TestService): Promise<Endpoint> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'films', url: 'https://8.8.8.8/hook', event_types: ['video.completed'] })
  const answer = await service.fetch('/v1/webhook_endpoints', { method: 'POST', headers, body })
  return (await answer.json()) as Endpoint
}

async function hintOf(service: TestService, id: string): Promise<string> {
  const answer = await service.fetch(`/v1/webhook_endpoints/${id}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as Endpoint).signing_secret_hint
}

/** The secret as the database has it. */
function rowOf(data: string, id: string): string {
  using database = new DatabaseSync(join(data, 'filmgate.db'))
  return String(database.prepare('SELECT secret FROM endpoints WHERE id = ?').get(id)?.secret)
}

function writeClear(data: string, id: string, secret: string): void {
  using database = new DatabaseSync(join(data, 'filmgate.db'))
  database.prepare('UPDATE endpoints SET secret = ? WHERE id = ?').run(secret, id)
}

it('without a setting, the first start creates a key that other users can’t read, and no secret is in clear', async () => {
  const data = join(root, 'file')
  let made: Endpoint
  {
    await using service = await start(data)
    made = await create(service)
    const file = join(data, 'secret.key')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    for (const name of readdirSync(data).filter((one) => one.startsWith('filmgate.db')))
      assert.ok(!readFileSync(join(data, name), 'latin1').includes(made.signing_secret.slice('whsec_'.length)), name)
    const log = service.log.join('')
    for (const secret of [made.signing_secret, readFileSync(file, 'utf8').trim()]) assert.ok(!log.includes(secret))
  }
  await using again = await start(data)
  assert.equal(await hintOf(again, made.id), made.signing_secret_hint)
})

it('secrets of an earlier version, in clear, are encrypted by the next start, and stay valid', async () => {
  const data = join(root, 'clear')
  let made: Endpoint
  {
    await using service = await start(data)
    made = await create(service)
  }
  writeClear(data, made.id, made.signing_secret)
  {
    await using again = await start(data)
    assert.match(rowOf(data, made.id), /^sealed:1:/)
    assert.equal(await hintOf(again, made.id), made.signing_secret_hint)
  }
  // Nor is it in the parts of the file that no row uses.
  for (const name of readdirSync(data).filter((one) => one.startsWith('filmgate.db')))
    assert.ok(!readFileSync(join(data, name), 'latin1').includes(made.signing_secret.slice('whsec_'.length)), name)
})

it('a key is replaced by another: first both, then the new one alone', async () => {
  const data = join(root, 'rotated')
  const [old, next] = [newKey(), newKey()]
  let made: Endpoint
  {
    await using service = await start(data, old)
    made = await create(service)
  }
  assert.ok(!existsSync(join(data, 'secret.key')))
  const before = rowOf(data, made.id)
  {
    await using service = await start(data, `${next},${old}`)
    assert.equal(await hintOf(service, made.id), made.signing_secret_hint)
    assert.notEqual(rowOf(data, made.id), before)
  }
  await using service = await start(data, next)
  assert.equal(await hintOf(service, made.id), made.signing_secret_hint)
})

it('a start with the wrong key, or without it, says which secrets it can’t read and what to do', async () => {
  const data = join(root, 'wrong')
  const key = newKey()
  let made: Endpoint
  {
    await using service = await start(data, key)
    made = await create(service)
  }
  const said = new RegExp(
    `FILMGATE_SECRET_KEY: .*1 webhook endpoint \\(${made.id}\\).*add that key to FILMGATE_SECRET_KEY`,
  )
  await assert.rejects(start(data, newKey()), said)
  await assert.rejects(start(data), said)
  assert.ok(!existsSync(join(data, 'secret.key')))
  await using service = await start(data, key)
  assert.equal(await hintOf(service, made.id), made.signing_secret_hint)
})

it('a setting that is not a key is refused, and not shown', async () => {
  const wrong = 'not-a-key-but-a-secret'
  await assert.rejects(start(join(root, 'none'), wrong), (error: Error) => {
    assert.match(
      error.message,
      /FILMGATE_SECRET_KEY: its value can't be used; use what `openssl rand -base64 32` prints/,
    )
    assert.ok(!error.message.includes(wrong))
    return true
  })
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { spawnServer } from './process.ts'
import { operatorToken, startService, type TestService, until } from './service.ts'
import { startPlaces } from './services/places.ts'

const film = { model: 'studio', prompt: 'a red fox', seconds: 1, size: '256x256' }
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const folder = mkdtempSync(join(tmpdir(), 'filmgate-shared-'))
const places = await startPlaces()
after(async () => {
  await places[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** The two lines that one changes, and the role. */
const settings = (role = 'all') => places.settings(role)

async function submit(service: TestService, fields: object = {}): Promise<string> {
  const answer = await service.submit({ ...film, ...fields })
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { id: string }).id
}

const errorsOf = ({ log }: TestService) => log.filter((line) => line.includes('"level":"error"'))

it('makes a film on PostgreSQL and S3, and serves it after a restart', async () => {
  await using service = await startService({ env: settings() })
  const id = await submit(service)
  assert.equal((await service.finish(id)).status, 'completed')
  await service.restart()
  const content = await service.fetch(`/v1/videos/${id}/content`)
  assert.deepEqual([content.status, content.headers.get('content-type')], [200, 'video/mp4'])
  assert.ok((await content.arrayBuffer()).byteLength > 1000)
  assert.deepEqual(errorsOf(service), [])
})

it('one process takes requests and two make the films, each its own from beginning to end', async () => {
  await using api = await startService({ env: settings('api') })
  await using one = await startService({ env: settings('worker') })
  await using two = await startService({ env: settings('worker') })
  const ids = await Promise.all(
    Array.from({ length: 8 }, (_, at) => submit(api, at % 2 ? { image: `data:image/png;base64,${png}` } : {})),
  )
  for (const id of ids) assert.equal((await api.finish(id)).status, 'completed')
  const made = (worker: TestService) => worker.log.filter((line) => line.includes('task completed')).length
  assert.deepEqual([made(one) + made(two), made(api)], [8, 0])
  assert.ok(made(one) > 0 && made(two) > 0, `${made(one)} and ${made(two)}`)
  for (const service of [api, one, two]) assert.deepEqual(errorsOf(service), [])
})

it('the same key at two processes at once is one task, also while the bucket is away', async () => {
  const env = { ...settings('api'), FILMGATE_BUCKET: 's3://films?endpoint=http%3A%2F%2F127.0.0.1%3A1&path_style=true' }
  await using one = await startService({ env })
  await using two = await startService({ env })
  for (let round = 0; round < 10; round += 1) {
    const headers = { 'idempotency-key': `key ${round}` }
    const answers = await Promise.all([one, two].map((service) => service.submit(film, headers)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    )
    const [first, second] = await Promise.all(answers.map((answer) => answer.text()))
    assert.equal(first, second)
  }
})

it('a film whose worker is killed is made by another', async () => {
  await using api = await startService({ env: settings('api') })
  const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env
  const env = { ...settings('worker'), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY }
  await using doomed = spawnServer({ args: ['--data', join(folder, 'doomed')], env })
  await doomed.url
  const id = await submit(api, { seconds: 20, size: '640x360', image: `data:image/png;base64,${png}` })
  const statusOf = async () => (await api.fetch(`/v1/videos/${id}`)).json() as Promise<{ status: string }>
  await until('the film is begun', async () => (await statusOf()).status === 'in_progress')
  doomed.child.kill('SIGKILL')
  await doomed.exit
  await using _other = await startService({ env: settings('worker') })
  assert.equal((await api.finish(id)).status, 'completed')
})

it('an operator is shown no account that nobody works for, and none of a worker as missing', async () => {
  await using api = await startService({ env: { ...settings('api'), FILMGATE_OPERATOR_TOKEN: operatorToken } })
  await using _worker = await startService({ env: settings('worker') })
  const id = await submit(api, { seconds: 20, size: '640x360' })
  type Accounts = { data: object[]; missing: string[]; elsewhere: string[] }
  const { data, missing, elsewhere } = await until('a worker draws it', async () => {
    const accounts = await api.operator<Accounts>('/accounts')
    return accounts.elsewhere.length > 0 && accounts
  })
  assert.deepEqual([data, missing], [[], []])
  assert.match(elsewhere.join(), /^studio@[0-9a-f]{12}$/)
  assert.equal((await api.fetch(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
})

it('says whether it can work, whatever its role, and a worker says nothing else', async () => {
  await using api = await startService({ env: settings('api') })
  await using worker = await startService({ env: settings('worker') })
  for (const service of [api, worker]) {
    const ready = await service.fetch('/readyz')
    assert.deepEqual(
      [ready.status, await ready.json()],
      [200, { status: 'ok', reason: null, store: 'ok', bucket: 'ok' }],
    )
    assert.equal((await service.fetch('/livez')).status, 200)
  }
  assert.equal((await worker.fetch('/v1/models')).status, 404)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { startUpstream } from '../simulators/upstream.ts'
import { providers } from '../src/providers/index.ts'
import { operatorToken, startService, type TestService, until } from './service.ts'

/* What clients send adds no series to the metrics. */

const clients = 10_000
const atOnce = 32

async function post<Body>(service: TestService, path: string, secret: string, body: object): Promise<[number, Body]> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const response = await service.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  return [response.status, (await response.json()) as Body]
}

/** The names and labels of all series. */
async function readSeries(service: TestService): Promise<Set<string>> {
  const response = await service.fetch('/metrics', { headers: { authorization: `Bearer ${operatorToken}` } })
  assert.equal(response.status, 200)
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' '))))
}

const hostileNames: ((number: number) => string)[] = [
  (number) => `model-${number}`,
  (number) => `sim-none-${number}`,
  (number) => `m${number}"} 1\nfilmgate_injected{a="`,
  (number) => `\\${number}\u202e{}=,#`,
  (number) => String(number).repeat(20),
]
const hostileName = (number: number) => hostileNames[number % hostileNames.length]?.(number)

/** A new project submits, polls, and sends a name that no model has. */
async function act(service: TestService, number: number): Promise<void> {
  const token = { name: `token ${number}`, project: `project-${number}` }
  const [created, { secret }] = await post<{ secret: string }>(service, '/operator/v1/tokens', operatorToken, token)
  const film = { model: 'sim-none', prompt: `film ${number}`, seconds: '4', size: '1280x720' }
  const [accepted, { id }] = await post<{ id: string }>(service, '/v1/videos', secret, film)
  const polled = await service.fetch(`/v1/videos/${id}`, { headers: { authorization: `Bearer ${secret}` } })
  await polled.arrayBuffer()
  const [refused] = await post(service, '/v1/videos', secret, { ...film, model: hostileName(number) })
  assert.deepEqual([created, accepted, polled.status, refused], [200, 200, 200, 404], `client ${number}`)
}

it(`${clients} tokens and ${clients} names that no model has add no series`, async () => {
  await using upstream = await startUpstream()
  const members = { ...providers, ...simulated }
  await using service = await startService({ members })
  const account = { name: 'main', provider: 'sim-none', base_url: upstream.url, key: 'sk-key', concurrency: 1 }
  assert.equal((await post(service, '/operator/v1/accounts', operatorToken, account))[0], 200)
  // The tasks stay queued.
  assert.equal((await post(service, '/operator/v1/accounts/main/pause', operatorToken, {}))[0], 200)
  await act(service, 0)
  // The figures may be older than the account. A scrape counts itself only in the next one.
  await until('the account has figures', async () =>
    (await readSeries(service)).has('filmgate_slots_used{account="main"}'),
  )
  const before = await readSeries(service)
  let next = 1
  const work = async () => {
    while (next <= clients) await act(service, next++)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const after = await readSeries(service)
  assert.ok(before.size > 100)
  assert.ok(after.has('filmgate_http_requests_total{route="/v1/videos",method="POST",status="404"}'))
  const added = [...after].filter((series) => !before.has(series))
  assert.deepEqual(added, [])
})

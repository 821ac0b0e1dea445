import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { spawnServer } from './process.ts'
import { operatorToken, startService, type TestService, token } from './service.ts'
import { startPgBouncer } from './services/pgbouncer.ts'
import { startPlaces } from './services/places.ts'

/* What an operator changes at one process is in force at another. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-live-tokens-'))
const places = await startPlaces()
after(async () => {
  await places[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const proxies = { FILMGATE_TRUSTED_PROXIES: '127.0.0.0/8' }
const settings = (store?: string) => ({
  ...places.settings('api', store),
  ...proxies,
  FILMGATE_OPERATOR_TOKEN: operatorToken,
})

async function post<Answer>(service: TestService, path: string, body: object = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const answer = await service.fetch(`/operator/v1${path}`, init)
  assert.equal(answer.status, 200)
  return (await answer.json()) as Answer
}

/** Much longer than it takes, for a machine that is busy with other tests. */
const deadlineMs = 30_000

let asked = 0

/** Milliseconds until the server responds with that status. */
async function timeUntil(status: number, url: string, secret: string): Promise<number> {
  const begin = performance.now()
  for (;;) {
    // From another address each time: many unknown secrets from one address are slowed down.
    const headers = { authorization: `Bearer ${secret}`, 'x-forwarded-for': `198.51.${asked >> 8}.${asked++ & 255}` }
    const answer = await fetch(`${url}/v1/models`, { headers })
    await answer.arrayBuffer()
    const passed = performance.now() - begin
    if (answer.status === status) return passed
    assert.ok(passed < deadlineMs, `no ${status} after ${passed} ms`)
    await setTimeout(5)
  }
}

for (const way of ['directly', 'behind PgBouncer'] as const)
  it(`a second process, connected ${way}, follows every change of a token`, async (test) => {
    await using stack = new AsyncDisposableStack()
    const place = way === 'directly' ? places.postgres : stack.use(await startPgBouncer(places.postgres.port))
    const one = stack.use(await startService({ env: settings() }))
    const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env
    const env = { ...settings(place.url), FILMGATE_TOKEN: token, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY }
    const other = stack.use(spawnServer({ args: ['--data', join(folder, way.replace(' ', '-'))], env }))
    const url = await other.url
    const { id, secret } = await post<{ id: string; secret: string }>(one, '/tokens', { name: way })
    const took: Record<string, number> = { created: await timeUntil(200, url, secret) }
    await post(one, `/tokens/${id}`, { enabled: false })
    took.disabled = await timeUntil(401, url, secret)
    await post(one, `/tokens/${id}`, { enabled: true })
    took.enabled = await timeUntil(200, url, secret)
    const rotated = await post<{ secret: string }>(one, `/tokens/${id}/rotate`)
    took.rotated = await timeUntil(401, url, secret)
    assert.equal(await timeUntil(200, url, rotated.secret).then(() => 'valid'), 'valid')
    await post(one, `/tokens/${id}/revoke`)
    took.revoked = await timeUntil(401, url, rotated.secret)
    const shown = Object.entries(took).map(([what, ms]) => `${what} ${Math.round(ms)} ms`)
    test.diagnostic(`in force at the second process after: ${shown.join(', ')}`)
  })

it('of two processes that change a token at once, both changes are kept', async () => {
  await using one = await startService({ env: settings() })
  await using two = await startService({ env: settings() })
  const { id } = await post<{ id: string }>(one, '/tokens', { name: 'changed twice' })
  await timeUntilKnown(two, id)
  await Promise.all([post(one, `/tokens/${id}`, { rate: 5 }), post(two, `/tokens/${id}`, { concurrency: 6 })])
  const headers = { authorization: `Bearer ${operatorToken}` }
  const audit = await one.fetch('/operator/v1/audit?limit=2', { headers })
  const { data } = (await audit.json()) as { data: { after: { rate: number; concurrency: number } }[] }
  assert.deepEqual([data[0]?.after.rate, data[0]?.after.concurrency], [5, 6])
})

async function timeUntilKnown(service: TestService, id: string): Promise<void> {
  const begin = performance.now()
  const headers = { authorization: `Bearer ${operatorToken}` }
  while ((await service.fetch(`/operator/v1/tokens/${id}`, { headers })).status !== 200) {
    assert.ok(performance.now() - begin < deadlineMs, 'the token stays unknown')
    await setTimeout(5)
  }
}

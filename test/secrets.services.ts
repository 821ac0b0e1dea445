import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, it } from 'node:test'
import { startService, type TestService } from './service.ts'
import { startPlaces } from './services/places.ts'

/* Processes that share a store share the key of its secrets by a setting: each has a folder of its own. */

const places = await startPlaces({ fsync: 'off' })
after(() => places[Symbol.asyncDispose]())

const { FILMGATE_SECRET_KEY: _, ...without } = places.settings('api')
const key = randomBytes(32).toString('base64')

function create(service: TestService): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'films', url: 'https://8.8.8.8/hook', event_types: ['video.completed'] })
  return service.fetch('/v1/webhook_endpoints', { method: 'POST', headers, body })
}

it('without the key no secret is stored, and with it every process reads what one of them stored', async () => {
  {
    await using service = await startService({ env: without })
    const refused = await create(service)
    const { error } = (await refused.json()) as { error: { code: string; message: string } }
    assert.deepEqual([refused.status, error.code], [503, 'storage_unavailable'])
    assert.match(error.message, /no key to encrypt secrets.*FILMGATE_SECRET_KEY/)
    assert.match(service.log.join(''), /openssl rand -base64 32/)
  }
  const env = { ...without, FILMGATE_SECRET_KEY: key }
  await using one = await startService({ env })
  await using other = await startService({ env })
  const made = (await (await create(one)).json()) as { id: string; signing_secret_hint: string }
  const found = await other.fetch(`/v1/webhook_endpoints/${made.id}`)
  assert.equal(((await found.json()) as typeof made).signing_secret_hint, made.signing_secret_hint)
  await assert.rejects(startService({ env: without }), /FILMGATE_SECRET_KEY: .*1 webhook endpoint \(whe_/)
})

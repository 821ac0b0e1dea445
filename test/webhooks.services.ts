import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { startService, until } from './service.ts'
import { startPlaces } from './services/places.ts'
import { type Delivery, isDelivered, startReceiver } from './webhook-world.ts'

/* Webhooks of processes that share a store: exactly one worker sends each, whichever process accepted the request. */

const places = await startPlaces({ fsync: 'off' })
after(() => places[Symbol.asyncDispose]())

it('each event is sent by one of the workers, once, and a replay at another process reaches them', async () => {
  await using receiver = await startReceiver()
  const yaml = `outbound: { allow: ["127.0.0.1:${receiver.port}"] }`
  const start = (role: string) => startService({ yaml, env: places.settings(role) })
  await using api = await start('api')
  await using _first = await start('worker')
  await using _second = await start('worker')
  const json = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {}
    return (await (await api.fetch(`/v1/webhook_endpoints${path}`, init)).json()) as { id: string; data: Delivery[] }
  }
  const fields = { name: 'x', url: `${receiver.url}/hook`, event_types: ['video.failed'] }
  const { id } = await json('', fields)
  const image = `${receiver.url}/none.png`
  const made = Array.from({ length: 30 }, (_, at) => api.submit({ model: 'studio', prompt: `film ${at}`, image }))
  for (const answer of await Promise.all(made)) assert.equal(answer.status, 200)
  const all = await until('all are delivered', async () => {
    const { data } = await json(`/${id}/deliveries?limit=100`)
    return data.length === 30 && data.every(isDelivered) && data
  })
  assert.ok(all.every(({ tries }) => tries.length === 1))
  const ids = () => receiver.all.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual(ids().sort(), all.map((delivery) => delivery.id).sort())
  const [again] = all
  await json(`/${id}/deliveries/${again?.id}/replay`, {})
  await until('it comes again', () => ids().filter((one) => one === again?.id).length === 2)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseRetryAfter } from './retry-after.ts'
import { hintOf, newSigningSecret, sign } from './signature.ts'
import { afterTry, deliveryIdsFrom, eventBody, newDelivery, signedRequest, type WebhookDelivery } from './webhook.ts'

const task = `video_${'ab'.repeat(24)}`
const endpoint = { id: `whe_${'0'.repeat(36)}`, owner: 'alice' }
const delivery = newDelivery(endpoint, { task, at: 1_794_709_428_999, type: 'video.completed' })
const tried = (status: number | null, at = 0) => ({
  at,
  status,
  error: status === null ? 'timed_out' : null,
  tookMs: 0,
})

it('signs the published example of Standard Webhooks', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  assert.equal(sign(message, [secret]), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  const both = sign(message, [newSigningSecret((count) => new Uint8Array(count)), secret]).split(' ')
  assert.equal(both.length, 2)
  assert.equal(both[1], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

it('generates secrets of 32 bytes in base64 with padding, and hints that do not reveal them', () => {
  const secret = newSigningSecret((count) => Uint8Array.from({ length: count }, (_, at) => at * 7))
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32)
  assert.match(hintOf(secret), /^whsec_\*{4}.{4}$/)
  assert.ok(secret.includes(hintOf(secret).slice(-4)))
})

it('an event has the body that OpenAI documents, byte for byte the same each time', () => {
  const body = `{"id":"evt_${'ab'.repeat(24)}c","object":"event","created_at":1794709428,"type":"video.completed","data":{"id":"${task}"}}`
  assert.equal(eventBody(delivery), body)
  assert.equal(eventBody({ ...delivery, tries: 3, log: [tried(500)] } as WebhookDelivery), body)
})

it('the id of a delivery is that of its event at its endpoint, safe in a URL, and in the order of time', () => {
  const again = newDelivery(endpoint, { task, at: delivery.createdAt, type: 'video.completed' })
  assert.equal(again.id, delivery.id)
  const elsewhere = newDelivery({ ...endpoint, id: 'whe_1' }, { task, at: delivery.createdAt, type: 'video.completed' })
  assert.notEqual(elsewhere.id, delivery.id)
  const later = newDelivery(endpoint, { task, at: delivery.createdAt + 1, type: 'video.failed' })
  assert.ok(later.id > delivery.id && later.id >= deliveryIdsFrom(delivery.createdAt + 1))
  assert.ok(delivery.id < deliveryIdsFrom(delivery.createdAt + 1))
  assert.match(later.id, /^wh_[0-9a-f]{44}$/)
})

it('both secrets sign while they overlap, and each try has its own time', () => {
  const [secret, oldSecret] = [1, 2].map((fill) => newSigningSecret((count) => new Uint8Array(count).fill(fill)))
  const keys = { secret: secret as string, oldSecret: oldSecret as string, oldSecretUntil: 10_000 }
  const { headers, body } = signedRequest(delivery, keys, 9_999)
  assert.equal(headers['webhook-timestamp'], '9')
  const signed = { id: delivery.id, timestamp: 9, body }
  assert.equal(headers['webhook-signature'], sign(signed, [keys.secret, keys.oldSecret]))
  const later = signedRequest(delivery, keys, 10_000).headers
  assert.equal(later['webhook-signature'], sign({ ...signed, timestamp: 10 }, [keys.secret]))
  assert.equal(later['webhook-id'], headers['webhook-id'])
})

it('is tried ten times in about 75 hours, and then has failed', () => {
  for (const chance of [0, 0.999]) {
    let one = delivery
    const at: number[] = []
    while (one.state === 'pending') {
      at.push((one.dueAt ?? 0) - delivery.createdAt)
      one = { ...one, ...afterTry(one, tried(500, one.dueAt ?? 0), { chance }) }
    }
    assert.equal(one.state, 'failed')
    assert.deepEqual([one.tries, one.log.length, one.dueAt], [10, 10, null])
    const hours = (at.at(-1) ?? 0) / 3_600_000
    assert.ok(hours > 75 && hours < 84, String(hours))
    assert.ok(at[1] === 5_000 || chance > 0)
  }
})

it('only a 2xx is a success; 410 ends it at once', () => {
  const state = (status: number | null) => afterTry(delivery, tried(status), { chance: 0 }).state
  for (const status of [200, 201, 204, 299]) assert.equal(state(status), 'delivered')
  for (const status of [null, 300, 302, 308, 400, 404, 429, 500]) assert.equal(state(status), 'pending')
  assert.equal(state(410), 'failed')
})

it('waits as long as a busy receiver asks, but never less than usual nor more than a day', () => {
  const due = (status: number, header: string) =>
    afterTry(delivery, tried(status), { retryAfterMs: parseRetryAfter(header, 0), chance: 0 }).dueAt
  for (const status of [429, 502, 503, 504]) assert.equal(due(status, '120'), 120_000)
  assert.equal(due(429, new Date(60_000).toUTCString()), 60_000)
  assert.equal(due(500, '120'), 5_000)
  for (const header of ['1', '-7', 'soon', '', '  ']) assert.equal(due(503, header), 5_000)
  for (const header of ['9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT']) assert.equal(due(503, header), 86_400_000)
})

it('keeps only the end of a long log', () => {
  const log = Array.from({ length: 60 }, (_, at) => tried(500, at))
  const { log: kept } = afterTry({ ...delivery, log }, tried(200, 99), { chance: 0 })
  assert.equal(kept.length, 40)
  assert.equal(kept.at(-1)?.at, 99)
})

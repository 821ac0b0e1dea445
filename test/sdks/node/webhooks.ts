import assert from 'node:assert/strict'
import { InvalidWebhookSignatureError, NotFoundError } from 'openai-7.53'
import { check, lazily, openai, receiver, refused, source, until } from './program.ts'

type Types = Parameters<typeof openai.webhooks.create>[0]['event_types']
interface Delivery {
  headers: Record<string, string>
  body: string
}

const types: Types = ['video.completed', 'video.failed']

/** Where this program receives webhooks. */
const endpoint = lazily(() => openai.webhooks.create({ name: 'films', url: receiver, event_types: types }))

/** Created before any video. If that fails, the rows that need it fail. */
export const register = () => endpoint().catch(() => {})

async function deliveries(): Promise<Delivery[]> {
  return (await (await fetch(receiver)).json()) as Delivery[]
}

const delivery = lazily(async () => {
  await endpoint()
  const { id } = await source()
  return until(`${id} is told`, async () => (await deliveries()).find(({ body }) => body.includes(id)))
})

export async function checkWebhooks(): Promise<void> {
  await check('webhooks.eventTypes.list', async () => {
    const { object, data } = await openai.webhooks.eventTypes.list()
    assert.equal(object, 'list')
    assert.ok(types.every((type) => data.includes(type)))
  })
  await checkEndpoints()
  await checkUnwrap()
  await checkSecret()
  await check('webhooks.delete', async () => {
    const { id } = await endpoint()
    assert.deepEqual(await openai.webhooks.delete(id), { id, object: 'webhook_endpoint.deleted', deleted: true })
    await refused(() => openai.webhooks.retrieve(id), { kind: NotFoundError, status: 404 })
  })
}

async function checkEndpoints(): Promise<void> {
  await check('webhooks.create', async () => {
    const { id, created_at, updated_at, signing_secret, signing_secret_hint, ...rest } = await endpoint()
    // Beyond the fields of the SDK, it says whether it is disabled.
    const on = { disabled_at: null, disabled_reason: null }
    assert.deepEqual(rest, { object: 'webhook_endpoint', name: 'films', url: receiver, event_types: types, ...on })
    assert.match(id, /^\w+$/)
    assert.ok(Number.isInteger(created_at) && Math.abs(created_at - Date.now() / 1_000) < 120)
    assert.equal(updated_at, created_at)
    assert.match(signing_secret, /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/)
    assert.ok(signing_secret_hint && !signing_secret_hint.includes(signing_secret))
  })
  await check('webhooks.retrieve', async () => {
    const { signing_secret: _, ...shown } = await endpoint()
    assert.deepEqual(await openai.webhooks.retrieve(shown.id), shown)
  })
  await check('webhooks.update', async () => {
    const { signing_secret: _, ...shown } = await endpoint()
    const changed = await openai.webhooks.update(shown.id, { name: 'all films' })
    assert.deepEqual({ ...changed, updated_at: 0 }, { ...shown, name: 'all films', updated_at: 0 })
    assert.ok(Number(changed.updated_at) >= Number(shown.updated_at))
    assert.equal((await openai.webhooks.update(shown.id, { name: 'films' })).name, 'films')
  })
  await check('webhooks.list', async () => {
    const ids = [(await endpoint()).id]
    for (const name of ['second', 'third'])
      ids.unshift((await openai.webhooks.create({ name, url: receiver, event_types: ['video.failed'] })).id)
    const seen: string[] = []
    for await (const { id, ...rest } of openai.webhooks.list({ limit: 2 })) {
      assert.ok(!('signing_secret' in rest))
      seen.push(id)
    }
    assert.deepEqual(seen, ids)
    for (const id of ids.slice(0, 2)) await openai.webhooks.delete(id)
  })
}

async function checkUnwrap(): Promise<void> {
  await check('webhooks.unwrap', async () => {
    const { body, headers } = await delivery()
    const { id, created_at, ...rest } = await openai.webhooks.unwrap(body, headers, (await endpoint()).signing_secret)
    assert.deepEqual(rest as unknown, { object: 'event', type: 'video.completed', data: { id: (await source()).id } })
    assert.match(id, /^evt_\w+$/)
    assert.ok(Math.abs(created_at - Date.now() / 1_000) < 120)
  })
  await check('webhooks.unwrap, a changed body', async () => {
    const { body, headers } = await delivery()
    const { signing_secret } = await endpoint()
    const changed = body.replace('video.completed', 'video.failed')
    await assert.rejects(openai.webhooks.unwrap(changed, headers, signing_secret), InvalidWebhookSignatureError)
  })
}

async function checkSecret(): Promise<void> {
  const test = async (id: string) => {
    const before = (await deliveries()).length
    const result = await openai.webhooks.test(id, { event_type: 'video.completed' })
    assert.deepEqual(result, {
      ...{ object: 'webhook_endpoint.test', event_type: 'video.completed', status_code: 200, success: true },
      webhook_endpoint_id: id,
    })
    const fresh = (await deliveries()).slice(before)
    assert.ok(fresh.length > 0)
    return fresh
  }
  await check('webhooks.test', async () => {
    const { id, signing_secret } = await endpoint()
    for (const { body, headers } of await test(id)) await openai.webhooks.unwrap(body, headers, signing_secret)
  })
  await check('webhooks.rotateSecret', async () => {
    const { id, signing_secret: old } = await endpoint()
    const rotated = await openai.webhooks.rotateSecret(id, { keep_old_secret_active_for_24_hours: true })
    assert.equal(rotated.id, id)
    assert.notEqual(rotated.signing_secret, old)
    // While both secrets are valid, either verifies.
    for (const { body, headers } of await test(id))
      for (const secret of [old, rotated.signing_secret]) await openai.webhooks.unwrap(body, headers, secret)
    const { signing_secret } = await openai.webhooks.rotateSecret(id)
    for (const { body, headers } of await test(id)) {
      await openai.webhooks.unwrap(body, headers, signing_secret)
      await assert.rejects(openai.webhooks.unwrap(body, headers, old), InvalidWebhookSignatureError)
    }
  })
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mostEndpoints } from '../src/core/webhook.ts'
import type { OperatorTask } from '../src/wire/operator.ts'
import { jumpingClock, until } from './service.ts'
import { isDelivered, type Received, WebhookWorld } from './webhook-world.ts'

/* Webhooks. Faults of their receivers are in webhooks-faults.test.ts. */

const hour = 3_600_000
const idOf = ({ headers }: Received) => headers['webhook-id']

describe('webhooks', { concurrency: 3 }, () => {
  it('tell of each end once, signed so that OpenAI’s SDK takes it, and only of what is wanted', async () => {
    await using world = await WebhookWorld.open()
    const both = await world.create()
    const failures = await world.create({ event_types: ['video.failed'], url: `${world.receiver.url}/failures` })
    const [made, failed] = [await world.make(), await world.fail()]
    const [done] = await world.settle(failures, 1, isDelivered)
    const all = await world.settle(both, 2, isDelivered)
    assert.equal(world.receiver.all.length, 3)
    assert.deepEqual([done?.video_id, done?.event_type], [failed, 'video.failed'])
    assert.deepEqual(all.map(({ video_id: id }) => id).sort(), [made, failed].sort())
    for (const received of world.receiver.all) {
      const { signing_secret: secret } = received.path === '/hook' ? both : failures
      const event = (await world.unwrap(received, secret)) as unknown as Record<string, unknown>
      const { id } = event.data as { id: string }
      assert.deepEqual(Object.keys(event), ['id', 'object', 'created_at', 'type', 'data'])
      assert.deepEqual(event, {
        ...{ id: `evt_${id.slice(6)}${id === made ? 'c' : 'f'}`, object: 'event', created_at: event.created_at },
        ...{ type: id === made ? 'video.completed' : 'video.failed', data: { id } },
      })
      assert.ok(Math.abs(Number(event.created_at) - Date.now() / 1000) < 60)
      assert.equal(received.headers['content-type'], 'application/json')
      const tampered = { ...received, body: received.body.replace(id, `video_${'0'.repeat(48)}`) }
      await assert.rejects(world.unwrap(tampered, secret))
      await assert.rejects(world.unwrap(received, `whsec_${'A'.repeat(43)}=`))
    }
    assert.equal(new Set(world.receiver.all.map(idOf)).size, 3)
    const text = world.service.log.join('')
    for (const { signing_secret: secret } of [both, failures]) assert.ok(!text.includes(secret.slice(6)))
  })

  it('are shown to operators with the task: one that was delivered, one that is tried again, and none that was not wanted', async () => {
    await using world = await WebhookWorld.open()
    const [good, bad] = [await world.create(), await world.create({ url: `${world.receiver.url}/bad` })]
    await world.create({ event_types: ['video.failed'] })
    world.receiver.handle = ({ path }, response) => void response.writeHead(path === '/bad' ? 500 : 200).end()
    const id = await world.make()
    const [done] = await world.settle(good, 1, isDelivered)
    const shown = () => world.service.operator<OperatorTask>(`/tasks/${id}`)
    await until('the other was tried', async () => (await shown()).deliveries.every(({ tries }) => tries > 0))
    const { deliveries, completed_at: at } = await shown()
    const found = new Map(deliveries.map((one) => [one.endpoint, one]))
    assert.deepEqual([...found.keys()].toSorted(), [good.id, bad.id].toSorted())
    const [first, second] = [found.get(good.id), found.get(bad.id)]
    assert.deepEqual([first?.id, first?.state, first?.next_try_at], [done?.id, 'delivered', null])
    assert.deepEqual([second?.state, second?.ended_at], ['pending', null])
    assert.ok(String(first?.created_at) >= String(at) && String(first?.ended_at) >= String(first?.created_at))
    assert.ok(String(second?.next_try_at) > String(second?.created_at))
  })

  it('are shown to operators for as many endpoints as a token may have', async () => {
    await using world = await WebhookWorld.open()
    for (let at = 0; at < mostEndpoints; at += 1) await world.create()
    const id = await world.make()
    await world.service.finish(id)
    const { deliveries } = await world.service.operator<OperatorTask>(`/tasks/${id}`)
    assert.equal(new Set(deliveries.map(({ endpoint }) => endpoint)).size, mostEndpoints)
  })

  it('are managed by OpenAI’s SDK as at OpenAI', async () => {
    await using world = await WebhookWorld.open()
    const { webhooks } = world.client
    const url = `${world.receiver.url}/sdk`
    const { signing_secret: secret, ...made } = await webhooks.create({
      ...{ name: 'first', url, event_types: ['video.completed'] },
    })
    assert.match(made.id, /^whe_[0-9a-f]{36}$/)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(made.signing_secret_hint, `whsec_****${secret.slice(-5, -1)}`)
    assert.deepEqual(await webhooks.retrieve(made.id), made)
    assert.deepEqual(await webhooks.update(made.id), made)
    const changed = await webhooks.update(made.id, { name: 'other', event_types: ['video.failed', 'video.failed'] })
    assert.deepEqual([changed.name, changed.event_types, changed.url], ['other', ['video.failed'], url])
    for (const name of ['second', 'third']) await webhooks.create({ name, url, event_types: ['video.failed'] })
    const names: string[] = []
    for await (const { name } of webhooks.list({ limit: 2 })) names.push(name)
    assert.deepEqual(names, ['third', 'second', 'other'])
    const tested = await webhooks.test(made.id, { event_type: 'video.completed' })
    assert.deepEqual([tested.status_code, tested.success, tested.webhook_endpoint_id], [200, true, made.id])
    for (const [status, message] of [
      [307, /redirects \(status 307\)\. Webhooks do not follow redirects/],
      [500, /status 500\. Only a 2xx/],
    ] as const) {
      world.receiver.handle = (_, response) => void response.writeHead(status, { location: `${url}/moved` }).end()
      const failed = await world.json(`/${made.id}/test`, { event_type: 'video.completed' })
      assert.deepEqual([failed.status_code, failed.success], [status, false])
      assert.match(String(failed.message), message)
    }
    assert.ok(world.receiver.all.every(({ path }) => path === '/sdk'))
    const event = (await world.unwrap(world.receiver.all[0] as Received, secret)) as { type: string }
    assert.equal(event.type, 'video.completed')
    assert.deepEqual((await webhooks.eventTypes.list()).data, ['video.completed', 'video.failed'])
    const rotated = await webhooks.rotateSecret(made.id)
    assert.notEqual(rotated.signing_secret, secret)
    // No body says as much as an empty one, whatever its type is said to be.
    for (const headers of [{}, { 'content-type': 'application/json' }] as Record<string, string>[]) {
      const path = `/v1/webhook_endpoints/${made.id}`
      for (const url of [path, `${path}/rotate_secret`])
        assert.equal((await world.service.fetch(url, { method: 'POST', headers })).status, 200, url)
    }
    assert.deepEqual(await webhooks.delete(made.id), {
      ...{ id: made.id, object: 'webhook_endpoint.deleted', deleted: true },
    })
    await assert.rejects(webhooks.retrieve(made.id), { status: 404, code: 'webhook_endpoint_not_found' })
    await world.receiver.down()
    const [gone] = (await webhooks.list()).data
    await assert.rejects(webhooks.test(gone?.id ?? '', { event_type: 'video.failed' }), {
      ...{ status: 400, code: 'webhook_unanswered' },
    })
  })

  it('are each token’s own', async () => {
    const yaml = 'tokens: [{ name: ben, secret: ben-secret, models: ["*"] }]'
    await using world = await WebhookWorld.open({ yaml })
    const endpoint = await world.create()
    const ben = { as: 'ben-secret' }
    const id = await world.fail({ authorization: 'Bearer ben-secret' })
    assert.equal(((await world.json('', undefined, ben)).data as unknown[]).length, 0)
    await world.fail()
    const [delivery] = await world.settle(endpoint, 1, isDelivered)
    assert.notEqual(delivery?.video_id, id)
    const own = `/${endpoint.id}`
    const requests: [path: string, body?: object | undefined, method?: string][] = [
      [own],
      [own, { name: 'x' }],
      [own, undefined, 'DELETE'],
      [`${own}/rotate_secret`, {}],
      [`${own}/test`, { event_type: 'video.failed' }],
      [`${own}/replay`, { since: 0 }],
      [`${own}/deliveries`],
      [`${own}/deliveries/${delivery?.id}`],
      [`${own}/deliveries/${delivery?.id}/replay`, undefined, 'POST'],
    ]
    for (const [path, body, method = ''] of requests) {
      const { error } = await world.json(path, body, { ...ben, status: 404, method })
      assert.equal(error?.code, 'webhook_endpoint_not_found', path)
    }
    await world.json(own)
  })

  it('are refused with what is wrong, and the way to do it', async () => {
    await using world = await WebhookWorld.open()
    const good = { name: 'x', url: `${world.receiver.url}/`, event_types: ['video.failed'] }
    const refused = async (body: object, code: string, message: RegExp, path = '') => {
      const { error } = await world.json(path, body, { status: 400 })
      assert.equal(error?.code, code)
      assert.match(error?.message ?? '', message)
    }
    const url = (text: string) => ({ ...good, url: text })
    await refused(
      url('http://10.0.0.1/'),
      'invalid_webhook_url',
      /not at a public address.* outbound\.allow in filmgate\.yaml/,
    )
    await refused(url('http://127.0.0.1:1/'), 'invalid_webhook_url', /not at a public address/)
    await refused(url('https://localhost/'), 'invalid_webhook_url', /private network/)
    await refused(url('nonsense'), 'invalid_webhook_url', /not a valid URL/)
    await refused(url(`https://example.com/${'x'.repeat(2048)}`), 'invalid_value', /2048/)
    await refused(url('https://example.com/\ud800'), 'invalid_value', /surrogate/)
    await refused({ ...good, event_types: ['batch.completed'] }, 'invalid_value', /'video.completed', 'video.failed'/)
    await refused({ ...good, event_types: [] }, 'invalid_value', /event_types/)
    await refused({ ...good, event_types: 'video.failed' }, 'invalid_type', /array/)
    await refused({ ...good, name: '' }, 'invalid_value', /empty/)
    await refused({ ...good, name: 'x\0' }, 'invalid_value', /control/)
    await refused({ ...good, name: 'x'.repeat(257) }, 'invalid_value', /256/)
    await refused({ ...good, colour: 'red' }, 'unknown_parameter', /colour/)
    await refused([1], 'invalid_type', /^The body is an array\. Send a JSON object\.$/)
    await refused({ name: 'x' }, 'missing_required_parameter', /event_types|url/)
    const endpoints = await Promise.all(Array.from({ length: 16 }, () => world.create()))
    await refused(good, 'invalid_request', /16 webhook endpoints/)
    const own = `/${endpoints[0]?.id}`
    await refused(url('http://10.0.0.1/'), 'invalid_webhook_url', /public/, own)
    await refused({ event_type: 'batch.completed' }, 'invalid_value', /video\.completed/, `${own}/test`)
    await refused({ since: 'yesterday' }, 'invalid_type', /integer/, `${own}/replay`)
    for (const path of ['/whe_1', `/${'x'.repeat(300)}`, `${own}/deliveries/wh_1`, '/%00', `${own}/deliveries/%00`])
      await world.json(path, undefined, { status: 404 })
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'after=%00', 'state=lost'])
      await world.json(`${own}/deliveries?${query}`, undefined, { status: 400 })
  })

  it('are written for no video that was deleted, and end with their endpoint', async () => {
    const clock = jumpingClock()
    await using world = await WebhookWorld.open({ world: { clock } })
    const endpoint = await world.create()
    const made = await world.make()
    assert.equal((await world.service.fetch(`/v1/videos/${made}`, { method: 'DELETE' })).status, 200)
    const failed = await world.fail()
    const [only] = await world.settle(endpoint, 1, isDelivered)
    assert.equal(only?.video_id, failed)
    await world.receiver.down()
    await world.fail()
    await world.settle(endpoint, 2, (one) => isDelivered(one) || one.tries.length === 1)
    await world.json(`/${endpoint.id}`, undefined, { method: 'DELETE' })
    for (const path of ['deliveries', `deliveries/${only?.id}`])
      await world.json(`/${endpoint.id}/${path}`, undefined, { status: 404 })
    await world.receiver.up()
    const other = await world.create()
    clock.jump(hour)
    await world.fail()
    await world.settle(other, 1, isDelivered)
    // What waited for the endpoint was due before this.
    assert.deepEqual(
      world.receiver.all.map(({ headers }) => headers['webhook-id'] === only?.id),
      [true, false],
    )
  })

  it('are sent again when that is asked for, under the same id', async () => {
    const clock = jumpingClock()
    await using world = await WebhookWorld.open({ world: { clock } })
    const endpoint = await world.create()
    await world.fail()
    const [first] = await world.settle(endpoint, 1, isDelivered)
    const path = `/${endpoint.id}/deliveries/${first?.id}`
    const replayed = await world.json(`${path}/replay`, undefined, { method: 'POST' })
    assert.deepEqual([replayed.id, replayed.state], [first?.id, 'pending'])
    const again = await until('it is delivered again', async () => {
      const delivery = await world.json(path)
      return (delivery.tries as unknown[]).length === 2 && delivery
    })
    assert.equal(again.state, 'delivered')
    assert.deepEqual(world.receiver.all.map(idOf), [first?.id, first?.id])
    assert.equal(new Set(world.receiver.all.map(({ body }) => body)).size, 1)

    // No response before both requests have arrived: otherwise the second one would not be sent.
    const both = Promise.withResolvers<void>()
    world.receiver.handle = async (_, response) => {
      if (world.receiver.all.length === 4) both.resolve()
      await both.promise
      response.writeHead(410).end()
    }
    await world.fail()
    await world.fail()
    await world.settle(endpoint, 3, (one) => one.id === first?.id || one.state === 'failed')
    const since = Math.floor(clock.now() / 1000)
    world.receiver.handle = (_, response) => void response.end()
    const { error } = await world.json(`${path}/replay`, {}, { status: 400 })
    assert.match(error?.message ?? '', /disabled.* Enable it first/)
    await world.json(`/${endpoint.id}`, {})
    assert.equal((await world.json(`/${endpoint.id}/replay`, { since: since + 60 })).replayed, 0)
    const failed = await world.deliveries(endpoint, 'state=failed')
    assert.equal((await world.json(`/${endpoint.id}/replay`, { since: since - 60 })).replayed, failed.length)
    await world.settle(endpoint, 3, isDelivered)
    const page = await world.json(`/${endpoint.id}/deliveries?limit=2`)
    assert.deepEqual([(page.data as unknown[]).length, page.has_more], [2, true])
    const rest = await world.json(`/${endpoint.id}/deliveries?limit=2&after=${page.last_id}`)
    assert.deepEqual([(rest.data as unknown[]).length, rest.has_more], [1, false])
  })

  it('are signed with both secrets for a day after a rotation that keeps the old one', async () => {
    const clock = jumpingClock()
    await using world = await WebhookWorld.open({ world: { clock } })
    const endpoint = await world.create()
    const rotate = async (keep: boolean) =>
      String(
        (await world.json(`/${endpoint.id}/rotate_secret`, { keep_old_secret_active_for_24_hours: keep }))
          .signing_secret,
      )
    const next = async () => {
      const before = world.receiver.all.length
      await world.fail()
      return until('it is told', () => world.receiver.all[before])
    }
    const ever = 10 * 24 * 3_600
    const second = await rotate(true)
    const both = await next()
    for (const secret of [endpoint.signing_secret, second]) await world.unwrap(both, secret, ever)
    clock.jump(24 * hour)
    const later = await next()
    await world.unwrap(later, second, ever)
    await assert.rejects(world.unwrap(later, endpoint.signing_secret, ever))
    const third = await rotate(false)
    const last = await next()
    await world.unwrap(last, third, ever)
    await assert.rejects(world.unwrap(last, second, ever))
  })
})

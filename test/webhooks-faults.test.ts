import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { spawnServer } from './process.ts'
import { jumpingClock, token, until } from './service.ts'
import { clientOf, type Delivery, isDelivered, startReceiver, WebhookWorld } from './webhook-world.ts'

/* Faults of webhook receivers. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-webhooks-'))
after(() => rmSync(folder, { recursive: true }))

const [minute, hour] = [60_000, 3_600_000]

describe('webhooks, where the receiver', { concurrency: 3 }, () => {
  it('is down for three days: every event arrives once it is back, each once', async () => {
    const clock = jumpingClock()
    await using world = await WebhookWorld.open({ world: { clock } })
    const endpoint = await world.create()
    await world.receiver.down()
    const videos: string[] = []
    for (let number = 0; number < 20; number += 1) videos.push(await world.fail())
    const from = clock.now()
    // A tenth later than the schedule: the random part of a delay is at most that.
    const delays = [5_000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour]
    for (const [at, delay] of [0, ...delays].entries()) {
      clock.jump(delay * 1.101)
      await world.settle(endpoint, 20, ({ tries, state }) => tries.length === at + 1 && state === 'pending')
    }
    clock.jump(from + 72 * hour - clock.now())
    videos.push(await world.fail())
    // The new one has been tried twice, and its third try is minutes away: a long jump would end a try by a timeout.
    await world.settle(endpoint, 21, ({ tries, state }) => tries.length > 0 && state === 'pending')
    clock.jump(5_000 * 1.101)
    await world.settle(endpoint, 21, ({ tries, state }) => tries.length > 1 && state === 'pending')
    await world.receiver.up()
    clock.jump(24 * hour)
    const all = await world.settle(endpoint, 21, isDelivered)
    const { receiver } = world
    assert.equal(receiver.all.length, 21)
    assert.equal(new Set(receiver.all.map(({ headers }) => headers['webhook-id'])).size, 21)
    const told = await Promise.all(
      receiver.all.map((one) => world.unwrap(one, endpoint.signing_secret, 30 * 24 * 3_600)),
    )
    assert.deepEqual(told.map(({ data }) => (data as { id: string }).id).sort(), videos.sort())
    const successes = all.map(({ tries }) => tries.filter(({ status_code: status }) => status === 200).length)
    assert.ok(successes.every((count) => count === 1))
    assert.ok(all.every(({ tries }) => tries.slice(0, -1).every(({ error }) => error === 'connection_failed')))
  })

  it('redirects, or asks for time: neither is a success, and it gets the time', async () => {
    await using world = await WebhookWorld.open()
    const endpoint = await world.create()
    const { receiver } = world
    receiver.handle = (_, response) => void response.writeHead(302, { location: `${receiver.url}/other` }).end()
    await world.fail()
    const [moved] = await world.settle(endpoint, 1, ({ tries }) => tries.length === 1)
    assert.deepEqual([moved?.state, moved?.tries[0]?.status_code], ['pending', 302])
    receiver.handle = (_, response) => void response.writeHead(503, { 'retry-after': '7200' }).end()
    await world.settle(endpoint, 1, ({ tries }) => tries.length === 2)
    const [asked] = await world.deliveries(endpoint)
    const waits = (asked?.next_try_at ?? 0) - (asked?.tries[1]?.at ?? 0)
    assert.ok(waits >= 7_200 && waits < 7_260, String(waits))
    assert.ok(receiver.all.every(({ path }) => path === '/hook'))
  })

  it('is gone: its endpoint is disabled until it is updated', async () => {
    await using world = await WebhookWorld.open()
    const endpoint = await world.create()
    world.receiver.handle = (_, response) => void response.writeHead(410).end()
    await world.fail()
    await world.settle(endpoint, 1, ({ state }) => state === 'failed')
    const disabled = await world.json(`/${endpoint.id}`)
    assert.ok(Math.abs(Number(disabled.disabled_at) - Date.now() / 1000) < 60)
    assert.match(String(disabled.disabled_reason), /410/)
    world.receiver.handle = (_, response) => void response.end()
    const silent = await world.fail()
    await world.service.finish(silent)
    assert.equal((await world.deliveries(endpoint)).length, 1)
    const enabled = await world.json(`/${endpoint.id}`, {})
    assert.deepEqual([enabled.disabled_at, enabled.disabled_reason], [null, null])
    await world.fail()
    await until('it is told again', async () => (await world.deliveries(endpoint, 'state=delivered')).length === 1)
  })

  it('responds with endless bytes, byte by byte, with garbage or with huge headers: no other receiver waits', async () => {
    await using world = await WebhookWorld.open({ world: { outbound: { deadlines: { postMs: 3_000 } } } })
    const { receiver } = world
    receiver.handle = ({ path }, response) => {
      const socket = response.socket
      if (path === '/garbage') return void socket?.end('I am no HTTP\r\n\r\n')
      if (path === '/huge') return void response.writeHead(200, { 'x-large': 'x'.repeat(60_000) }).end()
      if (path === '/silent') return
      if (path === '/hook') return void response.end()
      response.writeHead(200)
      if (path === '/drip') return void response.write('x')
      const flood = () => {
        while (!socket?.destroyed && response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', flood)
      flood()
    }
    const words = {
      garbage: 'answer_unreadable',
      huge: 'answer_unreadable',
      silent: 'timed_out',
      drip: 200,
      flood: 200,
    }
    const url = (name: string) => `${receiver.url}/${name}`
    const endpoints = await Promise.all(Object.keys(words).map((name) => world.create({ url: url(name) })))
    const live = await world.create()
    await world.fail()
    await world.settle(live, 1, isDelivered)
    for (const [at, [name, word]] of Object.entries(words).entries()) {
      const endpoint = endpoints[at]
      assert.ok(endpoint)
      const [delivery] = await world.settle(endpoint, 1, ({ tries }) => tries.length > 0)
      const tried = delivery?.tries[0]
      assert.equal(tried?.error ?? tried?.status_code, word, name)
    }
  })

  it('has it when the service is killed before it could say so: it comes again, under the same id', async () => {
    await using receiver = await startReceiver()
    writeFileSync(join(folder, 'filmgate.yaml'), `outbound: { allow: ["127.0.0.1:${receiver.port}"] }`)
    const args = ['--data', join(folder, 'data'), '--config', join(folder, 'filmgate.yaml')]
    const env = { FILMGATE_TOKEN: token }
    let id = ''
    {
      await using server = spawnServer({ args, env })
      const client = clientOf(await server.url)
      const hook = { name: 'x', url: `${receiver.url}/hook`, event_types: ['video.failed' as const] }
      id = (await client.webhooks.create(hook)).id
      receiver.handle = () => void server.child.kill('SIGKILL')
      await fetch(`${await server.url}/v1/videos`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'studio', prompt: 'x', image: `${receiver.url}/none.png` }),
      })
      await server.exit
    }
    receiver.handle = (_, response) => void response.end()
    await using server = spawnServer({ args, env })
    const url = `${await server.url}/v1/webhook_endpoints/${id}/deliveries`
    const [delivery] = await until('it is delivered', async () => {
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      const { data } = (await answer.json()) as { data: Delivery[] }
      return data.every(isDelivered) && data
    })
    assert.equal(receiver.all.length, 2)
    assert.deepEqual([...new Set(receiver.all.map(({ headers }) => headers['webhook-id']))], [delivery?.id])
    assert.equal(receiver.all[0]?.body, receiver.all[1]?.body)
    assert.equal(delivery?.tries.length, 1)
  })
})

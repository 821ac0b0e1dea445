import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { simulated } from '../simulators/provider.ts'
import type { describeAlarm } from '../src/core/alarms.ts'
import { sign } from '../src/core/signature.ts'
import { certificateFor, listen, reply } from '../src/outbound/loopback.fixture.ts'
import { Gateway, type GatewayOptions } from './gateway.ts'
import { jumpingClock, operatorToken, startService, type TestService, until } from './service.ts'
import { startTcpProxy } from './services/tcp-proxy.ts'
import { mountDisk, notMounted } from './small-disk.ts'
import { type Receiver, startReceiver } from './webhook-world.ts'

/* Each alarm is caused for real: it is raised, sent once, and cleared. */

const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const minute = 60_000
/** Much more often than in production. */
const alarmLookMs = 200

const sendingTo = ({ url }: Receiver) => ({
  FILMGATE_ALARM_WEBHOOK: `${url}/alarms?key=hidden-token`,
  FILMGATE_ALARM_WEBHOOK_SECRET: secret,
  FILMGATE_OPERATOR_TOKEN: operatorToken,
})

interface Event {
  id: string
  type: string
  data: ReturnType<typeof describeAlarm>
}

/** What the operator was sent. */
function eventsOf({ all }: Receiver, kind?: string): Event[] {
  const events = all.filter(({ path }) => path.startsWith('/alarms')).map(({ body }) => JSON.parse(body) as Event)
  return events.filter(({ data }) => kind === undefined || data.kind === kind)
}

interface Watched {
  service: TestService
  receiver: Receiver
}

/** How many alarms of the kind the metrics show. */
async function countOf(service: TestService, kind: string): Promise<number> {
  const response = await service.fetch('/metrics', { headers: { authorization: `Bearer ${operatorToken}` } })
  const [, count] =
    new RegExp(`^filmgate_alarms\\{kind="${kind}",severity="\\w+"\\} (\\d+)$`, 'm').exec(await response.text()) ?? []
  assert.ok(count, kind)
  return Number(count)
}

async function isRaised({ service, receiver }: Watched, kind: string, subject: string): Promise<Event['data']> {
  const named = (one: Event['data']) => one.kind === kind && one.subject === subject
  const alarm = await until(`${kind} is raised`, async () => {
    const { data } = await service.operator<{ data: Event['data'][] }>('/alarms?limit=100')
    return data.find(named)
  })
  await until(`${kind} is sent`, () => eventsOf(receiver, kind).some(({ data }) => named(data)))
  await until(`${kind} is in the metrics`, async () => (await countOf(service, kind)) > 0)
  return alarm
}

/** It ended, and its start and its end were sent once each. */
async function isCleared({ service, receiver }: Watched, { id, kind }: Event['data']): Promise<void> {
  await until(`${kind} is cleared`, async () => {
    const { data } = await service.operator<{ data: Event['data'][] }>('/alarms?status=cleared&limit=100')
    return data.some((one) => one.id === id && one.cleared_at !== null)
  })
  const own = () => eventsOf(receiver, kind).filter(({ data }) => data.id === id)
  await until(`the end of ${kind} is sent`, () => own().length > 1)
  await until(`${kind} is not in the metrics any more`, async () => (await countOf(service, kind)) === 0)
  assert.deepEqual(
    own().map(({ type }) => type),
    ['alarm.raised', 'alarm.cleared'],
  )
}

interface Stage extends Watched, AsyncDisposable {
  way: Gateway
}

async function openStage(options: GatewayOptions): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await startReceiver())
  const env = { ...sendingTo(receiver), ...options.env }
  const way = stack.use(await Gateway.open({ alarmLookMs, ...options, env }))
  const resources = stack.move()
  return { way, service: way.service, receiver, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

const remove = (service: TestService, id: string) => service.fetch(`/v1/videos/${id}`, { method: 'DELETE' })
const models = { film: { account: 'main' } }

describe('an alarm is raised, sent once and cleared', () => {
  for (const [kind, status] of Object.entries({ account_key: 401, account_credit: 402 }))
    it(`${kind}: the upstream responds with ${status}, until the operator resumes the account`, async () => {
      await using stage = await openStage({ accounts: { main: {} }, models })
      const { way, service } = stage
      way.upstream.setFaults({ next: [{ fault: `submit-${status}-before-accept`, prompt: 'film' }] })
      const id = await way.submit('film')
      const alarm = await isRaised(stage, kind, 'main')
      assert.deepEqual([alarm.severity, alarm.cleared_at, alarm.runbook], ['critical', null, `docs/runbook.md#${kind}`])
      const { health } = await service.operator<{ health: object }>('/accounts/main')
      assert.partialDeepStrictEqual(health, { reason: 'credentials', no_credit: kind === 'account_credit' })
      await service.operator('/accounts/main/resume', 'POST')
      await isCleared(stage, alarm)
      await way.makes(id, 'film')
    })

  it('circuit_open: nothing listens at the address of the account', async () => {
    const accounts = { main: { base_url: 'http://127.0.0.1:9', concurrency: 9 } }
    await using stage = await openStage({ accounts, models })
    const ids = await Promise.all(Array.from({ length: 6 }, (_, number) => stage.way.submit('film', `film ${number}`)))
    const alarm = await isRaised(stage, 'circuit_open', 'main')
    for (const id of ids) await remove(stage.service, id)
    await stage.service.operator('/accounts/main/resume', 'POST')
    await isCleared(stage, alarm)
  })

  it('circuit_open: the provider can’t be reached, until it accepts a task again', async () => {
    await using stage = await openStage({ accounts: { main: {} }, models })
    const { way } = stage
    await using network = await startTcpProxy(Number(new URL(way.upstream.url).port))
    const main = { base_url: `http://127.0.0.1:${network.port}`, concurrency: 9 }
    await way.restart({ accounts: { main }, models })
    await network.refuse()
    for (let number = 0; number < 6; number += 1) await way.submit('film', `film ${number}`)
    const alarm = await isRaised(stage, 'circuit_open', 'main')
    await network.accept()
    // The account is tried again by itself.
    way.clock.jump(11 * minute)
    await isCleared(stage, alarm)
  })

  it('attempt_held: the response to a submit is lost, and the operator gives the task up', async () => {
    await using stage = await openStage({ accounts: { main: {} }, models })
    const { way, service } = stage
    way.upstream.setFaults({ next: [{ fault: 'submit-500-after-accept', prompt: 'film' }] })
    const id = await way.submit('film')
    await until('it is held', () => way.isNoted(id, 'outcome unknown'))
    way.clock.jump(4 * minute)
    const alarm = await isRaised(stage, 'attempt_held', 'main')
    assert.deepEqual([alarm.details.attempts, alarm.details.task], [1, id])
    await until('it is given up', async () => {
      // A worker may be looking at it at this moment.
      const headers = { authorization: `Bearer ${operatorToken}` }
      const answer = await service.fetch(`/operator/v1/tasks/${id}/give_up`, { method: 'POST', headers })
      return answer.status === 200
    })
    await isCleared(stage, alarm)
  })

  it('orphan_cost: a client deletes a video whose provider can’t be asked any more', async () => {
    await using stage = await openStage({ accounts: { main: {} }, models })
    const { way, service } = stage
    way.upstream.setFaults({ speed: 600_000 })
    const id = await way.submit('film')
    await until('it runs', async () => (await way.video(id)).status === 'in_progress')
    await way.restart({ accounts: { main: { base_url: 'http://127.0.0.1:9' } }, models })
    await until('its address is missed', () => way.isNoted(id, 'poll met a problem'))
    await remove(service, id)
    way.clock.jump(3 * minute)
    const alarm = await isRaised(stage, 'orphan_cost', 'main')
    assert.equal(alarm.details.task, id)
    way.clock.jump(25 * 60 * minute)
    await isCleared(stage, alarm)
  })

  it('orphan_cost: the response to a submit is lost, and its account gives such tasks up at once', async () => {
    await using stage = await openStage({ accounts: { main: { on_unknown: 'fail' } }, models })
    const { way } = stage
    way.upstream.setFaults({ next: [{ fault: 'submit-500-after-accept', prompt: 'film' }] })
    const id = await way.submit('film')
    await way.fails(id, 'submission_unknown')
    const alarm = await isRaised(stage, 'orphan_cost', 'main')
    assert.deepEqual([alarm.details.attempts, alarm.details.task], [1, id])
    way.clock.jump(25 * 60 * minute)
    await isCleared(stage, alarm)
  })

  it('limit_reached, queue_old: a project has as many waiting videos as it may have, for a long time', async () => {
    const accounts = { main: { base_url: 'http://127.0.0.1:9' } }
    await using stage = await openStage({ accounts, models, env: { FILMGATE_QUEUED: '1' } })
    const { way, service } = stage
    const id = await way.submit('film')
    const refused = await until('a submit is refused', async () => {
      const answer = await service.submit({ model: 'film', prompt: 'another', seconds: '4' })
      return answer.status !== 200 && answer
    })
    assert.equal(refused.status, 429)
    const limit = await isRaised(stage, 'limit_reached', 'default')
    assert.equal(limit.details.limit, 'queued')
    way.clock.jump(16 * minute)
    const queue = await isRaised(stage, 'queue_old', 'film')
    await isCleared(stage, limit)
    await remove(service, id)
    await isCleared(stage, queue)
  })

  it('limit_reached: a project has spent what it may spend, and another one stores what it may store', async () => {
    await using receiver = await startReceiver()
    const clock = jumpingClock()
    const price = '[{ unit: second, price: "0.50" }]'
    const team = '{ name: team, secret: team, spend: { total: { limit: "0.50" } } }'
    const small = '{ name: small, secret: small, stored_bytes: 1000 }'
    const yaml = `prices: { models: { studio: { price: ${price} } } }\ntokens: [${team}, ${small}]`
    await using service = await startService({ yaml, env: sendingTo(receiver), world: { clock, alarmLookMs } })
    const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }
    for (const [owner, limit] of Object.entries({ team: 'spend', small: 'stored_bytes' })) {
      const submit = () => service.submit(film, { authorization: `Bearer ${owner}` })
      assert.equal((await submit()).status, 200)
      await until(`${limit} is reached`, async () => {
        clock.jump(1_000)
        return (await submit()).status === 429
      })
      const alarm = await isRaised({ service, receiver }, 'limit_reached', owner)
      assert.equal(alarm.details.limit, limit)
      clock.jump(11 * minute)
      await isCleared({ service, receiver }, alarm)
    }
  })

  it('model_retired: the upstream does not know the model, until it does', async () => {
    await using stage = await openStage({ accounts: { main: {} }, models })
    const { way } = stage
    way.upstream.setFaults({ next: [{ fault: 'submit-404-before-accept', prompt: 'old' }] })
    await way.fails(await way.submit('film', 'old'), 'generation_failed')
    const alarm = await isRaised(stage, 'model_retired', 'film at main')
    await way.makes(await way.submit('film', 'new'), 'new')
    await isCleared(stage, alarm)
  })

  it('clock_wrong: the clock of the process is an hour ahead of its providers', async () => {
    await using stage = await openStage({ accounts: { main: {} }, models })
    const { way } = stage
    way.clock.jump(60 * minute)
    await way.makes(await way.submit('film', 'one'), 'one')
    const alarm = await isRaised(stage, 'clock_wrong', hostname())
    assert.deepEqual([alarm.details.against, Math.round(Number(alarm.details.seconds) / 60)], ['providers', -60])
    way.clock.jump(-60 * minute)
    await isCleared(stage, alarm)
  })

  it('certificate_failing: the certificate of a provider is self-signed, until its authority is trusted', async () => {
    const tls = certificateFor('provider.test')
    await using upstream = await listen(() => reply(400, {}, '{}'), { tls })
    const host = `provider.test:${upstream.port}`
    const accounts = { main: { base_url: `https://${host}` } }
    await using stage = await openStage({ accounts, models, outbound: { resolve: async () => ['127.0.0.1'] } })
    await stage.way.submit('film')
    const alarm = await isRaised(stage, 'certificate_failing', `${host} from ${hostname()}`)
    assert.match(String(alarm.details.code), /CERT/)
    setDefaultCACertificates([...getCACertificates('default'), tls.cert])
    // The next try.
    stage.way.clock.jump(11 * minute)
    await isCleared(stage, alarm)
  })

  it('price_stale: the prices of a provider are a year old', async () => {
    await using receiver = await startReceiver()
    const clock = jumpingClock()
    const env = { ...sendingTo(receiver), GEMINI_API_KEY: 'a key of Google' }
    await using service = await startService({ yaml: 'prices: {}', env, world: { clock, alarmLookMs } })
    clock.jump(400 * 24 * 60 * minute)
    const alarm = await isRaised({ service, receiver }, 'price_stale', 'google')
    await service.restart("prices: { models: { '*': { cost: [{ unit: second, price: '0.10' }] } } }")
    await isCleared({ service, receiver }, alarm)
  })

  it('model_retired: the day has come from which its vendor may retire a model', async () => {
    const member = simulated['sim-none']
    assert.ok(member)
    const cards = member.cards.map((card) => ({ ...card, id: 'old', provider: 'sim-old', retiresOn: '2026-01-31' }))
    const members = { ...simulated, 'sim-old': { ...member, cards } }
    const accounts = { main: {}, other: { provider: 'sim-old' } }
    await using stage = await openStage({ accounts, models, members })
    const alarm = await isRaised(stage, 'model_retired', 'old')
    assert.equal(alarm.details.retires_on, '2026-01-31')
    await stage.way.restart({ accounts: { main: {} }, models })
    stage.way.clock.jump(61 * minute)
    await isCleared(stage, alarm)
  })

  it('endpoint_dead: the receiver of a client is gone, until its owner enables it again', async () => {
    await using receiver = await startReceiver()
    const yaml = `outbound: { allow: ["127.0.0.1:${receiver.port}"] }`
    const clock = jumpingClock()
    await using service = await startService({ yaml, env: sendingTo(receiver), world: { clock, alarmLookMs } })
    receiver.handle = ({ path }, response) => void response.writeHead(path === '/hook' ? 410 : 200).end()
    const post = async (path: string, body: object) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
      return (await (await service.fetch(path, init)).json()) as { id: string }
    }
    const endpoint = { url: `${receiver.url}/hook`, event_types: ['video.failed'] }
    const ids: string[] = []
    for (const name of ['one', 'two', 'three'])
      ids.push((await post('/v1/webhook_endpoints', { name, ...endpoint })).id)
    // A video that fails at once, because its image does not exist.
    await service.submit({ model: 'studio', prompt: 'x', image: `${receiver.url}/none.png` })
    const alarm = await isRaised({ service, receiver }, 'endpoint_dead', 'default')
    const areDead = (count: number) =>
      until(`${count} are dead`, async () => {
        // Details of an alarm are written every 15 seconds.
        clock.jump(15_000)
        const { data } = await service.operator<{ data: Event['data'][] }>('/alarms')
        const found = data.find(({ id }) => id === alarm.id)?.details
        return found?.endpoints === count && found
      })
    await areDead(3)
    for (const id of ids.slice(1)) await post(`/v1/webhook_endpoints/${id}`, {})
    const { endpoint: last, disabled } = await areDead(1)
    assert.deepEqual([last, disabled], [ids[0], true])
    await post(`/v1/webhook_endpoints/${ids[0]}`, {})
    await isCleared({ service, receiver }, alarm)
    assert.equal(eventsOf(receiver, 'endpoint_dead').length, 2)
  })

  it('endpoint_dead: a receiver accepts nothing for days, until it does', async () => {
    await using receiver = await startReceiver()
    const clock = jumpingClock()
    const yaml = `outbound: { allow: ["127.0.0.1:${receiver.port}"] }`
    await using service = await startService({ yaml, env: sendingTo(receiver), world: { clock, alarmLookMs } })
    let status = 500
    receiver.handle = ({ path }, response) => void response.writeHead(path === '/hook' ? status : 200).end()
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'films', url: `${receiver.url}/hook`, event_types: ['video.failed'] })
    const created = await service.fetch('/v1/webhook_endpoints', { method: 'POST', headers, body })
    const { id } = (await created.json()) as { id: string }
    const fail = () => service.submit({ model: 'studio', prompt: 'x', image: `${receiver.url}/none.png` })
    const triesOf = async () => {
      const listed = await service.fetch(`/v1/webhook_endpoints/${id}/deliveries`)
      const { data } = (await listed.json()) as { data: { tries: unknown[] }[] }
      return data[0]?.tries.length ?? 0
    }
    await fail()
    for (let tries = 1; tries < 10; tries += 1) {
      await until(`try ${tries} is recorded`, async () => (await triesOf()) === tries)
      clock.jump(27 * 60 * minute)
    }
    const alarm = await isRaised({ service, receiver }, 'endpoint_dead', 'default')
    assert.deepEqual([alarm.details.endpoint, alarm.details.disabled], [id, false])
    status = 200
    await fail()
    await isCleared({ service, receiver }, alarm)
  })

  it('bucket_limit: the videos take as much space as they may', async () => {
    await using receiver = await startReceiver()
    const clock = jumpingClock()
    const env = { ...sendingTo(receiver), FILMGATE_BUCKET_LIMIT: '1MB' }
    await using service = await startService({ env, world: { clock, alarmLookMs } })
    const film = { model: 'studio', prompt: 'a red fox in snow at dusk', seconds: '4', size: '1280x720' }
    const ids: string[] = []
    const isFull = () => eventsOf(receiver, 'bucket_limit').length > 0
    while (!isFull() && ids.length < 12) {
      const answer = await service.submit(film)
      if (answer.status !== 200) break
      const { id } = (await answer.json()) as { id: string }
      ids.push(id)
      await service.finish(id)
      clock.jump(2_000)
    }
    const alarm = await isRaised({ service, receiver }, 'bucket_limit', 'bucket')
    for (const id of ids) await remove(service, id)
    clock.jump(2_000)
    await isCleared({ service, receiver }, alarm)
  })

  it('disk_low: the disk fills up, and has space again', async (test) => {
    const path = mkdtempSync(join(tmpdir(), 'filmgate-low-'))
    test.after(() => rmdirSync(path))
    using disk = mountDisk(path, 'size=32m')
    if (!disk) return test.skip(notMounted)
    await using receiver = await startReceiver()
    const env = { ...sendingTo(receiver), FILMGATE_DATA: join(path, 'data'), FILMGATE_DISK_RESERVE: '16MB' }
    await using service = await startService({ env, world: { alarmLookMs } })
    disk.fill(12_000_000)
    const alarm = await isRaised({ service, receiver }, 'disk_low', hostname())
    disk.free()
    await isCleared({ service, receiver }, alarm)
  })

  it('bucket_failing: the folder of the videos is read-only for a while', async (test) => {
    await using receiver = await startReceiver()
    await using service = await startService({ env: sendingTo(receiver), world: { alarmLookMs } })
    const bucket = join(service.data, 'bucket')
    using disk = mountDisk(bucket, 'size=16m')
    if (!disk) return test.skip(notMounted)
    // The folder in which files are written first. On the fresh disk it is missing.
    mkdirSync(join(bucket, 'incoming'), { recursive: true })
    const remount = (how: string) => assert.equal(spawnSync('mount', ['-o', `remount,${how}`, bucket]).status, 0)
    // A check may be writing at this moment.
    await until('it is read-only', () => spawnSync('mount', ['-o', 'remount,ro', bucket]).status === 0)
    const alarm = await isRaised({ service, receiver }, 'bucket_failing', hostname())
    assert.equal(alarm.details.found, 'read_only')
    remount('rw')
    await isCleared({ service, receiver }, alarm)
  })

  it('database_failing: the disk of the database is full; it is sent from memory', async (test) => {
    const path = mkdtempSync(join(tmpdir(), 'filmgate-full-'))
    test.after(() => rmdirSync(path))
    using disk = mountDisk(path, 'size=16m')
    if (!disk) return test.skip(notMounted)
    await using receiver = await startReceiver()
    const env = { ...sendingTo(receiver), FILMGATE_DATA: join(path, 'data') }
    await using service = await startService({ env, world: { alarmLookMs } })
    disk.fill()
    const prompt = 'long '.repeat(6_000)
    const types = () => eventsOf(receiver, 'database_failing').map(({ type }) => type)
    await until('its start is sent', async () => {
      // The log of the database may have free pages left.
      if (types().length === 0) await service.submit({ model: 'studio', prompt, seconds: '1', size: '256x256' })
      return types().length > 0
    })
    const status = await service.operator<{ health: { store: string }; alarms: Event['data'][] }>('/status')
    assert.equal(status.health.store, 'full')
    assert.ok(status.alarms.some(({ kind }) => kind === 'database_failing'))
    assert.equal(await countOf(service, 'database_failing'), 1)
    disk.free()
    await until('its end is sent', () => types().length > 1)
    assert.deepEqual(types(), ['alarm.raised', 'alarm.cleared'])
  })
})

it('what is sent is signed, has a first aid, and is not sent again after a restart', async () => {
  await using stage = await openStage({ accounts: { main: {} }, models })
  const { way, receiver } = stage
  way.upstream.setFaults({ next: [{ fault: 'submit-402-before-accept', prompt: 'film' }] })
  await way.submit('film')
  const alarm = await isRaised(stage, 'account_credit', 'main')
  // On a busy machine the check of the database may be late, which is an alarm of its own.
  const sent = receiver.all.find(({ body }) => body.includes(alarm.id))
  assert.ok(sent)
  const [id, timestamp] = [sent.headers['webhook-id'] ?? '', Number(sent.headers['webhook-timestamp'])]
  assert.equal(sent.headers['webhook-signature'], sign({ id, timestamp, body: sent.body }, [secret]))
  assert.match(JSON.parse(sent.body).data.first_aid, /Add credit/)
  await way.restart({ accounts: { main: {} }, models })
  await isCleared(stage, alarm)
  const starts = eventsOf(receiver, 'account_credit').filter(({ type }) => type === 'alarm.raised')
  assert.equal(starts.length, 1)
  assert.ok(!stage.service.log.join('').includes('hidden-token'))
})

it('after a restart, an alarm of an account stays until the account accepts a task', async () => {
  const accounts = { main: {}, other: {} }
  const both = { ...models, second: { account: 'other' } }
  await using stage = await openStage({ accounts, models: both })
  const { way, service, receiver } = stage
  const next = ['one', 'two'].map((prompt) => ({ fault: 'submit-402-before-accept' as const, prompt }))
  way.upstream.setFaults({ next })
  const id = await way.submit('film', 'one')
  const alarm = await isRaised(stage, 'account_credit', 'main')
  await remove(service, id)
  await way.restart({ accounts, models: both })
  // Longer than an alarm lasts that nothing reports.
  way.clock.jump(3 * minute)
  await way.submit('second', 'two')
  await isRaised(stage, 'account_credit', 'other')
  const { data } = await service.operator<{ data: Event['data'][] }>('/alarms?limit=100')
  assert.ok(data.some((one) => one.id === alarm.id))
  assert.deepEqual(
    eventsOf(receiver, 'account_credit').map(({ type, data: { subject } }) => `${type} ${subject}`),
    ['alarm.raised main', 'alarm.raised other'],
  )
  await service.operator('/accounts/other/resume', 'POST')
  await way.makes(await way.submit('film', 'three'), 'three')
  await isCleared(stage, alarm)
})

it('an alarm of an account that was removed is cleared', async () => {
  await using stage = await openStage({ accounts: { main: {}, other: {} }, models })
  const { way } = stage
  way.upstream.setFaults({ next: [{ fault: 'submit-402-before-accept', prompt: 'film' }] })
  const id = await way.submit('film')
  const alarm = await isRaised(stage, 'account_credit', 'main')
  await remove(stage.service, id)
  await way.restart({ accounts: { other: {} }, models: { film: { account: 'other' } } })
  way.clock.jump(3 * minute)
  await isCleared(stage, alarm)
})

it('a key that was refused is still an alarm when the provider can’t be reached', async () => {
  await using stage = await openStage({ accounts: { main: {} }, models })
  const { way, service } = stage
  await using network = await startTcpProxy(Number(new URL(way.upstream.url).port))
  const main = { base_url: `http://127.0.0.1:${network.port}`, concurrency: 9 }
  await way.restart({ accounts: { main }, models })
  way.upstream.setFaults({ next: [{ fault: 'submit-401-before-accept', prompt: 'film' }] })
  await way.submit('film')
  const refused = await isRaised(stage, 'account_key', 'main')
  await network.refuse()
  await until('the circuit is open', async () => {
    way.clock.jump(minute)
    const { data } = await service.operator<{ data: Event['data'][] }>('/alarms')
    return data.some(({ kind }) => kind === 'circuit_open')
  })
  const unreachable = await isRaised(stage, 'circuit_open', 'main')
  const { data } = await service.operator<{ data: Event['data'][] }>('/alarms')
  assert.ok(data.some(({ id }) => id === refused.id))
  await network.accept()
  await service.operator('/accounts/main/resume', 'POST')
  for (const alarm of [refused, unreachable]) await isCleared(stage, alarm)
})

it('an operator acknowledges an alarm once, and the audit log says who did', async () => {
  await using stage = await openStage({ accounts: { main: {} }, models })
  const { way, service } = stage
  way.upstream.setFaults({ next: [{ fault: 'submit-401-before-accept', prompt: 'film' }] })
  await way.submit('film')
  const { id } = await isRaised(stage, 'account_key', 'main')
  for (let count = 0; count < 2; count += 1) {
    const alarm = await service.operator<Event['data']>(`/alarms/${id}/acknowledge`, 'POST')
    assert.deepEqual([alarm.acknowledged_by, alarm.cleared_at], ['operator', null])
  }
  const { data } = await service.operator<{ data: { action: string; target: string }[] }>('/audit')
  assert.deepEqual(
    data.map(({ action, target }) => [action, target]),
    [['alarm.acknowledge', id]],
  )
  const status = await service.operator<{ alarms: Event['data'][]; accounts: { name: string }[] }>('/status')
  assert.deepEqual(
    status.alarms.filter((alarm) => alarm.id === id).map(({ kind, acknowledged_by: by }) => [kind, by]),
    [['account_key', 'operator']],
  )
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { until } from '../../test/service.ts'
import { openAlarms } from '../alarms.ts'
import type { AlarmReceivers } from '../core/alarms.ts'
import { manualClock } from '../core/clock.fixture.ts'
import { sign } from '../core/signature.ts'
import { openRandom } from '../main/random.ts'
import type { Outbound, Posted } from '../outbound.ts'
import { openSqlite } from '../stores/sqlite.ts'
import { startAlarmPush } from './push.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-push-'))
after(() => rmSync(folder, { recursive: true }))

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const webhook = { url: 'http://10.0.0.7:9000/hook?key=hidden-token', secret }
const minute = 60_000
const responded = (status: number): Posted => ({ status, retryAfter: null })
const accepted = responded(204)

interface Sent {
  to: string
  headers: Readonly<Record<string, string>>
  text: string
  body: { id: string; type: string; text: string; data: { subject: string; cleared_at: string | null } }
}

/** A real store, and a network and a clock that the test controls. */
async function openWorld(answer: (sent: Sent, signal: AbortSignal) => Posted | Promise<Posted> = () => accepted) {
  const store = await openSqlite({ folder: mkdtempSync(join(folder, 'data-')), now: 0, onFatal: assert.ifError })
  const clock = manualClock(1_800_000_000_000)
  const posts: Sent[] = []
  const said: string[] = []
  const say = (event: string, fields = {}) => void said.push(`${event} ${JSON.stringify(fields)}`)
  const log = { info: say, warn: say, error: say }
  const alarms = openAlarms({ store, clock, random: openRandom(), log, kept: { read: () => undefined, write() {} } })
  const postTrusted: Outbound['postTrusted'] = async (to, { headers, body: text }, signal) => {
    const sent = { to, headers, text, body: JSON.parse(text) as Sent['body'] }
    posts.push(sent)
    return await answer(sent, signal)
  }
  const queues = [alarms.local, store]
  return {
    ...{ store, clock, posts, said, alarms },
    start: (receivers: AlarmReceivers = { webhook, slack: null }) => {
      const parts = { queues, receivers, outbound: { postTrusted }, clock, log, hasFiles: () => true }
      return startAlarmPush({ ...parts, onChange: alarms.onChange })
    },
    /** Lets time pass, step by step, until it is so. */
    until: (what: string, look: () => boolean | Promise<boolean>, stepMs = 1_000) =>
      until(
        what,
        () => {
          clock.advance(stepMs)
          return look()
        },
        5,
      ),
    types: () => posts.map(({ body }) => `${body.type} ${body.data.subject}`),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

it('sends the start and the end of an alarm once each, signed like a webhook', async () => {
  await using world = await openWorld()
  await using _push = world.start()
  world.alarms.raise('account_key', 'kling-main', { failures: 1 })
  await world.until('its start is sent', () => world.posts.length === 1)
  world.alarms.raise('account_key', 'kling-main', { failures: 2 })
  world.alarms.clear('account_key', 'kling-main')
  await world.until('its end is sent', () => world.posts.length === 2)
  await world.until(
    'that is stored',
    async () => (await world.store.unsentAlarms('webhook', world.clock.now(), 9)).length === 0,
  )
  assert.deepEqual(world.types(), ['alarm.raised kling-main', 'alarm.cleared kling-main'])
  const [first, last] = world.posts
  assert.ok(first && last)
  assert.equal(first.to, webhook.url)
  const { headers, text } = first
  const [id, timestamp] = [headers['webhook-id'] ?? '', Number(headers['webhook-timestamp'])]
  assert.equal(id, first.body.id)
  assert.equal(headers['webhook-signature'], sign({ id, timestamp, body: text }, [secret]))
  assert.notEqual(first.body.id, last.body.id)
  assert.deepEqual([first.body.data.cleared_at, typeof last.body.data.cleared_at], [null, 'string'])
  assert.ok(!world.said.join('').includes('hidden-token'))
})

it('waits for the response when it stops, so that nothing is repeated after a restart', async () => {
  const response = Promise.withResolvers<Posted>()
  await using world = await openWorld((_, signal) => Promise.race([response.promise, abortOf(signal)]))
  {
    await using _push = world.start()
    world.alarms.raise('account_key', 'main')
    await world.until('it is sent', () => world.posts.length === 1)
    queueMicrotask(() => response.resolve(accepted))
  }
  assert.deepEqual(await world.store.unsentAlarms('webhook', world.clock.now() + minute, 9), [])
})

it('stops although a receiver never responds; another process sends the alarm later', async () => {
  await using world = await openWorld((_, signal) => (world.posts.length === 1 ? abortOf(signal) : accepted))
  const push = world.start()
  world.alarms.raise('account_key', 'main')
  await world.until('it is sent', () => world.posts.length === 1)
  let isStopped = false
  push[Symbol.asyncDispose]().then(() => {
    isStopped = true
  })
  await world.until('it has stopped', () => isStopped)
  await using _other = world.start()
  await world.until('it is sent again', () => world.posts.length === 2)
  assert.equal(world.posts[0]?.body.id, world.posts[1]?.body.id)
})

it('repeats what was not accepted, under the same id, and never logs the URL', async () => {
  const answers: Posted[] = [{ error: 'connection_failed' }, responded(500), responded(301)]
  await using world = await openWorld(() => answers.shift() ?? accepted)
  await using _push = world.start()
  world.alarms.raise('circuit_open', 'main')
  await world.until('it is accepted', () => world.posts.length === 4)
  await world.until(
    'that is stored',
    async () => (await world.store.unsentAlarms('webhook', world.clock.now(), 9)).length === 0,
  )
  assert.equal(new Set(world.posts.map(({ body }) => body.id)).size, 1)
  const failures = world.said.filter((line) => line.startsWith('an alarm could not be sent'))
  assert.deepEqual(failures, [
    'an alarm could not be sent; it is sent again {"receiver":"webhook","kind":"circuit_open","subject":"main","error":"connection_failed","retryInMs":1000}',
  ])
  assert.ok(world.said.some((line) => /^alarms are sent again .*"failures":3/.test(line)))
  assert.doesNotMatch(world.said.join('\n'), /hidden-token|10\.0\.0\.7/)
})

it('tries again after the delay that the log names, also if that is shorter than a claim', async () => {
  const answers: Posted[] = [responded(500), responded(500)]
  await using world = await openWorld(() => answers.shift() ?? accepted)
  const { clock, posts } = world
  const { sleep } = clock
  let waitsMs = 0
  clock.sleep = (ms, signal) => {
    waitsMs = ms
    return sleep(ms, signal)
  }
  await using _push = world.start()
  world.alarms.raise('circuit_open', 'main')
  for (const [index, delay] of [1_000, 2_000].entries()) {
    await until('it waits', () => posts.length === index + 1 && waitsMs === delay, 5)
    clock.advance(delay)
  }
  await until('it is accepted', () => posts.length === 3, 5)
})

it('an alarm that the receiver refuses delays no other one', async () => {
  await using world = await openWorld(({ body }) => (body.data.subject === 'poison' ? responded(400) : accepted))
  await using _push = world.start()
  world.alarms.raise('account_key', 'poison')
  await until('it was refused', () => world.posts.length === 1, 5)
  world.alarms.raise('account_credit', 'main')
  await until('the other one is sent', () => world.posts.some(({ body }) => body.data.subject === 'main'), 5)
  world.clock.advance(1_000)
  await until(
    'it is tried again',
    () => world.posts.filter(({ body }) => body.data.subject === 'poison').length === 2,
    5,
  )
})

const slack = 'https://hooks.example/services/T0/B0/token'

it('a receiver that is dead for ever keeps the other one from nothing, in any process', async () => {
  await using world = await openWorld(({ to }) => (to === slack ? { error: 'connection_failed' } : accepted))
  const types = () =>
    world.posts.filter(({ to }) => to !== slack).map(({ body }) => `${body.type} ${body.data.subject}`)
  const both = { webhook, slack }
  {
    await using _one = world.start(both)
    await using _two = world.start(both)
    for (const subject of ['one', 'two']) world.alarms.raise('circuit_open', subject)
    await world.until('the starts are sent', () => types().length === 2)
    for (const subject of ['one', 'two']) world.alarms.clear('circuit_open', subject)
    await world.until('the ends are sent', () => types().length === 4)
  }
  // After a restart.
  await using _three = world.start(both)
  world.alarms.raise('circuit_open', 'three')
  await world.until('another start is sent', () => types().length > 4)
  const tries = world.posts.length
  await world.until('the dead one was tried again', () => world.posts.length > tries, minute)
  const ended = ['one', 'two'].flatMap((subject) => [`alarm.raised ${subject}`, `alarm.cleared ${subject}`])
  assert.deepEqual(types().sort(), [...ended, 'alarm.raised three'].sort())
})

it('a receiver that was down gets the start and then the end, and the other one nothing twice', async () => {
  let isDown = true
  await using world = await openWorld(({ to }) => (isDown && to === slack ? responded(500) : accepted))
  await using _push = world.start({ webhook, slack })
  const to = (url: string) => world.posts.filter((post) => post.to === url)
  world.alarms.raise('circuit_open', 'main')
  await world.until('the start is sent', () => to(webhook.url).length === 1)
  world.alarms.clear('circuit_open', 'main')
  await world.until('the end is sent', () => to(webhook.url).length === 2)
  isDown = false
  world.posts.splice(0)
  await world.until('the other one has both', () => to(slack).length === 2)
  assert.deepEqual(
    to(slack).map(({ body }) => body.text),
    ['[critical] circuit_open: main', '[cleared] circuit_open: main'],
  )
  assert.deepEqual(to(webhook.url), [])
})

it('critical alarms are sent first', async () => {
  await using world = await openWorld()
  for (let number = 0; number < 60; number += 1) world.alarms.raise('limit_reached', `project ${number}`)
  await world.alarms.sync()
  world.alarms.raise('disk_low', 'web-1')
  await world.alarms.sync()
  await using _push = world.start()
  await world.until('one is sent', () => world.posts.length > 0)
  assert.equal(world.types()[0], 'alarm.raised web-1')
})

it('Slack gets text and blocks, in which nothing of a client is a link or a mention', async () => {
  await using world = await openWorld()
  await using _push = world.start({ webhook: null, slack })
  world.alarms.raise('limit_reached', '<!channel> & co', { limit: 'spend' })
  await world.until('it is sent', () => world.posts.length === 1)
  const { text, blocks } = JSON.parse(world.posts[0]?.text ?? '') as { text: string; blocks: object[] }
  assert.equal(text, '[warning] limit_reached: &lt;!channel&gt; &amp; co')
  assert.match(JSON.stringify(blocks), /limit: spend.*filmgate token show.*docs\/runbook\.md#limit_reached/)
  assert.doesNotMatch(JSON.stringify(blocks), /<!channel>/)
})

it('an alarm that comes and goes is sent at most once in 5 minutes', async () => {
  await using world = await openWorld()
  await using _push = world.start()
  const flap = async () => {
    world.alarms.raise('circuit_open', 'main')
    await world.alarms.sync()
    world.alarms.clear('circuit_open', 'main')
    await world.alarms.sync()
  }
  world.alarms.raise('circuit_open', 'main')
  await world.until('it is sent', () => world.posts.length === 1, 10)
  world.alarms.clear('circuit_open', 'main')
  await world.until('its end is sent', () => world.posts.length === 2, 10)
  for (let count = 0; count < 3; count += 1) await flap()
  const isStored = async () => (await world.store.unsentAlarms('webhook', world.clock.now(), 9)).length === 0
  await world.until('they are done with', isStored, 100)
  world.alarms.raise('circuit_open', 'main')
  await world.alarms.sync()
  world.alarms.raise('circuit_open', 'other')
  await world.until('another subject is sent', () => world.posts.length === 3, 100)
  assert.deepEqual(world.types().slice(2), ['alarm.raised other'])
  world.clock.advance(5 * minute)
  await world.until('it still lasts, so it is sent', () => world.posts.length === 4)
  assert.equal(world.types().at(-1), 'alarm.raised main')
})

it('what another process left unsent is sent, and what ended long ago is not', async () => {
  await using world = await openWorld()
  for (const subject of ['old', 'short', 'active']) {
    world.alarms.raise('circuit_open', subject)
    await world.alarms.sync()
  }
  world.alarms.clear('circuit_open', 'old')
  await world.alarms.sync()
  world.clock.advance(61 * minute)
  world.alarms.clear('circuit_open', 'short')
  await world.alarms.sync()
  const [active] = await world.store.alarms({ status: 'active', limit: 9 })
  const now = world.clock.now()
  // A process that was killed while it sent this one.
  assert.ok(active && (await world.store.claimAlarm('webhook', active.id, now, now + 30_000)))
  await using _push = world.start()
  await world.until('all is sent', () => world.posts.length === 3)
  assert.deepEqual(world.types(), ['alarm.raised short', 'alarm.cleared short', 'alarm.raised active'])
})

it('an alarm about the store is sent while the store is away', async () => {
  await using world = await openWorld()
  const queues = [world.alarms.local, { ...world.alarms.local, unsentAlarms: () => Promise.reject(new Error('away')) }]
  const postTrusted: Outbound['postTrusted'] = async (to, { headers, body: text }) => {
    world.posts.push({ to, headers, text, body: JSON.parse(text) })
    return accepted
  }
  const log = { info() {}, warn() {}, error() {} }
  const parts = { queues, receivers: { webhook, slack: null }, outbound: { postTrusted }, clock: world.clock, log }
  await using _push = startAlarmPush({ ...parts, hasFiles: () => true, onChange: world.alarms.onChange })
  world.alarms.raise('database_failing', 'web-1', { found: 'full' })
  await world.until('it is sent', () => world.posts.length === 1)
  world.alarms.clear('database_failing', 'web-1')
  await world.until('its end is sent', () => world.posts.length === 2)
  assert.deepEqual(world.types(), ['alarm.raised web-1', 'alarm.cleared web-1'])
})

it('two processes send the start and the end once each', async () => {
  await using world = await openWorld()
  await using _one = world.start()
  await using _two = world.start()
  const subjects = Array.from({ length: 20 }, (_, number) => `account ${number}`)
  for (const subject of subjects) world.alarms.raise('circuit_open', subject)
  await world.alarms.sync()
  for (const subject of subjects) world.alarms.clear('circuit_open', subject)
  const isStored = async () => (await world.store.unsentAlarms('webhook', world.clock.now() + minute, 99)).length === 0
  await world.until('all is sent', async () => world.posts.length >= 40 && (await isStored()), 10)
  const expected = subjects.flatMap((subject) => [`alarm.cleared ${subject}`, `alarm.raised ${subject}`])
  assert.deepEqual(world.types().sort(), expected.sort())
})

import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { after, it } from 'node:test'
import { simulated } from '../simulators/provider.ts'
import { operatorToken, startService, type TestService, until } from './service.ts'
import { openWorld, type World } from './services/outage-world.ts'
import { startPostgres } from './services/postgres.ts'
import { type Receiver, startReceiver } from './webhook-world.ts'

/* Alarms of two services on one PostgreSQL, sent to a webhook that works and to a Slack that is dead. */

const postgres = await startPostgres({ fsync: 'off' })
after(() => postgres[Symbol.asyncDispose]())

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

interface Event {
  id: string
  type: string
  data: { kind: string; subject: string }
}

function serve({ store, yaml }: World, receiver: Receiver): Promise<TestService> {
  const env = {
    FILMGATE_STORE: store,
    FILMGATE_OPERATOR_TOKEN: operatorToken,
    FILMGATE_ALARM_WEBHOOK: `${receiver.url}/alarms`,
    FILMGATE_ALARM_WEBHOOK_SECRET: secret,
    FILMGATE_ALARM_SLACK: 'http://127.0.0.1:9/dead',
  }
  return startService({ yaml, members: simulated, env, world: { alarmLookMs: 200 } })
}

/** What was sent about alarms of the kind, in order. */
function sent({ all }: Receiver, kind: string): string[] {
  const events = all.map(({ body }) => JSON.parse(body) as Event).filter(({ data }) => data.kind === kind)
  return events.map(({ type, data }) => `${type} ${data.subject}`)
}

it('a fault that both see is one alarm: its start and its end are sent once, also after a restart', async () => {
  await using receiver = await startReceiver()
  await using world = await openWorld(postgres)
  await using one = await serve(world, receiver)
  await using two = await serve(world, receiver)
  world.upstream.setFaults({ next: [{ fault: 'submit-401-before-accept', prompt: 'film' }] })
  assert.equal((await one.submit({ model: 'sim-none', prompt: 'film' })).status, 200)
  const raised = 'alarm.raised sim-none'
  await until('its start is sent', () => sent(receiver, 'account_key').length > 0)
  await two.restart()
  const isCleared = async () => {
    const { data } = await two.operator<{ data: Event['data'][] }>('/alarms?status=cleared')
    return data.some(({ kind }) => kind === 'account_key')
  }
  await one.operator('/accounts/sim-none/resume', 'POST')
  await until('it is cleared', isCleared)
  await until('its end is sent', () => sent(receiver, 'account_key').length > 1)
  await one.restart()
  world.upstream.setFaults({ next: [{ fault: 'submit-404-before-accept', prompt: 'another' }] })
  assert.equal((await one.submit({ model: 'sim-none', prompt: 'another' })).status, 200)
  await until('a later alarm is sent', () => sent(receiver, 'model_retired').length > 0)
  assert.deepEqual(sent(receiver, 'account_key'), [raised, 'alarm.cleared sim-none'])
})

it('while the database is away, each process sends an alarm of its own, and its end', async () => {
  await using receiver = await startReceiver()
  await using world = await openWorld(postgres)
  await using one = await serve(world, receiver)
  await using two = await serve(world, receiver)
  const subjects = [one, two].map(({ data }) => `${hostname()}:${data}`)
  const all = (type: string) => subjects.map((subject) => `${type} ${subject}`).sort()
  await world.proxy.refuse()
  await until('the starts are sent', () => sent(receiver, 'database_failing').length >= 2)
  assert.deepEqual(sent(receiver, 'database_failing').sort(), all('alarm.raised'))
  await world.proxy.accept()
  await until('the ends are sent', () => sent(receiver, 'database_failing').length >= 4)
  assert.deepEqual(sent(receiver, 'database_failing').slice(2).sort(), all('alarm.cleared'))
})

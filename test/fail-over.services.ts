import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import pg from 'pg'
import { queueLock } from '../src/stores/postgres/migrate.ts'
import { operatorToken, type TestService } from './service.ts'
import {
  allEnd,
  ask,
  comes,
  completes,
  countStates,
  isReady,
  openWorld,
  refused,
  serve,
  submit,
  submitMany,
  type World,
} from './services/outage-world.ts'
import { type PostgresServer, startPostgres, startStandby } from './services/postgres.ts'
import { startTcpProxy } from './services/tcp-proxy.ts'

/* A primary that dies, and its standby that takes over. See "Fail-over" in docs/deployment.md. */

const settings = { fsync: 'off' }

async function query(server: PostgresServer, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

const promote = (standby: PostgresServer) => query(standby, 'SELECT pg_promote(true, 60)')

/** Makes each commit wait until the standby has it. */
async function waitForStandby(primary: PostgresServer, { sql }: World): Promise<void> {
  await query(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
  await query(primary, 'SELECT pg_reload_conf()')
  const states = () => sql('SELECT sync_state FROM pg_stat_replication')
  await comes('the standby is waited for', async () => (await states()).some((row) => row.sync_state === 'sync'))
}

async function readiness(service: TestService): Promise<{ store?: string }> {
  const response = await service.fetch('/readyz', { headers: { connection: 'close' } })
  return (await response.json()) as { store?: string }
}

describe('a fail-over to a standby that has every commit (synchronous_standby_names), with 50 tasks in flight', () => {
  for (const how of ['SIGQUIT', 'SIGKILL'] as const)
    it(`after ${how}: all end, none is lost, and none is paid for twice`, async (test) => {
      await using primary = await startPostgres(settings)
      await using standby = await startStandby(primary, settings)
      await using world = await openWorld(primary)
      await waitForStandby(primary, world)
      world.upstream.setFaults({ speed: 2_000 })
      await using service = await serve(world)
      const ids = await submitMany(service, 25, 'early')
      await comes('some run', async () => ((await countStates(world)).running ?? 0) > 10)
      ids.push(...(await submitMany(service, 25, 'late')))
      test.diagnostic(`when it died: ${JSON.stringify(await countStates(world))}`)
      const died = Date.now()
      await primary.stop(how)
      world.moveTo(standby)
      // For a while the service meets a database that only reads.
      await comes('it is reached, and known to only read', async () => (await readiness(service)).store === 'read_only')
      await refused(await ask(service, 'none', 'refused'))
      await promote(standby)
      await comes('it is ready', () => isReady(service))
      test.diagnostic(`ready ${Date.now() - died} ms after the end of the primary`)
      await allEnd(world, 50)
      test.diagnostic(`all ended ${Date.now() - died} ms after it`)
      for (const id of ids) await completes(service, id)
    })
})

it('a synchronous standby that is away: 503 in bounded time, nothing new is sent, and all goes on when it is back', async (test) => {
  await using primary = await startPostgres(settings)
  await using replication = await startTcpProxy(primary.port)
  await using _standby = await startStandby(replication, settings)
  await using world = await openWorld(primary)
  await waitForStandby(primary, world)
  world.upstream.setFaults({ speed: 1_000 })
  await using service = await serve(world)
  const ids = await submitMany(service, 20, 'film')
  const sessions = () => world.sql("SELECT state FROM pg_stat_activity WHERE application_name = 'filmgate'")
  const paid = (text: string) => world.upstream.ledger().accepts.filter((accept) => accept.prompt === text).length
  await replication.refuse()
  for (let at = 0; at < 5; at += 1) {
    const begun = Date.now()
    await refused(await ask(service, 'none', 'refused'))
    assert.ok(Date.now() - begun < 4_000, `the answer took ${Date.now() - begun} ms`)
    // On the server each still waits for the standby, although the client has given up.
    test.diagnostic(`${(await sessions()).length} connections after ${at + 1} refusals`)
  }
  assert.equal(paid('refused'), 0)
  await replication.accept()
  for (const id of ids) await completes(service, id)
  const films = Array.from({ length: 20 }, (_, at) => paid(`film ${at}`))
  assert.deepEqual(films, Array(20).fill(1))
  await comes('all connections are idle', async () => (await sessions()).every(({ state }) => state === 'idle'))
  assert.ok((await sessions()).length <= 9)
  test.diagnostic(`of 5 that were refused, ${paid('refused')} were stored and sent after all`)
})

it('a fail-over that loses the last commits: what the standby has goes on, what it lacks is reported', async (test) => {
  await using primary = await startPostgres(settings)
  await using replication = await startTcpProxy(primary.port)
  await using standby = await startStandby(replication, settings)
  await using world = await openWorld(primary)
  await using link = await startTcpProxy(world.upstream.port)
  world.upstream.setFaults({ speed: 3_600_000 })
  await using service = await serve({ ...world, yaml: through(link.port, world) })
  const there = await mirrorOf(world, standby)

  const whole = await submit(service, 'none', 'whole')
  await comes('the standby has its acceptance', () => there(`id = '${whole}' AND state = 'running'`))
  // The upstream is slow to answer: the standby gets the intent and not the acceptance.
  link.hang()
  const sent = await submit(service, 'none', 'sent')
  await comes('the standby has its intent', () => there(`id = '${sent}' AND state = 'held'`))
  const queue = await holdQueue(primary, world)
  const waiting = await submit(service, 'none', 'waiting')
  await comes('the standby has the task', () => there(`id = '${waiting}'`))

  await replication.refuse()
  await queue.end()
  link.goOn()
  const gone = await submit(service, 'none', 'gone')
  await comes('all run', async () => (await countStates(world)).running === 4)
  link.hang()
  const unanswered = await submit(service, 'none', 'unanswered')
  await comes('it is being sent', async () => (await countStates(world)).held === 1)

  await primary.stop('SIGQUIT')
  world.moveTo(standby)
  await promote(standby)
  await comes('it is ready', () => isReady(service))
  world.upstream.setFaults({ speed: 50 })
  link.goOn()

  // Tasks that the standby had completely go on as before. A request that was sent waits for the operator.
  await completes(service, whole)
  const paid = (text: string) => world.upstream.ledger().accepts.filter((accept) => accept.prompt === text)
  await adopt(service, sent, paid('sent')[0]?.id ?? '')
  await completes(service, sent)
  assert.deepEqual([paid('whole').length, paid('sent').length], [1, 1])
  // The database has no trace that this was sent: it completes, and was accepted as often as it was sent.
  await completes(service, waiting)
  test.diagnostic(`a task whose intent was lost was paid for ${paid('waiting').length} times`)
  // A task that the standby never got is gone for its owner. A response for it is kept, and logged.
  for (const id of [gone, unanswered]) assert.equal((await service.fetch(`/v1/videos/${id}`)).status, 404)
  const alarm = () => service.log.find((line) => line.includes('a response has no matching attempt'))
  const line = await comes('the operator is told', alarm)
  const operation = paid('unanswered')[0]?.id ?? 'none'
  assert.ok(line?.includes(operation) && line.includes(unanswered), line)
  assert.ok(readSpill(service).some((text) => text.includes(operation)))
  test.diagnostic(
    `a forgotten task that was already running was paid for ${paid('gone').length} times, and is not told`,
  )
  await completes(service, await submit(service, 'none', 'after it'))
})

/** The upstream is reached through that port. Its videos are downloaded from its own, private address. */
function through(port: number, { yaml, upstream }: World): string {
  const asked = yaml.replace(upstream.url, `http://127.0.0.1:${port}`)
  return JSON.stringify({ ...JSON.parse(asked), outbound: { allow: ['127.0.0.1'] } })
}

/** Whether the standby has such a task. */
async function mirrorOf({ store }: World, standby: PostgresServer): Promise<(where: string) => Promise<boolean>> {
  const url = standby.url.replace(/postgres$/, new URL(store).pathname.slice(1))
  return async (where) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    // The standby may not have the table yet.
    const isMissing = (error: { code?: string }) => (error.code === '42P01' ? { rowCount: 0 } : Promise.reject(error))
    const query = client.query(`SELECT FROM tasks WHERE ${where}`).catch(isMissing)
    const { rowCount } = await query.finally(() => client.end())
    return rowCount === 1
  }
}

/** Until this connection ends, queued tasks can't be claimed. */
async function holdQueue(primary: PostgresServer, { store, yaml }: World): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: primary.url.replace(/postgres$/, new URL(store).pathname.slice(1)) })
  await client.connect()
  const accounts = Object.keys(JSON.parse(yaml).accounts).map((name) => `account:${name}`)
  await client.query('SELECT pg_advisory_lock($1, hashtext(scope)) FROM unnest($2::text[]) AS scope', [
    queueLock,
    accounts,
  ])
  return client
}

/** As soon as no worker has a lease on it. */
async function adopt(service: TestService, id: string, operation: string): Promise<void> {
  await comes('it is held', async () => {
    const { data } = await service.operator<{ data: { task: string }[] }>('/attempts')
    return data.some(({ task }) => task === id)
  })
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const order = { method: 'POST', headers, body: JSON.stringify({ operation }) }
  await comes('it is adopted', async () => (await service.fetch(`/operator/v1/tasks/${id}/adopt`, order)).ok)
}

function readSpill({ data }: TestService): string[] {
  const folder = join(data, 'spill')
  return readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
}

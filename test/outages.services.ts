import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Exit, Member } from './faults/fleet-member.ts'
import { secrets } from './faults/kill-clients.ts'
import { allEnd, ask, comes, isReady, openWorld, prompt, refused, serve, submit } from './services/outage-world.ts'
import { startPostgres } from './services/postgres.ts'
import type { CommitFate, TcpProxy } from './services/tcp-proxy.ts'

/* A whole service on a PostgreSQL that is down, hangs, is locked, or cuts connections at the worst moments. */

const postgres = await startPostgres({ fsync: 'off' })
after(() => postgres[Symbol.asyncDispose]())

/** Statements that identify a transaction. */
const insert = /INSERT INTO tasks/
const intent = /INSERT INTO attempts/
const fact = /UPDATE attempts SET operation/
const generated = /"name":"storing"/

describe('a database that is away when a client submits', () => {
  for (const [what, leave, back] of [
    ['refuses', (proxy: TcpProxy) => proxy.refuse(), (proxy: TcpProxy) => proxy.accept()],
    ['hangs', (proxy: TcpProxy) => proxy.hang(), (proxy: TcpProxy) => proxy.goOn()],
  ] as const)
    it(`and ${what}: 503 within 2 s, nothing is sent, and all is well when it is back`, async () => {
      await using world = await openWorld(postgres)
      await using service = await serve(world)
      // Opens enough connections to wait on, one after another.
      await Promise.all(Array.from({ length: 30 }, () => service.fetch('/v1/videos')))
      await leave(world.proxy)
      const begun = Date.now()
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(service, 'none')))
      const took = Date.now() - begun
      for (const answer of answers) await refused(answer)
      assert.ok(took < 2_000, `the answers took ${took} ms`)
      assert.equal((await service.fetch('/readyz')).status, 503)
      assert.equal((await service.fetch('/livez')).status, 200)
      assert.equal(world.upstream.ledger().submits, 0)
      await back(world.proxy)
      await comes('it is ready', () => isReady(service))
      const before = await world.sql('SELECT id FROM tasks')
      await submit(service, 'none', 'another film')
      await comes('it ends', async () => (await world.sql('SELECT FROM tasks WHERE completed_at > 0')).length > 0)
      // A request that was refused does not create a video later.
      assert.deepEqual(before, [])
    })
})

it('a service starts with a database that is slow to accept its first connection', async () => {
  await using world = await openWorld(postgres)
  world.proxy.hang()
  const starting = serve(world)
  await Promise.race([starting, pause(1_500)])
  world.proxy.goOn()
  await using service = await starting
  assert.ok(await isReady(service))
})

describe('a database that goes away while an upstream takes a task', () => {
  it('is told of it when it is back', async () => {
    await using world = await openWorld(postgres)
    await using service = await serve(world)
    const gone = world.proxy.onCommit(intent, 'last')
    await submit(service, 'none')
    await gone
    await comes('it is kept on disk', () => readdirSync(join(service.data, 'spill')).length === 1)
    assert.equal(world.upstream.ledger().accepts.length, 1)
    await pause(2_000)
    await world.proxy.accept()
    await allEnd(world, 1)
    assert.deepEqual(readdirSync(join(service.data, 'spill')), [])
  })

  for (const [what, signal, exit] of [
    ['is killed', 'SIGKILL', { code: null, signal: 'SIGKILL' }],
    ['has to stop', 'SIGTERM', { code: 0, signal: null }],
  ] as const)
    it(`is told of it by the next process, if this one ${what} meanwhile`, async () => {
      await using world = await openWorld(postgres)
      const folder = mkdtempSync(join(tmpdir(), 'filmgate-outage-'))
      const config = join(folder, 'filmgate.yaml')
      writeFileSync(config, world.yaml)
      const member = new Member('data', 'all', folder, { FILMGATE_CONFIG: config, FILMGATE_STORE: world.store })
      await using stack = new AsyncDisposableStack()
      stack.defer(() => rmSync(folder, { recursive: true }))
      stack.defer(async () => void (await end(member, 'SIGKILL')))
      member.start()
      await member.ready
      const gone = world.proxy.onCommit(intent, 'last')
      const headers = { authorization: `Bearer ${secrets.client}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ model: 'sim-none', prompt })
      assert.equal((await fetch(`${member.url}/v1/videos`, { method: 'POST', headers, body })).status, 200)
      await gone
      const spill = join(folder, 'data', 'spill')
      await comes(
        'it is kept on disk',
        () => existsSync(spill) && readdirSync(spill).some((name) => /json$/.test(name)),
      )
      assert.deepEqual(await end(member, signal), exit)
      await world.proxy.accept()
      member.start()
      await member.ready
      await allEnd(world, 1)
      assert.deepEqual(readdirSync(spill), [])
    })
})

async function end(member: Member, signal: NodeJS.Signals): Promise<Exit> {
  member.signal(signal)
  return member.exit
}

it('a table that another session locks: 503 in bounded time, then all as before, and no connection is left', async () => {
  await using world = await openWorld(postgres)
  await using service = await serve(world)
  await submit(service, 'none')
  await allEnd(world, 1)
  const other = new pg.Client({ connectionString: world.store })
  await other.connect()
  await other.query('BEGIN; LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE')
  const locked = other.query('SELECT pg_sleep(5)').then(() => other.query('COMMIT'))
  // Lists, each of which is a query of its own.
  const reads = Array.from({ length: 40 }, async (_, at) => {
    await pause(at * 100)
    const answer = await service.fetch('/v1/videos', { headers: { connection: 'close' } })
    return answer.status
  })
  const sessions = () => world.sql("SELECT pid, state, query FROM pg_stat_activity WHERE application_name = 'filmgate'")
  let most = 0
  const counting = (async () => {
    for (let at = 0; at < 20; at += 1) {
      most = Math.max(most, (await sessions()).length)
      await pause(200)
    }
  })()
  assert.equal((await ask(service, 'none', 'another film')).status, 503)
  assert.ok((await Promise.all(reads)).includes(503))
  await Promise.all([locked, counting])
  await other.end()
  // The limit of a process, the connection that listens, and some that are being replaced.
  assert.ok(most <= 12, `there were ${most} connections`)
  await submit(service, 'none', 'a third film')
  await allEnd(world, 2)
  const isQuiet = async () => (await sessions()).every(({ state }) => state === 'idle')
  await comes('all connections are idle', isQuiet)
  assert.ok((await sessions()).length <= 9)
})

describe('a connection that is cut during COMMIT', () => {
  const fates: CommitFate[] = ['lost', 'answerLost', 'late']
  for (const fate of fates)
    it(`of a submit (${fate}) makes one task`, async () => {
      await using world = await openWorld(postgres)
      await using service = await serve(world)
      const cut = world.proxy.onCommit(insert, fate)
      await submit(service, 'none')
      await cut
      await allEnd(world, 1)
    })

  for (const fate of fates)
    it(`of a delete (${fate}) deletes`, async () => {
      await using world = await openWorld(postgres)
      await using service = await serve(world)
      const id = await submit(service, 'none')
      await allEnd(world, 1)
      const cut = world.proxy.onCommit(/SET deleted_at/, fate)
      const answer = await service.fetch(`/v1/videos/${id}`, { method: 'DELETE' })
      await cut
      assert.deepEqual(await answer.json(), { id, object: 'video.deleted', deleted: true })
      assert.equal((await service.fetch(`/v1/videos/${id}`)).status, 404)
    })

  for (const [what, of] of [
    ['an intent', intent],
    ['a fact', fact],
  ] as const)
    for (const fate of fates)
      it(`of ${what} (${fate}) sends once and binds`, async () => {
        await using world = await openWorld(postgres)
        await using service = await serve(world)
        const cut = world.proxy.onCommit(of, fate)
        await submit(service, 'none')
        await cut
        await allEnd(world, 1)
        assert.equal(world.upstream.ledger().submits, 1)
      })

  for (const fate of fates)
    it(`of a poll that found the result (${fate}) is once in the timeline`, async () => {
      await using world = await openWorld(postgres)
      await using service = await serve(world)
      const cut = world.proxy.onCommit(generated, fate)
      await submit(service, 'none')
      await cut
      await allEnd(world, 1)
      assert.equal((await world.sql("SELECT FROM events WHERE name = 'storing'")).length, 1)
    })

  for (const [what, of] of [
    ['an intent', intent],
    ['a fact', fact],
  ] as const)
    it(`of ${what}, and the database is away for a while after it: sends once and binds`, async () => {
      await using world = await openWorld(postgres)
      await using service = await serve(world)
      const cut = world.proxy.onCommit(of, 'answerLost')
      await submit(service, 'none')
      await cut
      await world.proxy.refuse()
      await pause(3_000)
      await world.proxy.accept()
      await allEnd(world, 1)
      assert.equal(world.upstream.ledger().submits, 1)
    })
})

describe('a database that is restarted with 50 tasks in flight', () => {
  for (const how of ['SIGINT', 'SIGQUIT'] as const)
    it(`by ${how}: all end, and none is paid for twice`, async () => {
      await using world = await openWorld(postgres)
      world.upstream.setFaults({ speed: 2_000 })
      await using service = await serve(world)
      for (let at = 0; at < 50; at += 1) await submit(service, 'none', `film ${at}`)
      await postgres.stop(how)
      await pause(1_000)
      await postgres.start()
      await allEnd(world, 50)
    })
})

it('a service ends although its database hangs', async () => {
  await using world = await openWorld(postgres)
  const service = await serve(world)
  world.proxy.hang()
  await service[Symbol.asyncDispose]()
})

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestService } from './service.ts'
import {
  allEnd,
  ask,
  comes,
  countStates,
  isReady,
  openWorld,
  refused,
  serve,
  submit,
  submitMany,
  type World,
} from './services/outage-world.ts'
import { startPostgres } from './services/postgres.ts'

/* A long outage of the database. Before a release it runs with OUTAGE_MS=600000: ten minutes. */

const outageMs = Number(process.env.OUTAGE_MS ?? 20_000)

/** This long after the database is back, everything works again, however long the outage was. */
const normalMs = 30_000

/** More than are in flight when the database goes, because the first of them end before. */
const tasks = 250 + 250 + 150

/** How long a job takes upstream: longer than it takes to get all of them there, shorter than the outage. */
const jobMs = 6_000

/** Videos are verified four at a time, on a machine that may be busy. */
const patienceMs = 300_000

const postgres = await startPostgres({ fsync: 'off' })
after(() => postgres[Symbol.asyncDispose]())

it(`a database that is away for ${outageMs} ms, with 500 tasks in flight`, async (test) => {
  await using world = await openWorld(postgres, { concurrency: 1_000 })
  world.upstream.setFaults({ speed: jobMs })
  await using service = await serve(world)
  await fill(world, service)
  const before = await countStates(world)
  const paid = world.upstream.ledger().accepts.length
  await world.proxy.refuse()
  assert.ok((before.queued ?? 0) + (before.held ?? 0) > 0, JSON.stringify(before))
  assert.ok((before.running ?? 0) > 0 && (before.storing ?? 0) > 0, JSON.stringify(before))
  const inFlight = tasks - (before.completed ?? 0)
  assert.ok(inFlight >= 500, JSON.stringify(before))
  test.diagnostic(`when it went: ${JSON.stringify(before)}, ${paid} accepted upstream`)

  await stayAway(world, service)
  const spilt = readdirSync(join(service.data, 'spill')).length
  const { accepts } = world.upstream.ledger()
  test.diagnostic(`while it was away: ${accepts.length - paid} more were accepted, ${spilt} answers are on disk`)
  await world.proxy.accept()
  await measureReturn(test, world, service)
  assert.deepEqual(readdirSync(join(service.data, 'spill')), [])
})

/** Some are queued or being sent, some run upstream, some wait for their download, and a few have ended. */
async function fill(world: World, service: TestService): Promise<void> {
  await submitMany(service, 250, 'first')
  await comes('some wait to be fetched', async () => ((await countStates(world)).storing ?? 0) >= 50)
  await submitMany(service, 250, 'second')
  await comes('some run', async () => ((await countStates(world)).running ?? 0) >= 50)
  await submitMany(service, 150, 'third')
}

/** Requests during the outage are refused quickly, and nothing is sent for them. */
async function stayAway(world: World, service: TestService): Promise<void> {
  for (const end = Date.now() + outageMs; Date.now() < end; ) {
    const begun = Date.now()
    await refused(await ask(service, 'none', 'refused'))
    assert.ok(Date.now() - begun < 5_000, `the answer took ${Date.now() - begun} ms`)
    assert.equal((await service.fetch('/livez')).status, 200)
    assert.equal(await isReady(service), false)
    await pause(Math.min(5_000, Math.max(0, end - Date.now())))
  }
  assert.deepEqual(
    world.upstream.ledger().accepts.filter((accept) => accept.prompt === 'refused'),
    [],
  )
}

async function measureReturn(test: TestContext, world: World, service: TestService): Promise<void> {
  const back = Date.now()
  const since = () => Date.now() - back
  await comes('it is ready', () => isReady(service), normalMs)
  const ready = since()
  const id = await submit(service, 'none', 'after it')
  const sent = () => world.upstream.ledger().accepts.some((accept) => accept.prompt === 'after it')
  await comes('a new task is sent', sent, normalMs)
  const sentAfter = since()
  const newFilm = service.finish(id).then(() => since())
  await allEnd(world, tasks + 1, patienceMs)
  const all = since()
  test.diagnostic(`ready ${ready} ms after its return, a new task sent after ${sentAfter} ms`)
  test.diagnostic(`a new film completed after ${await newFilm} ms, all of them after ${all} ms`)
  assert.ok(sentAfter <= normalMs, `a new task was sent ${sentAfter} ms after the return`)
}

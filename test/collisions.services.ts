import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { TestService } from './service.ts'
import {
  allEnd,
  ask,
  comes,
  openWorld,
  refused,
  serve,
  submit,
  submitMany,
  type World,
} from './services/outage-world.ts'
import { startPostgres } from './services/postgres.ts'

/* Transactions of ours that the database aborts because of deadlocks and conflicts with others. */

/** Shorter than the timeout of a statement, so that the deadlock is detected first. */
const postgres = await startPostgres({ fsync: 'off', deadlock_timeout: '700ms' })
after(() => postgres[Symbol.asyncDispose]())

const met = ({ log }: TestService, what: string) => log.filter((line) => line.includes(what)).length

/** How many transactions of the database were rolled back. The log has one line for all of an outage. */
async function rollbacks(world: World): Promise<number> {
  const text = 'SELECT xact_rollback::int AS count FROM pg_stat_database WHERE datname = current_database()'
  return Number((await world.sql(text))[0]?.count)
}

async function connectTo({ store }: World): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: postgres.url.replace(/postgres$/, new URL(store).pathname.slice(1)),
  })
  await client.connect()
  return client
}

describe('a deadlock that the database resolves against us', () => {
  it('while a submit is stored: 503, and nothing is sent', async () => {
    await using world = await openWorld(postgres)
    await using service = await serve(world)
    const other = await lieInWait(world, 'INSERT ON tasks')
    const begun = Date.now()
    const [answer] = await Promise.all([ask(service, 'none', 'refused'), other.collide()])
    await refused(answer)
    assert.ok(Date.now() - begun < 3_000)
    assert.equal(met(service, 'deadlock detected'), 1)
    assert.equal(world.upstream.ledger().submits, 0)
    await other.leave()
    await submit(service, 'none', 'another film')
    await allEnd(world, 1)
  })

  for (const [what, where, sent] of [
    ['an intent is stored: nothing is sent before it is', 'INSERT ON attempts', 0],
    ['an answer is stored: it is stored in the end, and not sent again', 'UPDATE ON attempts', 1],
  ] as const)
    it(`while ${what}`, async () => {
      await using world = await openWorld(postgres)
      await using service = await serve(world)
      const other = await lieInWait(world, where)
      await submit(service, 'none')
      await other.collide()
      await comes('it lost', () => met(service, 'deadlock detected') > 0)
      assert.equal(world.upstream.ledger().submits, sent)
      await other.leave()
      await allEnd(world, 1)
      assert.equal(world.upstream.ledger().submits, 1)
    })
})

/** Another session that holds the second of two locks of such a statement, and then requests the first. */
async function lieInWait(world: World, statement: string) {
  await world.sql(`CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock(1); PERFORM pg_advisory_xact_lock(2); RETURN NEW;
    END $$; CREATE TRIGGER collide BEFORE ${statement} FOR EACH ROW EXECUTE FUNCTION collide()`)
  const client = await connectTo(world)
  // It does not check for deadlocks, so it is not the session that is aborted.
  await client.query("SET deadlock_timeout = '60s'; BEGIN; SELECT pg_advisory_xact_lock(2)")
  const waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 2 AND NOT granted"
  return {
    async collide() {
      for (;;) {
        if ((await client.query(waits)).rowCount) break
        await pause(10)
      }
      await client.query('SELECT pg_advisory_xact_lock(1)')
    },
    leave: () => client.end(),
  }
}

it('a database whose transactions are serializable by default: all end, each paid for once', async (test) => {
  await using world = await openWorld(postgres)
  world.upstream.setFaults({ speed: 1_000 })
  await using service = await serve(world)
  const { pathname } = new URL(world.store)
  await world.sql(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_isolation = 'serializable'`)
  // The setting applies to new connections. A submit on one that breaks gets a 503.
  const [{ now } = {}] = await world.sql('SELECT clock_timestamp()::text AS now')
  world.proxy.cut()
  await comes('the connections are new', async () => {
    const found = await world.sql(
      `SELECT bool_and(backend_start > '${now}') AS are_new FROM pg_stat_activity WHERE application_name = 'filmgate'
         AND datname = current_database()`,
    )
    return found[0]?.are_new === true
  })
  const stop = new AbortController()
  const before = await rollbacks(world)
  const disturbing = disturb(world, stop.signal)
  await submitMany(service, 30, 'film')
  await allEnd(world, 30)
  stop.abort()
  await disturbing
  test.diagnostic(`${(await rollbacks(world)) - before} were rolled back`)
})

/** A transaction that waits for these rows has read an old version of them, unless each of its statements reads anew. */
async function disturb(world: World, signal: AbortSignal): Promise<void> {
  const client = await connectTo(world)
  await client.query("SET default_transaction_isolation = 'read committed'")
  while (!signal.aborted) {
    // In the order of the service's own transactions: otherwise this one may be the victim of a deadlock.
    await client.query('BEGIN; SELECT FROM tasks ORDER BY id FOR UPDATE; UPDATE tasks SET tries = tries')
    await pause(50)
    await client.query('COMMIT')
    // Its next transaction would stand before all others in the queue of each row.
    await pause(50)
  }
  await client.end()
}

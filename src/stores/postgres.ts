import { isLocalName } from '../core/account.ts'
import type { Clock } from '../core/clock.ts'
import { isNews, occupies } from '../core/plan.ts'
import { storageFaultOf } from '../core/storage-fault.ts'
import { openClaims, tidySlots } from './postgres/claims.ts'
import { followClock } from './postgres/clock.ts'
import { type Database, openDatabase } from './postgres/database.ts'
import { openInserts } from './postgres/inserts.ts'
import { migrate } from './postgres/migrate.ts'
import { disown, openMutations } from './postgres/mutations.ts'
import { openProbe } from './postgres/probe.ts'
import { openReads } from './postgres/reads.ts'
import { refuseMoved } from './postgres/transfer.ts'
import { explain } from './postgres/unusable.ts'
import { openWakeups } from './postgres/wakeups.ts'
import { openWebhooks, recoverDeliveries } from './postgres/webhooks.ts'
import type { Store } from './store.ts'

export interface PostgresOptions {
  /** postgres://user:password@host:port/database */
  url: string
  /** Milliseconds since whenever, that nobody sets. */
  monotonic: () => number
  sleep: Clock['sleep']
  /** It must not go on: its rows are being moved, or live elsewhere by now. */
  onFatal: (error: Error) => void
  /** What this process calls itself when it speaks to the others: unlike any of them. */
  name: string
}

/** All times that the store is given must be of its clock. */
interface PostgresStore extends Store {
  readonly clock: Clock
}

/** The store of many processes. The table of tasks is the queue; what one turn of the loop asks for goes together. */
export async function openPostgres({ url, monotonic, sleep, name, onFatal }: PostgresOptions): Promise<PostgresStore> {
  await using stack = new AsyncDisposableStack()
  const unusable = (error: Error): never => {
    throw new Error(`FILMGATE_STORE: the database can't be used: ${explain(error)}`, { cause: error })
  }
  const database = stack.use(await openDatabase(url).catch(unusable))
  await migrate(database).catch(unusable)
  await refuseMoved(database)
  const tidy = openTidying(database)
  await tidy().catch((error) => {
    // It can be read. What its start writes is written when it can be.
    if (storageFaultOf(error) === 'unavailable') throw error
  })
  const clock = stack.use(await followClock(database, monotonic, sleep))
  const wakeups = stack.use(openWakeups(database, { clock, name, onFatal }))
  const claims = openClaims(database)
  const insertOne = openInserts(database, clock)
  const probe = openProbe(database, name)
  const mutate = openMutations(database)
  const { ring, wake, tell } = wakeups
  const announce = () => {
    tell()
    wake()
  }
  const resources = stack.move()

  return {
    clock,
    ...openReads(database),
    ...claims,
    ...openWebhooks(database, announce),
    async checkWritable() {
      await tidy()
      await probe.check()
    },
    async insert(task) {
      await probe.watch(insertOne(task))
      wake()
    },
    async delete(owner, id, now) {
      const hidden = await mutate({ verb: 'delete', task: id, owner, at: now })
      announce()
      return hidden
    },
    async record(entry) {
      const held = await mutate({ verb: 'record', task: entry.task.id, entry })
      if (held && isNews(entry)) tell()
      if (entry.keep && held) return held
      // A task that goes on where it is gives nobody else anything to do: everybody looks by himself soon enough. One
      // that has just been taken is news to whoever waits for it.
      if (held && occupies(entry) && !isNews(entry)) ring()
      else wake()
      return held
    },
    async remove({ id, fence }, { orphans = false } = {}) {
      const removed = await mutate({ verb: 'remove', task: id, fence, orphans })
      wake()
      return removed
    },
    async settle(task, fact) {
      await mutate({ verb: 'settle', task, fact })
      wake()
    },
    async disown(account, operation, now) {
      const attempt = await database.write((query) => disown(query, account, operation, now))
      wake()
      return attempt
    },
    async recover(now) {
      await claims.recover(now)
      await recoverDeliveries(database, now)
      wake()
    },
    onDue: wakeups.onWake,
    onNotice: wakeups.onTell,
    async trimNotices(before, limit) {
      return (await database.run(trimStatement, [before, limit])).length
    },
    async saveHealth({ account, keyVersion, health, changedAt }) {
      const values = [account, keyVersion, JSON.stringify(health), changedAt]
      await database.run(healthStatement, values)
      // That a process lives gives nobody anything to do.
      if (!isLocalName(account)) wake()
    },
    async insertToken({ name, kind, digest, models }, createdAt) {
      const values = [name, kind, digest, JSON.stringify(models), createdAt]
      const text = 'INSERT INTO tokens (name, kind, digest, models, created_at) VALUES ($1, $2, $3, $4, $5)'
      await database.run(text, values)
    },
    async deleteToken(name) {
      await database.run('DELETE FROM tokens WHERE name = $1', [name])
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Until it is done, once. */
function openTidying(database: Database): () => Promise<void> {
  let isDone = false
  return async () => {
    if (isDone) return
    await database.write(tidySlots, 60_000)
    isDone = true
  }
}

const trimStatement = `DELETE FROM notices WHERE number IN (SELECT number FROM notices ORDER BY number LIMIT $2)
  AND at < $1 AND number < (SELECT max(number) FROM notices) RETURNING number`

/** Each process that there ever was has a name of its own, an @ in it: they are forgotten after a day. */
const healthStatement = `WITH old AS (
    DELETE FROM healths WHERE account LIKE '%@%' AND account <> $1 AND changed_at < $4::bigint - 86400000
  )
  INSERT INTO healths (account, key_version, health, changed_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (account) DO UPDATE SET key_version = excluded.key_version, health = excluded.health,
    changed_at = excluded.changed_at WHERE healths.changed_at <= excluded.changed_at`

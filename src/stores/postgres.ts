import { isLocalName } from '../core/account.ts'
import type { Clock } from '../core/clock.ts'
import { isNews } from '../core/notice.ts'
import { storageFaultOf } from '../core/storage-fault.ts'
import { openBatches } from './postgres/batch.ts'
import { openClaims, tidySlots } from './postgres/claims.ts'
import { followClock } from './postgres/clock.ts'
import { type Database, openDatabase } from './postgres/database.ts'
import { openDeliveries, recoverDeliveries } from './postgres/deliveries.ts'
import { openEndpoints } from './postgres/endpoints.ts'
import { disown, occupies, recordAll, remove } from './postgres/entries.ts'
import { CommitUnknown } from './postgres/failures.ts'
import { openInserts } from './postgres/inserts.ts'
import { migrate } from './postgres/migrate.ts'
import { openProbe } from './postgres/probe.ts'
import { openReads } from './postgres/reads.ts'
import { openShares } from './postgres/shares.ts'
import { refuseMoved } from './postgres/transfer.ts'
import { explain } from './postgres/unusable.ts'
import { openWakeups } from './postgres/wakeups.ts'
import type { Entry, Store } from './store.ts'

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
export interface PostgresStore extends Store {
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
  const recordOne = openBatches((entries: readonly Entry[]) => recordAll(database, entries))
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
    ...openShares(database),
    ...openEndpoints(database),
    ...openDeliveries(database, announce),
    async checkWritable() {
      await tidy()
      await probe.check()
    },
    async insert(task) {
      await probe.watch(insertOne(task))
      wake()
    },
    async delete(owner, id, now) {
      const hide = (again: boolean) => database.run(hideStatement, [id, owner, now, again])
      const rows = await hide(false).catch((error) => {
        if (error instanceof CommitUnknown) return hide(true)
        throw error
      })
      announce()
      return rows.length === 1
    },
    async record(entry) {
      const held = await recordOne(entry)
      if (held && isNews(entry)) tell()
      if (entry.keep && held) return held
      // A task that goes on where it is gives nobody else anything to do: everybody looks by himself soon enough. One
      // that has just been taken is news to whoever waits for it.
      if (held && occupies(entry) && !isNews(entry)) ring()
      else wake()
      return held
    },
    async remove(lease, { orphans = false } = {}) {
      const removed = await database.write((query) => remove(query, lease, orphans))
      wake()
      return removed
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

/** Said again, because nobody knows whether it was heard, it also finds what it hid before. */
const hideStatement = `WITH hidden AS (
    UPDATE tasks SET deleted_at = $3, due_at = CASE WHEN leased THEN due_at ELSE $3 END,
      start_by = CASE WHEN state = 'queued' THEN 0 ELSE start_by END
    WHERE id = $1 AND owner = $2 AND deleted_at IS NULL RETURNING id, owner
  ), told AS (
    INSERT INTO notices (owner, task, at, kind) SELECT owner, id, $3, 'deleted' FROM hidden
  )
  SELECT id FROM hidden UNION ALL SELECT id FROM tasks WHERE $4 AND id = $1 AND owner = $2 AND deleted_at = $3`

const trimStatement = `DELETE FROM notices WHERE number IN (SELECT number FROM notices ORDER BY number LIMIT $2)
  AND at < $1 AND number < (SELECT max(number) FROM notices) RETURNING number`

/** Each process that there ever was has a name of its own, an @ in it: they are forgotten after a day. */
const healthStatement = `WITH old AS (
    DELETE FROM healths WHERE account LIKE '%@%' AND account <> $1 AND changed_at < $4::bigint - 86400000
  )
  INSERT INTO healths (account, key_version, health, changed_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (account) DO UPDATE SET key_version = excluded.key_version, health = excluded.health,
    changed_at = excluded.changed_at WHERE healths.changed_at <= excluded.changed_at`

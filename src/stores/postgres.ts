import { isLocalName } from '../core/account.ts'
import type { Clock } from '../core/clock.ts'
import { keepsSlots, mayNotify } from '../core/plan.ts'
import { openQueueCounts } from '../core/quotas.ts'
import { fromHealth, healthColumns } from '../core/row.ts'
import { isFree } from '../core/spend.ts'
import { storageFaultOf } from '../core/storage-fault.ts'
import { openAdmissions } from './postgres/admissions.ts'
import { openAlarmRows } from './postgres/alarms.ts'
import { openClaims, tidySlots } from './postgres/claims.ts'
import { followClock } from './postgres/clock.ts'
import { type Database, openDatabase } from './postgres/database.ts'
import { openDeclarations } from './postgres/declarations.ts'
import { openFigures } from './postgres/figures.ts'
import { openInserts, openProbe } from './postgres/inserts.ts'
import { migrate } from './postgres/migrate.ts'
import { disown, openMutations } from './postgres/mutations.ts'
import { openQueue } from './postgres/queue.ts'
import { openReads } from './postgres/reads.ts'
import { openSecrets } from './postgres/secrets.ts'
import { openTokens } from './postgres/tokens.ts'
import { refuseMoved } from './postgres/transfer.ts'
import { explain } from './postgres/unusable.ts'
import { openUsage } from './postgres/usage.ts'
import { openWakeups } from './postgres/wakeups.ts'
import { openWebhooks, repairDeliveryTimes } from './postgres/webhooks.ts'
import type { PoolUse, Store, StoreMeter } from './store.ts'

export interface PostgresOptions {
  /** postgres://user:password@host:port/database */
  url: string
  /** Milliseconds of a clock that is never set. */
  monotonic: () => number
  sleep: Clock['sleep']
  /** Called if the process must stop: the rows are being moved, or were moved to another store. */
  onFatal: (error: Error) => void
  /** Measures transactions, for metrics. */
  meter?: StoreMeter
  /** The unique name of this process. */
  name: string
}

/**
 * A count of waiting tasks is used for a second, and by each process for a 32nd of the room that it found. So a limit of up to
 * 32 is exact, and a larger one holds with up to 32 processes, but for what others insert in that second.
 */
const mostProcesses = 32
const countFreshMs = 1_000

/** All times passed to the store must be of its clock. */
export interface PostgresStore extends Store {
  readonly clock: Clock
  connections(): PoolUse
}

/** The store for many processes. The table of tasks is the queue. Requests of one turn of the event loop are batched. */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const { url, monotonic, sleep, name, onFatal, meter } = options
  await using stack = new AsyncDisposableStack()
  const unusable = (error: Error): never => {
    throw new Error(`FILMGATE_STORE: the database can't be used: ${explain(error)}`, { cause: error })
  }
  const database = stack.use(await openDatabase(url, meter).catch(unusable))
  await migrate(database).catch(unusable)
  await refuseMoved(database)
  const tidy = openTidying(database)
  await tidy().catch((error) => {
    // The database can be read. This is tried again with the next check.
    if (storageFaultOf(error) === 'unavailable') throw error
  })
  const clock = stack.use(await followClock(database, monotonic, sleep))
  const wakeups = stack.use(openWakeups(database, { clock, name, onFatal }))
  const claims = openClaims(database)
  const reads = openReads(database)
  const insertOne = openInserts(database, clock)
  const counts = openQueueCounts({ processes: mostProcesses, freshMs: countFreshMs, now: clock.now })
  // Apart, so that a count of very many tasks does not delay others.
  const [admitCounted, admitPriced] = [openAdmissions(database, counts), openAdmissions(database, counts)]
  const probe = openProbe(database, name)
  const mutate = openMutations(database)
  const { wakeLocal, wakeAll, notifyLocal } = wakeups
  const announce = () => {
    notifyLocal()
    wakeAll()
  }
  const resources = stack.move()

  return {
    clock,
    connections: database.connections,
    ...reads,
    ...openFigures(database, reads.accountsInUse),
    ...claims,
    ...openQueue(database),
    ...openWebhooks(database, announce),
    ...openTokens(database, wakeups.announceTokens),
    ...openUsage(database),
    ...openSecrets(database),
    ...openDeclarations(database, wakeups.announceTokens),
    ...openAlarmRows(database),
    async checkWritable() {
      await tidy()
      await probe.check()
    },
    async insert(task, caps = [], mostQueued) {
      const isAdmitted = counts.admits(task.owner, mostQueued)
      const isPlain = isFree(task.price) && isAdmitted
      const admitOne = isAdmitted ? admitPriced : admitCounted
      const submit = { task, caps, mostQueued: isAdmitted ? undefined : mostQueued }
      await probe.watch(isPlain ? insertOne(task) : admitOne(submit))
      wakeAll()
    },
    async delete(owner, id, now) {
      const hidden = await mutate({ verb: 'delete', task: id, owner, at: now })
      announce()
      return hidden
    },
    async record(entry) {
      const held = await mutate({ verb: 'record', task: entry.task.id, entry })
      if (held && mayNotify(entry)) notifyLocal()
      if (entry.keepsLease && held && keepsSlots(entry)) return held
      // Other processes have nothing to do for a task that goes on in its slots, unless its status changed.
      if (held && keepsSlots(entry) && !mayNotify(entry)) wakeLocal()
      else wakeAll()
      return held
    },
    async remove({ id, fence }, { orphans = false, end } = {}) {
      const removed = await mutate({ verb: 'remove', task: id, fence, orphans, end })
      wakeAll()
      return removed
    },
    async settle(task, fact) {
      await mutate({ verb: 'settle', task, fact })
      wakeAll()
    },
    async disown(account, operation, now) {
      const attempt = await database.write((query) => disown(query, account, operation, now))
      wakeAll()
      return attempt
    },
    async repairDueTimes(now) {
      await claims.repairDueTimes(now)
      await repairDeliveryTimes(database, now)
      wakeAll()
    },
    onDue: wakeups.onDue,
    onNotice: wakeups.onNotice,
    onTokens: wakeups.onTokens,
    // The same message: each change is rare, and a look costs little.
    onDeclarations: wakeups.onTokens,
    async trimNotices(before, limit) {
      return (await database.run(trimStatement, [before, limit])).length
    },
    async saveHealth(health) {
      await database.run(healthStatement, fromHealth(health))
      // A report that a process lives gives the others nothing to do.
      if (!isLocalName(health.account)) wakeAll()
    },
    async trimHealths(accounts, before) {
      const text = 'DELETE FROM healths WHERE account = ANY($1) AND changed_at < $2 RETURNING account'
      return (await database.run(text, [accounts, before])).length
    },
    async trimRemovedAttempts(keptMs, limit) {
      return (await database.run(trimRemovedStatement, [keptMs, limit])).length
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Tidies the slots once. A call after a failed one tries again. */
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

const trimRemovedStatement = `DELETE FROM attempts WHERE id IN (
    SELECT id FROM attempts WHERE state = 'removed' AND opened_at < (
      SELECT max(opened_at) FROM attempts WHERE state = 'removed'
    ) - $1::bigint LIMIT $2) RETURNING id`

const insertStatement = (table: string, columns: readonly string[]) =>
  `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})`

const healthStatement = `${insertStatement('healths', healthColumns)}
  ON CONFLICT (account) DO UPDATE SET key_version = excluded.key_version, health = excluded.health,
    changed_at = excluded.changed_at WHERE healths.changed_at <= excluded.changed_at`

import type { DatabaseSync } from 'node:sqlite'
import type { AccountHealth } from '../../core/account.ts'
import { leftBehind } from '../../core/attempt.ts'
import { decidedAt, noticeOf } from '../../core/notice.ts'
import { columns, fromRow, mutableColumns, readable, toMutable, toSeen, type Value } from '../../core/row.ts'
import type { Json, State, Task } from '../../core/task.ts'
import { longestDelayMs } from '../../core/timing.ts'
import type { Token } from '../../core/token.ts'
import { occupiesSlots } from '../../core/turns.ts'
import type { Claim, Entry, Lane, Lease, QueueClaim } from '../store.ts'
import { prepareDeliveries } from './deliveries.ts'
import { prepareEndpoints } from './endpoints.ts'
import { prepareLedger } from './ledger.ts'
import { prepareProbe } from './probe.ts'
import { prepareQueue } from './queue.ts'
import { prepareShares } from './shares.ts'

/** Everything that can be written, by name; runs in the writer thread, inside a transaction that it opened. */
export type Verbs = ReturnType<typeof prepareVerbs>
export type Unit = { [Name in keyof Verbs]: { verb: Name; args: Parameters<Verbs[Name]> } }[keyof Verbs]

export function prepareVerbs(database: DatabaseSync) {
  const queue = prepareQueue(database)
  const ledger = prepareLedger(database)
  const deliveries = prepareDeliveries(database)
  const insert = database.prepare(
    `INSERT INTO tasks (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const record = database.prepare(recordStatement)
  const before = database.prepare('SELECT state, attempt, started_at, deleted_at FROM tasks WHERE id = ?')
  const remove = database.prepare(
    'DELETE FROM tasks WHERE id = ? AND fence = ? AND leased = 1 RETURNING state, attempt',
  )
  const renew = database.prepare('UPDATE tasks SET due_at = ? WHERE id = ? AND fence = ? AND leased = 1')
  const claims = Object.fromEntries(
    Object.entries(lanes).map(([state, where]) => [state, database.prepare(claimStatement(where))]),
  )
  const claimOne = database.prepare(
    `UPDATE tasks SET fence = fence + 1, leased = 1, due_at = ?
     WHERE id = ? AND state = ? AND leased = 0 AND deleted_at IS NULL RETURNING ${columns.join(', ')}`,
  )
  const hide = database.prepare(
    `UPDATE tasks SET deleted_at = :now, due_at = iif(leased, due_at, :now), start_by = iif(state = 'queued', 0, start_by)
     WHERE id = :id AND owner = :owner AND deleted_at IS NULL`,
  )
  const recover = database.prepare(recoverStatement)
  const insertToken = database.prepare(
    'INSERT INTO tokens (name, kind, digest, models, created_at) VALUES (?, ?, ?, ?, ?)',
  )
  const saveHealth = database.prepare(
    `INSERT INTO healths (account, key_version, health, changed_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (account) DO UPDATE SET key_version = excluded.key_version, health = excluded.health,
       changed_at = excluded.changed_at WHERE healths.changed_at <= excluded.changed_at`,
  )
  const deleteToken = database.prepare('DELETE FROM tokens WHERE name = ?')

  return {
    ...prepareEndpoints(database),
    ...deliveries.verbs,
    ...prepareProbe(database),
    ...prepareShares(database),
    insert(row: Value[]): void {
      insert.run(...row)
    },
    claim(wanted: Claim): Task[] {
      const { state, now, leaseUntil, limit } = wanted
      const account = 'account' in wanted ? [wanted.account] : []
      if (state === 'overdue') queue.release(now)
      return readable(claims[state]?.all(leaseUntil, ...account, now, limit) ?? [], fromRow)
    },
    claimQueued: (wanted: QueueClaim) => queue.claim(wanted),
    claimOne(id: string, state: State, leaseUntil: number): Task | null {
      return readable(claimOne.all(leaseUntil, id, state), fromRow)[0] ?? null
    },
    renew(leases: readonly Lease[], leaseUntil: number): Lease[] {
      return leases.filter(({ id, fence }) => renew.run(leaseUntil, id, fence).changes === 0)
    },
    record(entry: Entry): boolean {
      const { task, keep = false, releases = false, opened, fact, isFactFenced = false, events = [] } = entry
      const { id, fence, deletedAt, state, attempt } = task
      const was = before.get(id)
      const values = [...toMutable(task), id, fence, deletedAt, Number(keep), Number(opened !== undefined)]
      const held = record.run(...values).changes === 1
      if (held && opened) ledger.open(opened)
      if (fact && (held || !isFactFenced)) ledger.settle(fact, held ? attempt : undefined)
      if (!held) return false
      const left = leftBehind(was, task)
      if (left) ledger.orphan(left)
      if (!occupiesSlots(state, keep) || releases) queue.free(id)
      ledger.note(id, events)
      const kind = was && noticeOf(toSeen(was), task)
      if (kind) {
        const notice = { owner: task.owner, task: id, at: decidedAt(entry), kind }
        ledger.tell(notice)
        deliveries.deliver(notice)
      }
      return true
    },
    remove({ id, fence }: Lease, orphans: boolean): boolean {
      const was = remove.get(id, fence)
      if (!was) return false
      if (was.state === 'held' || orphans) ledger.orphan(String(was.attempt))
      queue.free(id)
      ledger.forget(id)
      return true
    },
    delete(owner: string, id: string, now: number): boolean {
      const hidden = hide.run({ owner, id, now }).changes === 1
      if (hidden) ledger.tell({ owner, task: id, at: now, kind: 'deleted' })
      return hidden
    },
    disown: (account: string, operation: Json, now: number) => ledger.disown(account, operation, now),
    trimNotices: (before: number, limit: number) => ledger.trimNotices(before, limit),
    recover(now: number): void {
      recover.run({ now, late: now + longestDelayMs })
      deliveries.recover(now)
    },
    saveHealth({ account, keyVersion, health, changedAt }: AccountHealth): void {
      saveHealth.run(account, keyVersion, JSON.stringify(health), changedAt)
    },
    deleteToken(name: string): void {
      deleteToken.run(name)
    },
    insertToken(token: Token, createdAt: number): void {
      insertToken.run(token.name, token.kind, token.digest, JSON.stringify(token.models), createdAt)
    },
  }
}

/** SQLite takes a partial index only where its own condition stands in the query, word for word. */
const partial = {
  tasks_due: "state IN ('fetching', 'completed', 'failed')",
  tasks_work: "state IN ('held', 'running', 'storing')",
}

/** Where each lane's tasks are. */
export const lanes: Record<Lane['state'], { index: string; where: string; due: string }> = {
  fetching: { index: 'tasks_due', where: `${partial.tasks_due} AND state = 'fetching'`, due: 'due_at' },
  completed: { index: 'tasks_due', where: `${partial.tasks_due} AND state = 'completed'`, due: 'due_at' },
  failed: { index: 'tasks_due', where: `${partial.tasks_due} AND state = 'failed'`, due: 'due_at' },
  held: { index: 'tasks_work', where: `${partial.tasks_work} AND state = 'held' AND account = ?`, due: 'due_at' },
  running: { index: 'tasks_work', where: `${partial.tasks_work} AND state = 'running' AND account = ?`, due: 'due_at' },
  storing: { index: 'tasks_work', where: `${partial.tasks_work} AND state = 'storing' AND account = ?`, due: 'due_at' },
  // Due for a slot and perhaps for a later try, but past its time: one that is being submitted is left alone.
  overdue: { index: 'tasks_start', where: "state = 'queued' AND leased = 0", due: 'start_by' },
}

const [taskId, fence, deletedAt, keep, opens] = [1, 2, 3, 4, 5].map((place) => `?${mutableColumns.length + place}`)

/**
 * A task that was deleted meanwhile is due at once, whatever was decided; one that is kept, when its lease ends. Nothing
 * is sent for a deleted one any more, so none is opened.
 */
const recordStatement = `
  UPDATE tasks SET leased = ${keep}, ${mutableColumns
    .map((name, at) => {
      const value = `?${at + 1}`
      if (name === 'start_by') return `start_by = iif(deleted_at IS NULL, ${value}, 0)`
      if (name !== 'due_at') return `${name} = ${value}`
      return `due_at = CASE WHEN ${keep} THEN due_at WHEN deleted_at IS ${deletedAt} THEN ${value} ELSE 0 END`
    })
    .join(', ')}
  WHERE id = ${taskId} AND fence = ${fence} AND leased = 1 AND NOT (${opens} AND deleted_at IS NOT NULL)`

const recoverStatement = `
  UPDATE tasks SET due_at = :now WHERE leased = 0 AND due_at > :late AND id IN (
    SELECT id FROM tasks INDEXED BY tasks_queue WHERE state = 'queued'
    UNION ALL SELECT id FROM tasks INDEXED BY tasks_due WHERE ${lanes.fetching.where}
    UNION ALL SELECT id FROM tasks INDEXED BY tasks_work WHERE ${partial.tasks_work})`

function claimStatement({ index, where, due }: { index: string; where: string; due: string }): string {
  return `
    UPDATE tasks SET fence = fence + 1, leased = 1, due_at = ?
    WHERE id IN (
      SELECT id FROM tasks INDEXED BY ${index} WHERE ${where} AND ${due} <= ? ORDER BY ${due} LIMIT ?
    )
    RETURNING ${columns.join(', ')}`
}

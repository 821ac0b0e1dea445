import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Attempt } from '../../src/core/attempt.ts'
import type { Task } from '../../src/core/task.ts'
import { settleMs } from '../../src/core/timing.ts'
import { openPostgres } from '../../src/stores/index.ts'
import { anyUrl, resumeAccounts, type Served } from './fleet-clients.ts'
import { lookAtAll } from './kill-clients.ts'
import { targetOf, tellsApart, type Upstreams } from './targets.ts'

/** By how much unknown outcomes are aged: then attempts that were never sent may be sent again. */
const ageMs = settleMs + 60_000
const longestSettleMs = 180_000
/** Late accepts come after 300 ms, and responses may still arrive. */
const quietMs = 2_000

export interface Settling extends Served {
  upstreams: Upstreams
  database: Client
  store: string
}

export type Found = { task: Task; attempts: Attempt[] }

/** Lets the fleet finish whatever can be finished, and returns all tasks as they are stored. */
export async function settle(world: Settling): Promise<Found[]> {
  await pause(quietMs)
  const aged = await makeOlder(world.database)
  const begun = Date.now()
  // Twice: a held task may wait for its next look, which finds that it was never sent, and sends it.
  for (let calm = 0; calm < 2 && Date.now() - begun < longestSettleMs; calm = (await isSettled(world)) ? calm + 1 : 0) {
    await resumeAccounts(anyUrl(world) ?? '').catch(() => {})
    await world.database.query("UPDATE tasks SET due_at = 0 WHERE state = 'held' AND NOT leased")
    await pause(3_000)
  }
  await lookAtAll(world, anyUrl(world) ?? '')
  return findAll(world, aged)
}

/** The clock of the database can't be set ahead, so tasks that wait are aged instead. */
async function makeOlder(database: Client): Promise<Set<string>> {
  const text = `UPDATE attempts SET opened_at = opened_at - ${ageMs} WHERE state = 'open' RETURNING id`
  const { rows } = await database.query<{ id: string }>(text)
  return new Set(rows.map(({ id }) => id))
}

/** Every unfinished task waits for an operator. */
async function isSettled({ database, upstreams }: Settling): Promise<boolean> {
  const { rows } = await database.query<Pick<Task, 'state' | 'card' | 'prompt' | 'attempt'> & { leased: boolean }>(
    "SELECT state, card, prompt, attempt, leased FROM tasks WHERE state NOT IN ('completed', 'failed')",
  )
  return rows.every(({ state, card, prompt, attempt, leased }) => {
    if (state !== 'held' || leased) return false
    const target = targetOf(card)
    if (target.mode === 'none') return true
    // For two identical tasks, a listed job can't be assigned.
    const isAlike = rows.filter((other) => other.card === card && other.prompt === prompt).length > 1
    const accepts = upstreams.get(card)?.ledger().accepts ?? []
    const isIts = (accept: (typeof accepts)[number]) =>
      target.dialect ? accept.prompt === prompt : accept.reference === attempt
    return target.mode === 'list' && (isAlike || !tellsApart(target) || !accepts.some(isIts))
  })
}

async function findAll({ database, store: url }: Settling, aged: ReadonlySet<string>): Promise<Found[]> {
  const sleep = (ms: number, signal?: AbortSignal) =>
    pause(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
  const times = { monotonic: () => performance.now(), sleep }
  await using store = await openPostgres({ url, ...times, name: 'judge', onFatal: assert.ifError })
  const { rows } = await database.query<{ id: string }>('SELECT id FROM tasks ORDER BY id')
  const found: Found[] = []
  for (const { id } of rows) {
    const task = await store.find(id)
    const attempts = await store.attempts(id)
    const asTheyWere = attempts.map((one) => (aged.has(one.id) ? { ...one, openedAt: one.openedAt + ageMs } : one))
    if (task) found.push({ task, attempts: asTheyWere })
  }
  return found
}

import { columns, fromRow, mapReadable, type Row, toQueuedTask } from '../../core/row.ts'
import type { Task } from '../../core/task.ts'
import {
  accountScope,
  cappedScopes,
  cardScope,
  interleaveQueues,
  isOwnerScope,
  mostQueues,
  openRound,
  ownerScopesOf,
  type Queue,
  type QueueCard,
  type QueuedTask,
  type Round,
  type Stretch,
  type Turns,
  takeInTurn,
  withFreeSlots,
} from '../../core/turns.ts'
import type { QueueClaim, Store } from '../store.ts'
import { leftBehind, release } from './claims.ts'
import type { Database } from './database.ts'
import { queueLock } from './migrate.ts'
import type { Query } from './session.ts'

/** A claim of a long queue takes longer than a read. It must end before its leases do. */
const withinMs = 3_000

/**
 * Queued tasks. Slots are counted and then booked, so a claim locks its cards, their accounts, and each owner with a cap
 * whose tasks it takes. It never waits for such a lock: another process is just claiming there, and this one leaves those
 * tasks to a later claim.
 */
export function openQueue(database: Database): Pick<Store, 'claimQueued' | 'queueOf'> {
  const round = openRound()
  let full: ReadonlySet<string> = new Set()
  return {
    async claimQueued(wanted) {
      const cards = await openCards(database.read, wanted, full)
      if (cards.length === 0) return { tasks: [], nextDue: null }
      const claimed = await database.write((query) => claim(query, { ...wanted, cards }, round), withinMs)
      round.serve(claimed.served)
      full = claimed.full
      return claimed
    },
    async queueOf(card, limit) {
      const queues = await database.read(queuesStatement, [...stretchesOf(round.stretches([card])), limit])
      const owners = queues.map(({ owner }) => String(owner))
      return interleaveQueues(owners, limit, async (each) => {
        const rows = await database.read(lineStatement, [card, owners, each])
        const lines = Map.groupBy(rows, ({ owner }) => String(owner))
        return owners.map((owner) => (lines.get(owner) ?? []).map(({ id }) => String(id)))
      })
    },
  }
}

/**
 * Cards with queued tasks and a free slot: without one nothing has to be locked. Slots are counted only of accounts that
 * were full at the last claim. Tasks that a dead claimer left behind hold slots that the claim will free, so then all
 * cards count.
 */
async function openCards(query: Query, { cards, now }: QueueClaim, full: ReadonlySet<string>): Promise<QueueCard[]> {
  const possible = cards.filter(({ accounts }) => accounts.length > 0)
  if (possible.length === 0) return []
  const caps = new Map([...accountCaps(possible)].filter(([scope]) => full.has(scope)))
  const [rows, used] = await Promise.all([
    query(queuedStatement, [possible.map(({ card }) => card), now]),
    countSlots(query, caps),
  ])
  const queued = new Map(rows.map(({ card, isLeft }) => [card, isLeft]))
  const free = new Set(withFreeSlots(possible, used))
  return possible.filter((card) => queued.has(card.card) && (queued.get(card.card) || free.has(card)))
}

/** Not `EXISTS` for the cards: PostgreSQL makes a join of it, and reads the whole queue if it expects few tasks there. */
const queuedStatement = `SELECT asked.card, EXISTS (SELECT FROM tasks WHERE ${leftBehind('$2')}) AS "isLeft"
  FROM unnest($1::text[]) AS asked (card), LATERAL (
    SELECT FROM tasks WHERE state = 'queued' AND tasks.card = asked.card COLLATE "C" ORDER BY card, owner LIMIT 1
  ) AS first`

function accountCaps(cards: readonly QueueCard[]): Map<string, number> {
  return new Map(
    cards.flatMap(({ accounts }) => accounts.map(({ name, cap, spare }) => [accountScope(name), cap + spare])),
  )
}

type Claimed = Awaited<ReturnType<Store['claimQueued']>> &
  Pick<Turns, 'served'> & {
    /** The scopes of accounts without a free slot. */
    full: ReadonlySet<string>
  }

/**
 * Statements are sent together, in this order: what is counted is counted after the locks are held, and after slots are
 * released.
 */
async function claim(query: Query, wanted: QueueClaim, round: Round): Promise<Claimed> {
  const ours = { ...wanted, cards: await lockCards(query, wanted.cards) }
  const caps = accountCaps(ours.cards)
  if (caps.size === 0) return { tasks: [], nextDue: wanted.now, served: [], full: new Set() }
  const stretches = round.stretches(ours.cards.map(({ card }) => card))
  const [, used, read] = await Promise.all([
    release(query, wanted.now),
    countSlots(query, caps),
    readHeads(query, stretches, wanted),
  ])
  const { turns, isContended } = await choose(query, { wanted: ours, read, used })
  const isPartial =
    ours.cards.length < wanted.cards.length ||
    isContended ||
    (turns.taken.length < wanted.limit && hasUsedUp(read, turns))
  return {
    tasks: await book(query, turns, wanted.leaseUntil),
    nextDue: isPartial ? wanted.now : turns.nextDue,
    served: turns.served,
    full: new Set([...caps].filter(([scope, cap]) => used(scope) >= cap).map(([scope]) => scope)),
  }
}

interface Choice {
  wanted: QueueClaim
  read: Heads
  /** Of accounts. */
  used: (scope: string) => number
}

/**
 * Chooses tasks, and locks their owners that have a cap: claims for other accounts book their slots, too. What no longer
 * fits once they are counted under the lock, or belongs to an owner that another process has locked, is left.
 */
async function choose(query: Query, { wanted, read, used }: Choice): Promise<{ turns: Turns; isContended: boolean }> {
  const queues = [...read.heads.keys()]
  const caps = cappedScopes(wanted, queues)
  const counted = await countSlots(query, caps)
  const usedOf = (scope: string) => (caps.has(scope) ? counted(scope) : used(scope))
  const take = (used: typeof usedOf) => takeInTurn(queues, (queue) => read.heads.get(queue) ?? [], used, wanted)
  const first = take(usedOf)
  const owners = ownerScopesOf(first.taken)
  if (owners.length === 0) return { turns: first, isContended: false }
  const [locked, recounted] = await Promise.all([
    tryLocks(query, owners),
    countSlots(query, new Map(owners.map((scope) => [scope, caps.get(scope) ?? 0]))),
  ])
  if (owners.every((scope) => locked.has(scope) && recounted(scope) === counted(scope)))
    return { turns: first, isContended: false }
  const sure = (scope: string) => (locked.has(scope) ? recounted(scope) : Number.POSITIVE_INFINITY)
  const second = take((scope) => (isOwnerScope(scope) ? sure(scope) : usedOf(scope)))
  // Only the first choice looked at all queues.
  return { turns: { ...second, nextDue: first.nextDue }, isContended: second.taken.length < first.taken.length }
}

/** Whether all tasks of a queue that were read are taken, and it may have more. */
function hasUsedUp({ heads, most }: Heads, { taken }: Turns): boolean {
  const ids = new Set(taken.map(({ id }) => id))
  return [...heads.values()].some((queue) => queue.length === most && queue.every(({ id }) => ids.has(id)))
}

/** The cards that no other process is just claiming for, nor for one of their accounts. */
async function lockCards(query: Query, cards: readonly QueueCard[]): Promise<QueueCard[]> {
  const scopesOf = ({ card, accounts }: QueueCard) => [
    cardScope(card),
    ...accounts.map(({ name }) => accountScope(name)),
  ]
  const locked = await tryLocks(query, [...new Set(cards.flatMap(scopesOf))].sort())
  return cards.filter((card) => scopesOf(card).every((scope) => locked.has(scope)))
}

/** Two scopes with the same hash are locked together, which does no harm. */
async function tryLocks(query: Query, scopes: readonly string[]): Promise<Set<string>> {
  const rows = await query(lockStatement, [scopes, queueLock])
  return new Set(rows.map(({ scope }) => String(scope)))
}

const lockStatement =
  'SELECT scope FROM unnest($1::text[]) AS asked (scope) WHERE pg_try_advisory_xact_lock($2::int, hashtext(scope))'

/** Counts no further than the cap. */
async function countSlots(query: Query, caps: ReadonlyMap<string, number>): Promise<(scope: string) => number> {
  if (caps.size === 0) return () => 0
  const rows = await query(countStatement, [[...caps.keys()], [...caps.values()]])
  const used = new Map(rows.map(({ scope, used }) => [String(scope), Number(used)]))
  return (scope) => used.get(scope) ?? 0
}

const countStatement = `SELECT scope, (SELECT count(*) FROM (
    SELECT FROM slots WHERE slots.scope = asked.scope COLLATE "C" LIMIT asked.cap
  ) AS taken) AS used FROM unnest($1::text[], $2::bigint[]) AS asked (scope, cap)`

const stretchesOf = (round: readonly Stretch[]) => [
  round.map(({ card }) => card),
  round.map(({ after }) => after),
  round.map(({ until }) => until),
]

/**
 * By steps from one queue to the next in the index, however many tasks each has. A step that finds no owner, or one
 * beyond the end of its stretch, goes on to the next stretch.
 */
const walk = `RECURSIVE walk (stretch, owner, place, found) AS (
    SELECT 1, ($2::text[])[1] COLLATE "C", 0, false
    UNION ALL
    SELECT
      CASE WHEN found.inside THEN walk.stretch ELSE walk.stretch + 1 END,
      CASE WHEN found.inside THEN next.owner ELSE ($2::text[])[walk.stretch + 1] COLLATE "C" END,
      CASE WHEN found.inside THEN walk.place + 1 ELSE walk.place END,
      found.inside
    FROM walk
    LEFT JOIN LATERAL (
      SELECT owner FROM tasks
      WHERE state = 'queued' AND card = ($1::text[])[walk.stretch] COLLATE "C" AND owner > walk.owner
      ORDER BY card, owner LIMIT 1
    ) AS next ON true
    CROSS JOIN LATERAL (
      SELECT coalesce(next.owner <= coalesce(($3::text[])[walk.stretch] COLLATE "C", next.owner), false) AS inside
    ) AS found
    WHERE walk.stretch <= cardinality($1::text[]) AND walk.place < $4::bigint
  ),
  queues AS (SELECT place, ($1::text[])[stretch] COLLATE "C" AS card, owner FROM walk WHERE found)`

const queuesStatement = `WITH ${walk} SELECT owner FROM queues ORDER BY place`

/** If there are few queues, each may get many turns. */
const headsStatement = `WITH ${walk}
  SELECT place, queues.card, queues.owner, each.most, head.* FROM queues
  CROSS JOIN (SELECT greatest(4, ceil(1.5 * $5::float8 / greatest(1, count(*))))::bigint AS most FROM queues) AS each
  LEFT JOIN LATERAL (
    SELECT id, due_at, tried FROM tasks
    WHERE state = 'queued' AND NOT leased AND card = queues.card AND owner = queues.owner AND due_at IS NOT NULL
    ORDER BY due_at LIMIT each.most
  ) AS head ON true
  ORDER BY place, due_at`

interface Heads {
  heads: ReadonlyMap<Queue, readonly QueuedTask[]>
  /** How many were read of each queue, if it has as many. */
  most: number
}

/** The next queues of the round, each with its first tasks. */
async function readHeads(query: Query, round: readonly Stretch[], wanted: QueueClaim): Promise<Heads> {
  const rows = await query(headsStatement, [...stretchesOf(round), mostQueues(wanted), wanted.limit])
  const queues = [...Map.groupBy(rows, ({ place }) => place).values()]
  const heads = queues.map(
    (found) => [queueOf(found[0] ?? {}), found.filter(({ id }) => id !== null).map(toQueuedTask)] as const,
  )
  return { heads: new Map(heads), most: Number(rows[0]?.most) }
}

const queueOf = ({ card, owner }: Row): Queue => ({ card: String(card), owner: String(owner) })

/** Leases the tasks, and books their slots. No other claim has them: this one has locked their cards. */
async function book(query: Query, { taken }: Turns, leaseUntil: number): Promise<Task[]> {
  if (taken.length === 0) return []
  const slots = taken.flatMap(({ id, scopes }) => scopes.map((scope) => ({ scope, task: id })))
  const rows = await query(bookStatement, [
    taken.map(({ id }) => id),
    taken.map(({ account }) => account),
    leaseUntil,
    JSON.stringify(slots),
  ])
  const got = new Map(mapReadable(rows, fromRow).map((task) => [task.id, task]))
  return taken.flatMap(({ id }) => got.get(id) ?? [])
}

/** Behind a CASE the state does not offer the index of the queue, which PostgreSQL would read as a whole. */
const bookStatement = `WITH claimed AS (
    UPDATE tasks SET fence = fence + 1, leased = true, due_at = $3, account = taken.account
    FROM unnest($1::text[], $2::text[]) AS taken (id, account)
    WHERE tasks.id = taken.id AND CASE WHEN state = 'queued' THEN NOT leased ELSE false END
    RETURNING ${columns.map((name) => `tasks.${name}`).join(', ')}
  ),
  booked AS (
    INSERT INTO slots (scope, task)
    SELECT scope, task FROM json_populate_recordset(NULL::slots, $4) WHERE task IN (SELECT id FROM claimed)
    ON CONFLICT DO NOTHING
  )
  SELECT * FROM claimed`

/** A task under lease is about to be sent, and no longer waits. */
const lineStatement = `SELECT asked.owner, line.id FROM unnest($2::text[]) AS asked (owner), LATERAL (
    SELECT id, due_at FROM tasks
    WHERE state = 'queued' AND card = $1::text COLLATE "C" AND owner = asked.owner COLLATE "C"
      AND due_at IS NOT NULL AND NOT leased AND deleted_at IS NULL
    ORDER BY due_at LIMIT $3
  ) AS line ORDER BY line.due_at`

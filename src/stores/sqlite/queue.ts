import type { DatabaseSync } from 'node:sqlite'
import type { Task } from '../../core/task.ts'
import type { QueueCard, QueueClaim } from '../store.ts'
import { columns, type Row, readable } from './rows.ts'

interface Pair {
  card: QueueCard
  owner: string
  served: number
}

/** Queued tasks and the slots that they need; runs in the writer thread, inside its transaction. */
export function prepareQueue(database: DatabaseSync) {
  const join = database.prepare(
    `INSERT INTO queues (card, owner, served) VALUES (?, ?, (SELECT coalesce(max(served), 0) FROM queues))
     ON CONFLICT DO NOTHING`,
  )
  const leave = database.prepare('DELETE FROM queues WHERE card = ? AND owner = ?')
  const serve = database.prepare(
    'UPDATE queues SET served = (SELECT max(served) + 1 FROM queues) WHERE card = ? AND owner = ?',
  )
  const waiting = database.prepare('SELECT owner, served FROM queues WHERE card = ? ORDER BY served LIMIT 1000')
  // More than one, for the first may wait for an account that is full while another has room for the next.
  const heads = database.prepare(
    `SELECT id, due_at, tried FROM tasks INDEXED BY tasks_queue
     WHERE state = 'queued' AND card = ? AND owner = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 100`,
  )
  const take = database.prepare(
    `UPDATE tasks SET fence = fence + 1, leased = 1, due_at = ?, account = ? WHERE id = ? RETURNING ${columns.join(', ')}`,
  )
  const used = database.prepare('SELECT count(*) AS used FROM slots WHERE scope = ?')
  const book = database.prepare('INSERT INTO slots (scope, task) VALUES (?, ?)')
  const free = database.prepare('DELETE FROM slots WHERE task = ?')
  const left = "leased = 1 AND state = 'queued' AND due_at <= ?"
  const freeLeft = database.prepare(
    `DELETE FROM slots WHERE task IN (SELECT id FROM tasks INDEXED BY tasks_leased WHERE ${left})`,
  )
  const endLeft = database.prepare(`UPDATE tasks INDEXED BY tasks_leased SET leased = 0 WHERE ${left}`)

  type Slots = ReturnType<typeof countSlots>
  /** How many slots are left in each scope; counted once for each claim, then kept. */
  function countSlots({ ownerCaps }: QueueClaim) {
    const left = new Map<string, number>()
    const leftIn = (scope: string, cap: number | null | undefined, room: number | null = null) => {
      if (cap === null || cap === undefined) return Number.POSITIVE_INFINITY
      const known = left.get(scope)
      if (known !== undefined) return known
      const fresh = Math.min(cap - Number(used.get(scope)?.used), room ?? cap)
      left.set(scope, fresh)
      return fresh
    }
    const accountOf = (card: QueueCard, tried: readonly string[]) =>
      card.accounts.find(({ name, cap, room }) => !tried.includes(name) && leftIn(`account:${name}`, cap, room) > 0)
    return {
      hasRoom: (card: QueueCard) => leftIn(`card:${card.card}`, card.cap) > 0 && accountOf(card, []) !== undefined,
      ownerHasRoom: (owner: string) =>
        leftIn(`owner:${owner}`, Object.hasOwn(ownerCaps, owner) ? ownerCaps[owner] : null) > 0,
      accountOf,
      book(task: string, card: QueueCard, owner: string, account: string) {
        const scopes = [`account:${account}`, `card:${card.card}`, `owner:${owner}`]
        for (const scope of scopes.filter((scope) => left.has(scope))) {
          book.run(scope, task)
          left.set(scope, Number(left.get(scope)) - 1)
        }
      },
    }
  }

  /** The oldest task of this pair that is due and finds an account, or when the next is due if none is yet. */
  function headOf({ card, owner }: Pair, { now }: QueueClaim, { accountOf }: Slots) {
    let empty = true
    for (const row of heads.iterate(card.card, owner)) {
      empty = false
      if (Number(row.due_at) > now) return Number(row.due_at)
      const account = accountOf(card, triedOf(row))
      if (account) return { id: String(row.id), account: account.name }
    }
    if (empty) leave.run(card.card, owner)
    return null
  }

  /** One task of this pair, if it has one due and the slots are there; none if its row can't be read. */
  function takeOne(pair: Pair, wanted: QueueClaim, slots: Slots): Task[] | number | null {
    const { card, owner } = pair
    if (!slots.hasRoom(card) || !slots.ownerHasRoom(owner)) return null
    const head = headOf(pair, wanted, slots)
    if (head === null || typeof head === 'number') return head
    slots.book(head.id, card, owner, head.account)
    serve.run(card.card, owner)
    return readable(take.all(wanted.leaseUntil, head.account, head.id))
  }

  /** Tasks that their claimers left before they opened an attempt. What holds their slots can't hold their lease. */
  function release(now: number): void {
    freeLeft.run(now)
    endLeft.run(now)
  }

  return {
    join: (card: string, owner: string) => void join.run(card, owner),
    free: (task: string) => void free.run(task),
    release,
    claim(wanted: QueueClaim): { tasks: Task[]; nextDue: number | null } {
      release(wanted.now)
      const slots = countSlots(wanted)
      let pairs: Pair[] = wanted.cards
        .filter((card) => slots.hasRoom(card))
        .flatMap((card) =>
          waiting.all(card.card).map(({ owner, served }) => ({ card, owner: String(owner), served: Number(served) })),
        )
        .sort((one, other) => one.served - other.served)
      const tasks: Task[] = []
      let nextDue = Number.POSITIVE_INFINITY
      // In turn: everybody gets one before anybody gets another.
      while (pairs.length > 0 && tasks.length < wanted.limit) {
        pairs = pairs.filter((pair) => {
          if (tasks.length >= wanted.limit) return true
          const taken = takeOne(pair, wanted, slots)
          if (typeof taken === 'number') nextDue = Math.min(nextDue, taken)
          if (taken === null || typeof taken === 'number') return false
          tasks.push(...taken)
          return true
        })
      }
      return { tasks, nextDue: Number.isFinite(nextDue) ? nextDue : null }
    },
  }
}

function triedOf({ tried }: Row): readonly string[] {
  try {
    return tried ? JSON.parse(String(tried)) : []
  } catch {
    return []
  }
}

/*
 * Which queued tasks are claimed, and for which account. There is a queue for each (card, owner), and queues take
 * turns: each gets one task before any gets another. A task needs a slot of an account, of its card and of its owner.
 */
export interface Queue {
  card: string
  owner: string
  /** The number of its last turn; 0 if it never had one. */
  served: number
}

/** A task that waits in a queue. */
export interface QueuedTask {
  id: string
  dueAt: number
  /** Accounts that refused or failed it: they get it only if no other account has a slot. */
  tried: readonly string[]
}

export interface QueueCard {
  card: string
  cap: number | null
  /** In the order of preference. */
  accounts: readonly QueueAccount[]
}

interface QueueAccount {
  name: string
  cap: number
  /** How many more tasks it may get now, however many slots are free. */
  maxNewTasks: number
  /** Slots beyond the cap, for owners that hold no slot of the account: they need not wait for long work. */
  spare: number
}

export interface QueueLimits {
  cards: readonly QueueCard[]
  /** How many tasks of these owners may run at once. */
  ownerCaps: Readonly<Record<string, number>>
  limit: number
  now: number
}

/** A claimed task, and the scopes in which it takes a slot. */
interface ClaimedTask {
  id: string
  account: string
  queue: Queue
  scopes: string[]
}

/** `heads` returns the tasks of a queue, the oldest first; `used` the number of slots in use of a scope. */
export function takeInTurn(
  queues: readonly Queue[],
  heads: (queue: Queue) => readonly QueuedTask[],
  used: (scope: string) => number,
  wanted: QueueLimits,
): { taken: ClaimedTask[]; nextDue: number | null } {
  const slots = countSlots(used, wanted)
  const taken: ClaimedTask[] = []
  let nextDue = Number.POSITIVE_INFINITY
  let waiting = [...queues]
    .sort((one, other) => one.served - other.served)
    .map((queue) => ({
      queue,
      card: wanted.cards.find(({ card }) => card === queue.card),
      line: openLine(queue, heads),
    }))

  /** Takes the oldest task of a queue, if it is due and has all slots. */
  const takeOne = ({ queue, card, line }: (typeof waiting)[number]): boolean => {
    if (!card || !slots.hasSlot(card, queue.owner) || !slots.ownerHasSlot(queue.owner)) return false
    const head = line.next()
    if (head && head.dueAt > wanted.now) nextDue = Math.min(nextDue, head.dueAt)
    const account = head && head.dueAt <= wanted.now && slots.accountOf(card, queue.owner, head.tried)
    if (!account) return false
    taken.push({ id: head.id, account: account.name, queue, scopes: slots.book(card, queue.owner, account) })
    return true
  }
  while (waiting.length > 0 && taken.length < wanted.limit)
    waiting = waiting.filter((queue) => taken.length >= wanted.limit || takeOne(queue))
  return { taken, nextDue: Number.isFinite(nextDue) ? nextDue : null }
}

/**
 * The ids of queued tasks in about the order in which they will be claimed: the first of each queue, then the second of
 * each. `read` returns the ids of all queues, in the order of their turns, up to `each` of every queue. `each` begins
 * with an even share, and grows only if short queues leave too few ids.
 */
export async function interleaveQueues(
  queues: number,
  limit: number,
  read: (each: number) => Promise<readonly (readonly string[])[]>,
): Promise<string[]> {
  for (let each = Math.ceil(limit / Math.max(1, queues)); ; each *= 4) {
    const lines = await read(each)
    const found = lines.reduce((sum, line) => sum + line.length, 0)
    if (found < limit && lines.some(({ length }) => length === each)) continue
    const turns = Array.from({ length: Math.max(0, ...lines.map(({ length }) => length)) }, (_, turn) => turn)
    return turns.flatMap((turn) => lines.flatMap((line) => line[turn] ?? [])).slice(0, limit)
  }
}

/** Reads the queue at its first turn: in most claims most queues get none. */
function openLine(queue: Queue, heads: (queue: Queue) => readonly QueuedTask[]) {
  let all: readonly QueuedTask[] | undefined
  let at = 0
  return {
    next(): QueuedTask | undefined {
      all ??= heads(queue)
      return all[at++]
    },
  }
}

/** The slots that are left in each scope with a cap. Each scope is counted once. */
function countSlots(used: (scope: string) => number, { ownerCaps }: QueueLimits) {
  const left = new Map<string, number>()
  const allowed = new Map<string, number>()
  const leftIn = (scope: string, cap: number | null | undefined) => {
    if (cap === null || cap === undefined) return Number.POSITIVE_INFINITY
    const known = left.get(scope)
    if (known !== undefined) return known
    const fresh = cap - used(scope)
    left.set(scope, fresh)
    return fresh
  }
  const allowedFor = ({ name, maxNewTasks }: QueueAccount) => allowed.get(name) ?? maxNewTasks
  const isOpen = (account: QueueAccount, owner: string) => {
    if (allowedFor(account) <= 0) return false
    const free = leftIn(accountScope(account.name), account.cap)
    return free > 0 || (free + account.spare > 0 && leftIn(holderScope(account.name, owner), 1) > 0)
  }
  const accountOf = ({ accounts }: QueueCard, owner: string, tried: readonly string[]) =>
    accounts.find((one) => !tried.includes(one.name) && isOpen(one, owner)) ??
    accounts.find((one) => isOpen(one, owner))
  return {
    accountOf,
    hasSlot: (card: QueueCard, owner: string) =>
      leftIn(cardScope(card.card), card.cap) > 0 && accountOf(card, owner, []) !== undefined,
    ownerHasSlot: (owner: string) =>
      leftIn(ownerScope(owner), Object.hasOwn(ownerCaps, owner) ? ownerCaps[owner] : null) > 0,
    book(card: QueueCard, owner: string, account: QueueAccount): string[] {
      const holder = holderScope(account.name, owner)
      // Always booked: the next claim has to know which owners hold a slot.
      if (account.spare) leftIn(holder, 1)
      const all = [accountScope(account.name), cardScope(card.card), ownerScope(owner), holder]
      const scopes = all.filter((scope) => left.has(scope))
      for (const scope of scopes) left.set(scope, Number(left.get(scope)) - 1)
      allowed.set(account.name, allowedFor(account) - 1)
      return scopes
    },
  }
}

/** The cap of every scope that has one: the scopes that a store may have to count for these queues. */
export function cappedScopes({ cards, ownerCaps }: QueueLimits, queues: readonly Queue[]): Map<string, number> {
  const accounts = cards.flatMap(({ card, accounts }) => accounts.map((account) => ({ card, ...account })))
  return new Map([
    ...accounts.map(({ name, cap, spare }) => [accountScope(name), cap + spare] as const),
    ...accounts.flatMap(({ card, name, spare }) =>
      spare
        ? queues.filter((queue) => queue.card === card).map(({ owner }) => [holderScope(name, owner), 1] as const)
        : [],
    ),
    ...cards.flatMap(({ card, cap }) => (cap === null ? [] : [[cardScope(card), cap] as const])),
    ...Object.entries(ownerCaps).map(([owner, cap]) => [ownerScope(owner), cap] as const),
  ])
}

export const accountScope = (name: string) => `account:${name}`
const cardScope = (card: string) => `card:${card}`
const ownerScope = (owner: string) => `owner:${owner}`
const holderScope = (account: string, owner: string) => `holder:${account}:${owner}`

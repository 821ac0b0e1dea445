/*
 * Which queued tasks are taken, and for which account. Everybody, which is every (card, owner), gets one before anybody
 * gets another, and nobody gets one for which a slot is missing: of an account, of its card or of its owner.
 */
export interface Queue {
  card: string
  owner: string
  /** When it had its last turn, counted in turns; 0 if it never had one. */
  served: number
}

/** A task that waits in a queue. */
export interface Head {
  id: string
  dueAt: number
  /** Accounts that did not take it, or failed it: only where no other has room is it given to one of them. */
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
  /** No more than so many of its slots now, whatever is free. */
  room: number | null
  /** Slots beyond the cap, each for an owner that has no other slot of the account: it need not wait for long work. */
  spare?: number
}

export interface Turns {
  cards: readonly QueueCard[]
  /** Tokens that may only have so many tasks in work at once. */
  ownerCaps: Readonly<Record<string, number>>
  limit: number
  now: number
}

/** A task that is taken, and the scopes in which it takes up a slot. */
interface Taken {
  id: string
  account: string
  queue: Queue
  scopes: string[]
}

/** `heads` gives the tasks of a queue, the oldest first, and `used` how many slots of a scope are taken. */
export function takeInTurn(
  queues: readonly Queue[],
  heads: (queue: Queue) => readonly Head[],
  used: (scope: string) => number,
  wanted: Turns,
): { taken: Taken[]; nextDue: number | null } {
  const slots = countSlots(used, wanted)
  const taken: Taken[] = []
  let nextDue = Number.POSITIVE_INFINITY
  let waiting = [...queues]
    .sort((one, other) => one.served - other.served)
    .map((queue) => ({
      queue,
      card: wanted.cards.find(({ card }) => card === queue.card),
      line: openLine(queue, heads),
    }))

  /** The oldest, if it is due. Where its card has room, some account has. */
  const takeOne = ({ queue, card, line }: (typeof waiting)[number]): boolean => {
    if (!card || !slots.hasRoom(card, queue.owner) || !slots.ownerHasRoom(queue.owner)) return false
    const head = line.next()
    if (head && head.dueAt > wanted.now) nextDue = Math.min(nextDue, head.dueAt)
    const account = head && head.dueAt <= wanted.now && slots.accountOf(card, queue.owner, head.tried)
    if (!account) return false
    taken.push({ id: head.id, account: account.name, queue, scopes: slots.book(card, queue.owner, account) })
    return true
  }
  while (waiting.length > 0 && taken.length < wanted.limit)
    waiting = waiting.filter((place) => taken.length >= wanted.limit || takeOne(place))
  return { taken, nextDue: Number.isFinite(nextDue) ? nextDue : null }
}

/**
 * The ids that wait, in about the order in which they will be taken, at most so many: everybody's first, then everybody's
 * second. `read` gives the lines of all, who is served next first, each up to a length. That begins with an even share,
 * and grows only where some have too few for the others to make up.
 */
export async function lineUp(
  owners: number,
  limit: number,
  read: (each: number) => Promise<readonly (readonly string[])[]>,
): Promise<string[]> {
  for (let each = Math.ceil(limit / Math.max(1, owners)); ; each *= 4) {
    const lines = await read(each)
    const found = lines.reduce((sum, line) => sum + line.length, 0)
    if (found < limit && lines.some(({ length }) => length === each)) continue
    const turns = Array.from({ length: Math.max(0, ...lines.map(({ length }) => length)) }, (_, turn) => turn)
    return turns.flatMap((turn) => lines.flatMap((line) => line[turn] ?? [])).slice(0, limit)
  }
}

/** Read when its first turn comes: most queues have none in most claims. */
function openLine(queue: Queue, heads: (queue: Queue) => readonly Head[]) {
  let all: readonly Head[] | undefined
  let at = 0
  return {
    next(): Head | undefined {
      all ??= heads(queue)
      return all[at++]
    },
  }
}

/** How many slots are left in each scope that has a cap; counted once, then kept. */
function countSlots(used: (scope: string) => number, { ownerCaps }: Turns) {
  const left = new Map<string, number>()
  const rooms = new Map<string, number>()
  const leftIn = (scope: string, cap: number | null | undefined) => {
    if (cap === null || cap === undefined) return Number.POSITIVE_INFINITY
    const known = left.get(scope)
    if (known !== undefined) return known
    const fresh = cap - used(scope)
    left.set(scope, fresh)
    return fresh
  }
  const roomOf = ({ name, room }: QueueAccount) => rooms.get(name) ?? room ?? Number.POSITIVE_INFINITY
  const isOpen = (account: QueueAccount, owner: string) => {
    if (roomOf(account) <= 0) return false
    const free = leftIn(accountScope(account.name), account.cap)
    return free > 0 || (free + (account.spare ?? 0) > 0 && leftIn(holderScope(account.name, owner), 1) > 0)
  }
  const accountOf = ({ accounts }: QueueCard, owner: string, tried: readonly string[]) =>
    accounts.find((one) => !tried.includes(one.name) && isOpen(one, owner)) ??
    accounts.find((one) => isOpen(one, owner))
  return {
    accountOf,
    hasRoom: (card: QueueCard, owner: string) =>
      leftIn(cardScope(card.card), card.cap) > 0 && accountOf(card, owner, []) !== undefined,
    ownerHasRoom: (owner: string) =>
      leftIn(ownerScope(owner), Object.hasOwn(ownerCaps, owner) ? ownerCaps[owner] : null) > 0,
    book(card: QueueCard, owner: string, account: QueueAccount): string[] {
      const holder = holderScope(account.name, owner)
      // Booked also where it did not matter: the next claim has to know who holds a slot.
      if (account.spare) leftIn(holder, 1)
      const all = [accountScope(account.name), cardScope(card.card), ownerScope(owner), holder]
      const scopes = all.filter((scope) => left.has(scope))
      for (const scope of scopes) left.set(scope, Number(left.get(scope)) - 1)
      rooms.set(account.name, roomOf(account) - 1)
      return scopes
    },
  }
}

/** Every scope that has a cap, with it: what a store may have to count for these queues. */
export function cappedScopes({ cards, ownerCaps }: Turns, queues: readonly Queue[]): Map<string, number> {
  const accounts = cards.flatMap(({ card, accounts }) => accounts.map((account) => ({ card, ...account })))
  return new Map([
    ...accounts.map(({ name, cap, spare = 0 }) => [accountScope(name), cap + spare] as const),
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

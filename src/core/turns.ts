/*
 * Which queued tasks are claimed, and for which account. There is a queue for each (card, owner), and queues take
 * turns: each gets one task before any gets another. A task needs a slot of an account, of its card and of its owner.
 *
 * Each process goes round the queues by itself, in the order of their names, and continues behind the queue that had the
 * last turn. So a claim costs the same however many queues there are, and processes need not agree on whose turn it is.
 */
export interface Queue {
  card: string
  owner: string
}

/** A claim looks at up to this many queues: more than it claims, as the tasks of some may have to wait. */
export const mostQueues = ({ limit }: Pick<QueueLimits, 'limit'>): number => Math.max(32, 2 * limit)

/** The queues of a card whose owners come after `after`, up to `until`, if that is given. */
export interface Stretch {
  card: string
  after: string
  until: string | null
}

/** Where the next claim continues. */
export interface Round {
  /** All queues of these cards, in the order of their turns. */
  stretches(cards: readonly string[]): Stretch[]
  /** These had their turns. */
  serve(queues: readonly Queue[]): void
}

/**
 * Each card is a circle of its owners, which continues behind the one that had its last turn, even if the queues of other
 * cards had theirs meanwhile. One card is visited after the other: a visit ends where it started.
 */
export function openRound(): Round {
  const last = new Map<string, string>()
  let visit = { card: '', start: '' }
  const behind = (card: string) => last.get(card) ?? ''
  return {
    stretches(cards) {
      const all = [...new Set(cards)].sort()
      const others = [...all.filter((card) => card > visit.card), ...all.filter((card) => card < visit.card)]
      const circles = others.flatMap((card) => arc(card, behind(card), behind(card)))
      if (!all.includes(visit.card)) return circles
      const { card, start } = visit
      const isOver = behind(card) === start
      return [...(isOver ? [] : arc(card, behind(card), start)), ...circles, ...arc(card, start, behind(card))]
    },
    serve(queues) {
      for (const { card, owner } of queues) {
        if (card !== visit.card) visit = { card, start: behind(card) }
        last.set(card, owner)
      }
    },
  }
}

/** The owners of a card behind `after`, up to `until`, round the end of the names. The whole circle if both are the same. */
function arc(card: string, after: string, until: string): Stretch[] {
  // As the stores compare names.
  if (Buffer.compare(Buffer.from(after), Buffer.from(until)) < 0) return [{ card, after, until }]
  return [{ card, after, until: null }, ...(until === '' ? [] : [{ card, after: '', until }])]
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

export interface Turns {
  taken: ClaimedTask[]
  /** When the first task is due that waits for a time, not for a slot. */
  nextDue: number | null
  /** The queues that had a turn, in this order. */
  served: Queue[]
}

/**
 * `queues` has the next ones in the round, up to `mostQueues`; `heads` returns the first tasks of a queue, the oldest
 * first; `used` the number of slots in use of a scope.
 */
export function takeInTurn(
  queues: Iterable<Queue>,
  heads: (queue: Queue, count: number) => readonly QueuedTask[],
  used: (scope: string) => number,
  wanted: QueueLimits,
): Turns {
  const slots = countSlots(used, wanted)
  const cards = new Map(wanted.cards.map((card) => [card.card, card]))
  const taken: ClaimedTask[] = []
  let nextDue = Number.POSITIVE_INFINITY

  /** Takes the oldest task of a queue, if it is due and has all slots. */
  const takeOne = ({ queue, line }: Waiting): boolean => {
    const card = cards.get(queue.card)
    if (!card || !slots.hasSlot(card, queue.owner) || !slots.ownerHasSlot(queue.owner)) return false
    const head = line.next()
    if (head && head.dueAt > wanted.now) nextDue = Math.min(nextDue, head.dueAt)
    const account = head && head.dueAt <= wanted.now && slots.accountOf(card, queue.owner, head.tried)
    if (!account) return false
    taken.push({ id: head.id, account: account.name, queue, scopes: slots.book(card, queue.owner, account) })
    return true
  }
  const seen: Queue[] = []
  let waiting: Waiting[] = []
  for (const queue of queues) {
    seen.push(queue)
    const place = { queue, line: openLine(queue, heads) }
    if (takeOne(place)) waiting.push(place)
    if (taken.length >= wanted.limit) break
  }
  while (waiting.length > 0 && taken.length < wanted.limit)
    waiting = waiting.filter((place) => taken.length >= wanted.limit || takeOne(place))
  // There may be more queues, and all of these have to wait: the next claim looks at others, and soon.
  const goesOn = seen.length >= mostQueues(wanted) && taken.length < wanted.limit
  if (goesOn) nextDue = Math.min(nextDue, wanted.now)
  return {
    taken,
    nextDue: Number.isFinite(nextDue) ? nextDue : null,
    served: taken.length > 0 ? taken.map(({ queue }) => queue) : goesOn ? seen.slice(-1) : [],
  }
}

interface Waiting {
  queue: Queue
  line: ReturnType<typeof openLine>
}

/**
 * Queued tasks in about the order in which they will be claimed: the first of each queue, then the second of each. `owners`
 * are in the order of their turns, and `read` returns the ids of their queues, up to `each` of every queue. `each` begins
 * with an even share, and grows only if short queues leave too few ids.
 */
export async function interleaveQueues(
  owners: readonly string[],
  limit: number,
  read: (each: number) => Promise<readonly (readonly string[])[]>,
): Promise<QueuePlace[]> {
  for (let each = Math.ceil(limit / Math.max(1, owners.length)); ; each *= 4) {
    const lines = await read(each)
    const found = lines.reduce((sum, line) => sum + line.length, 0)
    if (found < limit && lines.some(({ length }) => length === each)) continue
    const turns = Array.from({ length: Math.max(0, ...lines.map(({ length }) => length)) }, (_, turn) => turn)
    const places = turns.flatMap((turn) =>
      owners.flatMap((owner, at) => {
        const id = lines[at]?.[turn]
        return id === undefined ? [] : { id, owner }
      }),
    )
    return places.slice(0, limit)
  }
}

/** A queued task of a card, and whose it is. */
export interface QueuePlace {
  id: string
  owner: string
}

/**
 * The position that a new task of this owner gets among these: in the turn after the owner's last one. It is not behind all
 * others, whose number is theirs to know. An owner without tasks comes last in the first turn. Undefined if it is beyond
 * places that are only a part of the queue.
 */
export function newPosition(places: readonly QueuePlace[], owner: string, isPart: boolean): number | undefined {
  const own = places.filter((place) => place.owner === owner).length
  const turns = new Map<string, number>()
  const circle = new Map<string, number>()
  const isBehindOwner = (other: string) => own > 0 && Number(circle.get(other)) > Number(circle.get(owner))
  for (const [at, { owner: other }] of places.entries()) {
    const turn = turns.get(other) ?? 0
    turns.set(other, turn + 1)
    if (turn === 0) circle.set(other, circle.size)
    if (turn > own || (turn === own && isBehindOwner(other))) return at + 1
  }
  return isPart ? undefined : places.length + 1
}

/** Reads few tasks at first: in most claims a queue gets one turn, or none. */
function openLine(queue: Queue, heads: (queue: Queue, count: number) => readonly QueuedTask[]) {
  let count = 2
  let all: readonly QueuedTask[] | undefined
  let at = 0
  return {
    next(): QueuedTask | undefined {
      all ??= heads(queue, count)
      if (at === count) {
        count *= 8
        all = heads(queue, count)
      }
      return all[at++]
    },
  }
}

/** The cards for which a slot may be free. Tasks of the others would only be in the way of the round. */
export function withFreeSlots(cards: readonly QueueCard[], used: (scope: string) => number): QueueCard[] {
  return cards.filter(
    ({ card, cap, accounts }) =>
      (cap === null || used(cardScope(card)) < cap) &&
      accounts.some(({ name, cap, spare }) => used(accountScope(name)) < cap + spare),
  )
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

/** The cap of each scope that has one, for tasks of these queues, besides accounts: those have a cap in any case. */
export function cappedScopes({ cards, ownerCaps }: QueueLimits, queues: readonly Queue[]): Map<string, number> {
  const byCard = new Map(cards.map((card) => [card.card, card]))
  const caps = new Map<string, number>()
  for (const { card, owner } of queues) {
    const { cap = null, accounts = [] } = byCard.get(card) ?? {}
    if (cap !== null) caps.set(cardScope(card), cap)
    if (Object.hasOwn(ownerCaps, owner)) caps.set(ownerScope(owner), Number(ownerCaps[owner]))
    for (const { name, spare } of accounts) if (spare > 0) caps.set(holderScope(name, owner), 1)
  }
  return caps
}

/** The owners with a cap among the scopes of these tasks. */
export function ownerScopesOf(taken: Turns['taken']): string[] {
  return [...new Set(taken.flatMap(({ scopes }) => scopes.filter(isOwnerScope)))]
}

export const accountScope = (name: string) => `account:${name}`
export const cardScope = (card: string) => `card:${card}`
const ownerScope = (owner: string) => `owner:${owner}`
/** Its slots are booked by claims for any account. */
export const isOwnerScope = (scope: string) => scope.startsWith(ownerScope(''))
const holderScope = (account: string, owner: string) => `holder:${account}:${owner}`

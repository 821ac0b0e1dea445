import { type AccountView, acceptsTasks, type Healths, isLocalName } from '../core/account.ts'
import type { Catalog, ModelCard } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import { type Pace, pollAfter, queuedMs, remainingMs, type Slots } from '../core/estimate.ts'
import { isPaused } from '../core/health.ts'
import { type TaskView, wireStatus } from '../core/task.ts'
import { newPosition, type QueuePlace } from '../core/turns.ts'
import type { TaskStore } from '../stores/store.ts'

/** The estimate for an unfinished task; null if it is unknown. */
export interface Estimate {
  /** Whole seconds until it is expected to be finished. */
  eta: number | null
  /** 1 is next; null if it does not wait, or is too far back. */
  queuePosition: number | null
  /** False if it is queued, and no account accepts tasks of its model now. */
  isAvailable: boolean
  /** When to poll again. */
  pollAfterMs: number
}

export interface Estimates {
  /** A promise only if the queue must be read first. It never rejects. */
  of(task: TaskView): Estimate | Promise<Estimate>
  /** Without reading: the position is null if the queue was not read lately. */
  known(task: TaskView): Estimate
  /** Of a video that this owner submits now. It never rejects. */
  ofNew(card: ModelCard, owner: string): Promise<Pick<Estimate, 'eta' | 'queuePosition'>>
}

interface EstimateDependencies {
  store: TaskStore
  catalog: Catalog
  accounts: ReadonlyMap<string, AccountView>
  healths: Pick<Healths, 'refresh'>
  clock: Clock
}

/** Positions beyond this are not reported. */
const longestQueue = 1_000
/** A queue is read again after this time, */
const freshQueueMs = 1_000
/** and a position that is older is not reported. */
const staleQueueMs = 5_000
const freshPaceMs = 30_000

export function openEstimates(dependencies: EstimateDependencies): Estimates {
  const { catalog, clock } = dependencies
  const paces = openPaces(dependencies)
  const queues = openQueues(dependencies)
  const cardOf = (task: TaskView) => catalog.entries.get(task.model)?.card

  /** Null if it waits and its position is unknown. */
  const timeLeft = (task: TaskView, card: ModelCard | undefined, queued: QueuePosition | undefined): number | null => {
    const pace = paces.of(card)
    if (wireStatus(task) !== 'queued') return remainingMs(clock.now() - (task.startedAt ?? clock.now()), pace)
    // It is being sent.
    if (task.state === 'held') return remainingMs(0, pace)
    return queued ? queuedMs(queued.position, queued.slots, pace) : null
  }
  const known = (task: TaskView): Estimate => {
    const card = cardOf(task)
    const queued = card && task.state === 'queued' ? queues.position(card.id, task.id) : undefined
    const isAvailable = task.state !== 'queued' || (card !== undefined && acceptsNow(card, dependencies))
    // When a model is available again is unknown.
    const left = isAvailable ? timeLeft(task, card, queued) : null
    const eta = left === null ? null : Math.max(1, Math.ceil(left / 1_000))
    const pollAfterMs = Math.round(pollAfter(eta, card?.pollAfterMs ?? 5_000))
    return { eta, queuePosition: queued?.position ?? null, isAvailable, pollAfterMs }
  }
  return {
    known,
    async ofNew(card, owner) {
      await queues.refresh(card)
      const queued = queues.next(card.id, owner)
      const left = queued ? queuedMs(queued.position, queued.slots, paces.of(card)) : null
      const eta = left === null ? null : Math.max(1, Math.ceil(left / 1_000))
      return { eta, queuePosition: queued?.position ?? null }
    },
    of(task) {
      const card = task.state === 'queued' ? cardOf(task) : undefined
      const read = card && queues.refresh(card)
      return read ? read.then(() => known(task)) : known(task)
    },
  }
}

/** The position of a task when its queue was read, and the slots that serve the queue. */
interface QueuePosition {
  /** 1 is next. */
  position: number
  slots: Slots
}

/** How long each card's tasks take. Never waits for the store: the first caller gets no durations. */
function openPaces({ store, clock }: EstimateDependencies) {
  let durations: ReadonlyMap<string, readonly number[]> = new Map()
  let readAt = Number.NEGATIVE_INFINITY

  const refresh = async () => {
    readAt = clock.now()
    // If the store is unavailable, the next refresh tries again.
    const found = await store.durations().catch(() => undefined)
    if (found) durations = new Map([...found].map(([card, took]) => [card, took.toSorted((a, b) => a - b)]))
  }
  return {
    of(card: ModelCard | undefined): Pace {
      if (Math.abs(clock.now() - readAt) >= freshPaceMs) void refresh()
      return { durations: (card && durations.get(card.id)) ?? [], usuallyMs: card?.facts?.usuallyMs ?? null }
    },
  }
}

/** The queue of each card, read on demand. */
function openQueues(dependencies: EstimateDependencies) {
  const { store, clock, healths } = dependencies
  interface Queue {
    readAt: number
    /** Null if it could not be read. */
    found: { places: readonly QueuePlace[]; positions: ReadonlyMap<string, number>; slots: Slots } | null
    reading: Promise<void> | undefined
  }
  const queues = new Map<string, Queue>()
  let learnt = { at: Number.NEGATIVE_INFINITY, done: Promise.resolve() }

  /** A process without workers learns only here which accounts are paused: once for all queues. */
  const learnPauses = (): Promise<void> => {
    if (Math.abs(clock.now() - learnt.at) >= freshQueueMs)
      learnt = { at: clock.now(), done: healths.refresh().catch(() => {}) }
    return learnt.done
  }
  const read = async (card: ModelCard, queue: Queue) => {
    // If the store is unavailable, the next refresh tries again.
    const reads = [store.queueOf(card.id, longestQueue), slotsOf(card, dependencies), learnPauses()] as const
    const [places, slots] = await Promise.all(reads).catch(() => [])
    const positions = new Map(places?.map(({ id }, at) => [id, at + 1]))
    queue.found = places && slots ? { places, positions, slots } : null
    queue.readAt = clock.now()
    queue.reading = undefined
  }
  const isYounger = (queue: Queue, ms: number) => Math.abs(clock.now() - queue.readAt) < ms
  return {
    /** Undefined if the task came after the queue was read, is too far back, or is being claimed. */
    position(card: string, id: string): QueuePosition | undefined {
      const queue = queues.get(card)
      const found = queue && isYounger(queue, staleQueueMs) ? queue.found : null
      const position = found?.positions.get(id)
      return found && position !== undefined ? { position, slots: found.slots } : undefined
    },
    /** Of a new task. Undefined if it is too far back, or if the queue could not be read. */
    next(card: string, owner: string): QueuePosition | undefined {
      const found = queues.get(card)?.found
      const position = found ? newPosition(found.places, owner, found.places.length >= longestQueue) : undefined
      return found && position !== undefined ? { position, slots: found.slots } : undefined
    },
    /** Undefined if the last read is fresh. */
    refresh(card: ModelCard): Promise<void> | undefined {
      const queue = queues.get(card.id) ?? { readAt: Number.NEGATIVE_INFINITY, found: null, reading: undefined }
      queues.set(card.id, queue)
      if (isYounger(queue, freshQueueMs)) return undefined
      queue.reading ??= read(card, queue)
      return queue.reading
    },
  }
}

/**
 * How many of a card's tasks run at once. A process without workers does not know how many tasks the workers run: it
 * assumes one busy slot, so that the estimate is too long rather than too short.
 */
async function slotsOf(card: ModelCard, { store, accounts }: EstimateDependencies): Promise<Slots> {
  const known = card.routes.flatMap(({ account }) => accounts.get(account) ?? []).filter(acceptsTasks)
  const slots = known.reduce((sum, { concurrency }) => sum + concurrency, 0)
  if (slots === 0) return { atOnce: 1, free: 0 }
  const atOnce = Math.max(1, Math.min(slots, card.concurrency ?? slots))
  return { atOnce, free: Math.max(0, atOnce - (await store.usedSlots(known.map(({ name }) => name)))) }
}

/**
 * Whether an account accepts tasks of the card now. A process without workers does not know the renderers of the other
 * processes: it assumes that one runs.
 */
function acceptsNow({ routes }: ModelCard, { accounts, clock }: EstimateDependencies): boolean {
  return routes.some(({ account: name }) => {
    const account = accounts.get(name)
    return account ? acceptsTasks(account) && !isPaused(account.health, clock.now()) : isLocalName(name)
  })
}

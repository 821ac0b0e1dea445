import type { AccountView } from '../core/account.ts'
import type { Catalog, ModelCard } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import { type Pace, pollAfter, queuedMs, remainingMs, type Slots } from '../core/estimate.ts'
import { type TaskView, wireStatus } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'

/** What a client is told of a task that is not finished; null is not known. */
export interface Estimate {
  /** Whole seconds until it is expected to be done. */
  eta: number | null
  /** 1 is next; null where it does not wait in line, or far back. */
  queuePosition: number | null
  /** When to ask again. */
  pollAfterMs: number
}

export interface Estimates {
  /** Where the line of a queued task has to be read first, a promise, which never rejects. */
  of(task: TaskView): Estimate | Promise<Estimate>
  /** As far as it is known already: of a task in a line that nobody read lately that is nothing. */
  known(task: TaskView): Estimate
}

interface EstimateDependencies {
  store: TaskStore
  catalog: Catalog
  accounts: ReadonlyMap<string, AccountView>
  clock: Clock
}

/** How far back a place in the line is told. */
const longestLine = 1_000
/** How long what was read of a line, and of how long tasks took, is good for. */
const freshLineMs = 1_000
/** Who reads none himself is told no place older than this. */
const staleLineMs = 5_000
const freshPaceMs = 30_000

export function openEstimates(dependencies: EstimateDependencies): Estimates {
  const { catalog, clock } = dependencies
  const paces = openPaces(dependencies)
  const lines = openLines(dependencies)
  const cardOf = (task: TaskView) => catalog.entries.get(task.model)?.card

  /** Null where it waits, and nobody knows for how many. */
  const timeLeft = (task: TaskView, card: ModelCard | undefined, place: Place | undefined): number | null => {
    const pace = paces.of(card)
    if (wireStatus(task) !== 'queued') return remainingMs(clock.now() - (task.startedAt ?? clock.now()), pace)
    // It is being sent.
    if (task.state === 'held') return remainingMs(0, pace)
    return place ? queuedMs(place.position, place.slots, pace) : null
  }
  const known = (task: TaskView): Estimate => {
    const card = cardOf(task)
    const place = card && task.state === 'queued' ? lines.place(card.id, task.id) : undefined
    const left = timeLeft(task, card, place)
    const eta = left === null ? null : Math.max(1, Math.ceil(left / 1_000))
    const pollAfterMs = Math.round(pollAfter(eta, card?.pollAfterMs ?? 5_000))
    return { eta, queuePosition: place?.position ?? null, pollAfterMs }
  }
  return {
    known,
    of(task) {
      const card = task.state === 'queued' ? cardOf(task) : undefined
      const read = card && lines.refresh(card)
      return read ? read.then(() => known(task)) : known(task)
    },
  }
}

/** Where in a line a task was when that was read, and what served it. */
interface Place {
  /** 1 is next. */
  position: number
  slots: Slots
}

/** How long each card's tasks take. Nobody waits for it: who asks first gets what is known by then. */
function openPaces({ store, clock }: EstimateDependencies) {
  let durations: ReadonlyMap<string, readonly number[]> = new Map()
  let readAt = Number.NEGATIVE_INFINITY

  const refresh = async () => {
    readAt = clock.now()
    // A store that is away is asked again when it is time.
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

/** Who waits for each card, read when somebody asks. */
function openLines(dependencies: EstimateDependencies) {
  const { store, clock } = dependencies
  interface Line {
    readAt: number
    /** Null where it could not be read. */
    found: { places: ReadonlyMap<string, number>; slots: Slots } | null
    reading: Promise<void> | undefined
  }
  const lines = new Map<string, Line>()

  const read = async (card: ModelCard, line: Line) => {
    // A store that is away is asked again when it is time.
    const reads = [store.queueOf(card.id, longestLine), slotsOf(card, dependencies)] as const
    const [ids, slots] = await Promise.all(reads).catch(() => [])
    line.found = ids && slots ? { places: new Map(ids.map((id, at) => [id, at + 1])), slots } : null
    line.readAt = clock.now()
    line.reading = undefined
  }
  const isYounger = (line: Line, ms: number) => Math.abs(clock.now() - line.readAt) < ms
  return {
    /** Undefined of one that came after the line was read, is too far back, or is just being taken. */
    place(card: string, id: string): Place | undefined {
      const line = lines.get(card)
      const found = line && isYounger(line, staleLineMs) ? line.found : null
      const position = found?.places.get(id)
      return found && position !== undefined ? { position, slots: found.slots } : undefined
    },
    /** Undefined where what is known is fresh. */
    refresh(card: ModelCard): Promise<void> | undefined {
      const line = lines.get(card.id) ?? { readAt: Number.NEGATIVE_INFINITY, found: null, reading: undefined }
      lines.set(card.id, line)
      if (isYounger(line, freshLineMs)) return undefined
      line.reading ??= read(card, line)
      return line.reading
    },
  }
}

/**
 * How many of a card's tasks run at once. A process that only answers does not know how many its workers draw at once: it
 * reckons with one, which is busy, so that the wait is rather told too long.
 */
async function slotsOf(card: ModelCard, { store, accounts }: EstimateDependencies): Promise<Slots> {
  const known = card.routes.flatMap(({ account }) => accounts.get(account) ?? [])
  const slots = known.reduce((sum, { concurrency }) => sum + concurrency, 0)
  if (slots === 0) return { atOnce: 1, free: 0 }
  const atOnce = Math.max(1, Math.min(slots, card.concurrency ?? slots))
  return { atOnce, free: Math.max(0, atOnce - (await store.inWork(known.map(({ name }) => name)))) }
}

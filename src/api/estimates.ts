import type { AccountView } from '../core/account.ts'
import type { Catalog, ModelCard } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import { type Pace, pollAfter, queuedMs, remainingMs } from '../core/estimate.ts'
import { isFinished, type TaskView, wireStatus } from '../core/task.ts'
import type { Store } from '../stores/store.ts'

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
  /** As far as it is known already. */
  known(task: TaskView): Estimate
}

interface EstimateDependencies {
  store: Store
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
  const { catalog } = dependencies
  const paces = openPaces(dependencies)
  const lines = openLines(dependencies)

  const estimate = (task: TaskView, card: ModelCard | undefined, position: number | null): Estimate => {
    const pace = paces.of(card)
    const isQueued = wireStatus(task) === 'queued'
    const elapsed = task.startedAt === null ? 0 : dependencies.clock.now() - task.startedAt
    const left = isQueued ? queuedMs(position, atOnce(card, dependencies), pace) : remainingMs(elapsed, pace)
    // Whoever is too far back for a place is too far back for a guess.
    const eta =
      left === null || (card && isQueued && position === null && lines.isFull(card.id)) ? null : inSeconds(left)
    return { eta, queuePosition: position, pollAfterMs: Math.round(pollAfter(eta, card?.pollAfterMs ?? 5_000)) }
  }
  const known = (task: TaskView): Estimate => {
    const card = catalog.entries.get(task.model)?.card
    return estimate(task, card, card && task.state === 'queued' ? lines.place(card.id, task.id) : null)
  }
  return {
    known,
    of(task) {
      const card = task.state === 'queued' && catalog.entries.get(task.model)?.card
      const read = card && !isFinished(task) ? lines.refresh(card.id) : undefined
      return read ? read.then(() => known(task)) : known(task)
    },
  }
}

function inSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

/** How many of a card's tasks run at once, as far as this process knows the accounts. */
function atOnce(card: ModelCard | undefined, { accounts }: EstimateDependencies): number {
  const slots = card?.routes.reduce((sum, { account }) => sum + (accounts.get(account)?.concurrency ?? 0), 0) ?? 0
  return Math.max(1, Math.min(slots, card?.concurrency ?? slots))
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
function openLines({ store, clock }: EstimateDependencies) {
  interface Line {
    readAt: number
    places: ReadonlyMap<string, number>
    reading: Promise<void> | undefined
  }
  const lines = new Map<string, Line>()

  const read = async (card: string, line: Line) => {
    const ids = await store.queueOf(card, longestLine).catch(() => [])
    line.places = new Map(ids.map((id, at) => [id, at + 1]))
    line.readAt = clock.now()
    line.reading = undefined
  }
  const recent = (card: string): Line | undefined => {
    const line = lines.get(card)
    return line && Math.abs(clock.now() - line.readAt) < staleLineMs ? line : undefined
  }
  return {
    place: (card: string, id: string) => recent(card)?.places.get(id) ?? null,
    isFull: (card: string) => recent(card)?.places.size === longestLine,
    /** Undefined where what is known is fresh. */
    refresh(card: string): Promise<void> | undefined {
      const line = lines.get(card) ?? { readAt: Number.NEGATIVE_INFINITY, places: new Map(), reading: undefined }
      lines.set(card, line)
      if (Math.abs(clock.now() - line.readAt) < freshLineMs) return undefined
      line.reading ??= read(card, line)
      return line.reading
    },
  }
}

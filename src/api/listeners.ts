import type { FairTurns } from '../core/fair.ts'
import type { ConnectionLimit } from './crowding.ts'
import { type FeedDependencies, openFeed, type Told } from './feed.ts'
import { tellingCost, tellingPiece, tellPieces } from './pieces.ts'
import { openShare } from './share.ts'

/** A client that is told when something happens: one that waits for an answer, or a stream. */
export interface Listener {
  readonly owner: string
  /** Null is every task of the owner. */
  readonly task: string | null
  hear(told: Told): void
  /** The service is about to stop. */
  dismiss(): void
}

/** All of this process. */
export interface Listeners {
  /** Resolves once nothing can be missed that happens from now on. Throws where there are too many. */
  join(listener: Listener): Promise<void>
  /** Who has left, or never joined, may leave again. */
  leave(listener: Listener): void
  /** Up to here everything was told to all who listen. */
  safe(): number
  /** Whether something is still to be told to this owner's listeners: then what is safe is not yet told to them. */
  isBehind(owner: string): boolean
  /** Whoever comes now is not kept waiting. */
  isDraining(): boolean
}

interface ListenerDependencies extends FeedDependencies {
  turns: FairTurns
  draining?: AbortSignal
  connections?: Pick<ConnectionLimit, 'most'>
}

/** Each is a connection with its buffers. */
const mostListeners = 20_000
/** Of one token, for the same video or for all: what is told of it is copied to each. */
const mostOfSame = 64
/** A token's listeners that are so far behind, by what it costs to tell them, are let go. */
const mostBehind = 256 * 2 ** 20
/** Of the connections that the system allows: some stay for requests that end. */
const shareOfConnections = 0.75

export function openListeners({ draining, connections, turns, ...dependencies }: ListenerDependencies): Listeners {
  const all = new Map<Listener, Disposable>()
  const most = Math.min(mostListeners, Math.floor((connections?.most ?? Infinity) * shareOfConnections))
  // Half of them at most for one owner, so that no token can take them from all others.
  const limits = { most, mostOfOne: Math.ceil(most / 2), what: 'streams and waiting requests', instead: 'poll' }
  const share = openShare(limits)
  const same = openShare({
    ...{ most: Number.POSITIVE_INFINITY, mostOfOne: mostOfSame, instead: 'poll' },
    what: 'streams and waiting requests for the same video, or streams of all videos,',
  })
  const byTask = new Map<string, Set<Listener>>()
  const byOwner = new Map<string, Set<Listener>>()
  const feed = openFeed(dependencies, {
    wants: ({ owner, task }) => byOwner.has(owner) || byTask.has(task),
    hear(told) {
      const { owner, task } = told.notice
      const own = [...(byTask.get(task) ?? [])].filter((listener) => listener.owner === owner)
      telling.hear(told, [...own, ...(byOwner.get(owner) ?? [])])
    },
  })
  const telling = openTelling({ turns, letGo, tell: (listener, told) => all.has(listener) && tell(listener, told) })
  const placeOf = ({ owner, task }: Listener): [Map<string, Set<Listener>>, string] =>
    task === null ? [byOwner, owner] : [byTask, task]

  function leave(listener: Listener): void {
    const [places, key] = placeOf(listener)
    const place = places.get(key)
    place?.delete(listener)
    if (place?.size === 0) places.delete(key)
    const taken = all.get(listener)
    if (!taken) return
    all.delete(listener)
    taken[Symbol.dispose]()
    feed.leave()
  }

  /** One that can't be told is let go, so that it comes back: the others hear the rest. */
  function tell(listener: Listener, told: Told): void {
    try {
      listener.hear(told)
    } catch (error) {
      dependencies.log.error('a client that listens could not be told', { task: told.notice.task, cause: error })
      letGo(listener)
    }
  }

  function letGo(listener: Listener): void {
    leave(listener)
    listener.dismiss()
  }

  draining?.addEventListener('abort', () => {
    for (const listener of all.keys()) listener.dismiss()
  })
  return {
    async join(listener) {
      const [places, key] = placeOf(listener)
      using taken = new DisposableStack()
      taken.use(same.take(`${listener.owner} ${listener.task}`))
      taken.use(share.take(listener.owner))
      all.set(listener, taken.move())
      places.set(key, (places.get(key) ?? new Set()).add(listener))
      try {
        await feed.join()
      } catch (error) {
        leave(listener)
        throw error
      }
    },
    leave,
    safe: feed.safe,
    isBehind: telling.isBehind,
    isDraining: () => draining?.aborted ?? false,
  }
}

interface TellingDependencies {
  turns: FairTurns
  tell(listener: Listener, told: Told): void
  letGo(listener: Listener): void
}

/** Tells at once where that is little. The rest waits in a line of its owner, and is told in turns with other owners. */
function openTelling({ turns, tell, letGo }: TellingDependencies) {
  interface Line {
    waiting: Set<{ listener: Listener; told: Told }>
    cost: number
  }
  const lines = new Map<string, Line>()

  async function run(owner: string, line: Line): Promise<void> {
    // More may come between its end and this.
    while (line.waiting.size > 0)
      await tellPieces(line.waiting, {
        turn: () => turns.take(owner),
        costOf: ({ told }) => tellingCost(told.view),
        tell({ listener, told }) {
          line.cost -= tellingCost(told.view)
          tell(listener, told)
        },
      })
    lines.delete(owner)
  }

  /** What they have not heard is kept in the store, not here. */
  function abandon(line: Line, listeners: readonly Listener[]): void {
    for (const listener of new Set([...listeners, ...[...line.waiting].map((each) => each.listener)])) letGo(listener)
    line.waiting.clear()
    line.cost = 0
  }

  return {
    isBehind: (owner: string) => lines.has(owner),
    hear(told: Told, listeners: readonly Listener[]): void {
      const { owner } = told.notice
      const cost = listeners.length * tellingCost(told.view)
      const line = lines.get(owner) ?? { waiting: new Set(), cost: 0 }
      const isBehind = lines.has(owner)
      if (!isBehind && cost <= tellingPiece) for (const listener of listeners) tell(listener, told)
      else if (line.cost + cost > mostBehind) abandon(line, listeners)
      else {
        line.cost += cost
        for (const listener of listeners) line.waiting.add({ listener, told })
        lines.set(owner, line)
        if (!isBehind) void run(owner, line)
      }
    },
  }
}

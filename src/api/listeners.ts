import type { ConnectionLimit } from './crowding.ts'
import { type FeedDependencies, openFeed, type Told } from './feed.ts'
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
  /** Whoever comes now is not kept waiting. */
  isDraining(): boolean
}

export interface ListenerDependencies extends FeedDependencies {
  draining?: AbortSignal
  connections?: Pick<ConnectionLimit, 'most'>
}

/** Each is a connection with its buffers. */
const mostListeners = 20_000
/** Of the connections that the system allows: some stay for requests that end. */
const shareOfConnections = 0.75

export function openListeners({ draining, connections, ...dependencies }: ListenerDependencies): Listeners {
  const all = new Map<Listener, Disposable>()
  const most = Math.min(mostListeners, Math.floor((connections?.most ?? Infinity) * shareOfConnections))
  // Half of them at most for one owner, so that no token can take them from all others.
  const limits = { most, mostOfOne: Math.ceil(most / 2), what: 'streams and waiting requests', instead: 'poll' }
  const share = openShare(limits)
  const byTask = new Map<string, Set<Listener>>()
  const byOwner = new Map<string, Set<Listener>>()
  const feed = openFeed(dependencies, {
    wants: ({ owner, task }) => byOwner.has(owner) || byTask.has(task),
    hear(told) {
      const { owner, task } = told.notice
      for (const listener of byTask.get(task) ?? []) if (listener.owner === owner) tell(listener, told)
      for (const listener of byOwner.get(owner) ?? []) tell(listener, told)
    },
  })
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
      leave(listener)
      listener.dismiss()
    }
  }

  draining?.addEventListener('abort', () => {
    for (const listener of all.keys()) listener.dismiss()
  })
  return {
    async join(listener) {
      all.set(listener, share.take(listener.owner))
      const [places, key] = placeOf(listener)
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
    isDraining: () => draining?.aborted ?? false,
  }
}

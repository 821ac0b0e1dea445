import { Problem } from '../core/problem.ts'
import { type FeedDependencies, openFeed, type Told } from './feed.ts'

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
}

/** Each is a connection with its buffers, and a system has not many more files for a process. */
export const mostListeners = 20_000

export function openListeners({ draining, ...dependencies }: ListenerDependencies, most = mostListeners): Listeners {
  const all = new Set<Listener>()
  const byTask = new Map<string, Set<Listener>>()
  const byOwner = new Map<string, Set<Listener>>()
  const feed = openFeed(dependencies, {
    wants: ({ owner, task }) => byOwner.has(owner) || byTask.has(task),
    hear(told) {
      const { owner, task } = told.notice
      for (const listener of byTask.get(task) ?? []) if (listener.owner === owner) listener.hear(told)
      for (const listener of byOwner.get(owner) ?? []) listener.hear(told)
    },
  })
  const placeOf = ({ owner, task }: Listener): [Map<string, Set<Listener>>, string] =>
    task === null ? [byOwner, owner] : [byTask, task]

  function leave(listener: Listener): void {
    const [places, key] = placeOf(listener)
    const place = places.get(key)
    place?.delete(listener)
    if (place?.size === 0) places.delete(key)
    if (all.delete(listener)) feed.leave()
  }

  draining?.addEventListener('abort', () => {
    for (const listener of all) listener.dismiss()
  })
  return {
    async join(listener) {
      if (all.size >= most) {
        const message = `There are ${most} clients waiting here already. Try again shortly, or poll.`
        throw new Problem('overloaded', message, { retryable: true })
      }
      all.add(listener)
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

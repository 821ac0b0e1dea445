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
  const counts = openCounts(most)
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
    if (!all.delete(listener)) return
    counts.remove(listener.owner)
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
    for (const listener of all) listener.dismiss()
  })
  return {
    async join(listener) {
      counts.add(listener.owner)
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

/** Half of all places at most for one owner, so that nobody can take them from all others. */
function openCounts(most: number) {
  const mostOfOne = Math.ceil(most / 2)
  const byOwner = new Map<string, number>()
  let all = 0
  return {
    add(owner: string): void {
      const own = byOwner.get(owner) ?? 0
      if (all >= most) throw overloaded(`There are ${most} clients waiting here already. Try again shortly, or poll.`)
      if (own >= mostOfOne)
        throw overloaded(`This token has ${mostOfOne} clients waiting here already. End some of them, or poll.`)
      all += 1
      byOwner.set(owner, own + 1)
    },
    remove(owner: string): void {
      const left = (byOwner.get(owner) ?? 0) - 1
      all -= 1
      if (left > 0) byOwner.set(owner, left)
      else byOwner.delete(owner)
    },
  }
}

function overloaded(message: string): Problem {
  return new Problem('overloaded', message, { retryable: true })
}

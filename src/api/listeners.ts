import type { FairTurns } from '../core/fair.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ConnectionLimit } from './crowding.ts'
import { type FeedDependencies, type FeedItem, openFeed } from './feed.ts'
import { costPerTurn, sendCost, sendInPieces } from './pieces.ts'
import { openShare } from './share.ts'

/** A client that is notified of changes: a request that waits, or a stream. */
export interface Listener {
  readonly owner: string
  /** Null is every task of the owner. */
  readonly task: string | null
  receive(item: FeedItem): void
  /** Ends the wait or the stream, because the service stops or the listener is too far behind. */
  dismiss(): void
}

/** All listeners of this process. */
export interface Listeners {
  /** After it resolves, no later change is missed. Throws if there are too many listeners. */
  join(listener: Listener): Promise<void>
  /** May be called again, or without `join`. */
  leave(listener: Listener): void
  /** All notices up to this number were passed on to all listeners. */
  safe(): number
  /** Whether items still wait for this owner's listeners: then they have not yet received all that is safe. */
  isBehind(owner: string): boolean
  /** The service is stopping: no new request may wait. */
  isDraining(): boolean
}

interface ListenerDependencies extends FeedDependencies {
  turns: FairTurns
  draining?: AbortSignal
  connections?: Pick<ConnectionLimit, 'most'>
  metrics?: Pick<Metrics, 'followListeners'>
}

/** Each is a connection with its buffers. */
const mostListeners = 20_000
/** Of one token, for the same video or for all videos: each item is copied to each of them. */
const mostOfSame = 64
/** If more bytes than this wait for a token's listeners, they are disconnected. */
const mostBehind = 256 * 2 ** 20
/** The share of all connections: the others stay free for short requests. */
const shareOfConnections = 0.75

export function openListeners(listening: ListenerDependencies): Listeners {
  const { draining, connections, turns, metrics, ...dependencies } = listening
  const all = new Map<Listener, Disposable>()
  metrics?.followListeners(() => all.size)
  const most = Math.min(mostListeners, Math.floor((connections?.most ?? Infinity) * shareOfConnections))
  // At most half of them for one owner, so that one token can't block all others.
  const limits = { most, mostOfOne: Math.ceil(most / 2), items: 'streams and waiting requests', advice: 'Poll instead' }
  const share = openShare(limits)
  const same = openShare({
    most: Number.POSITIVE_INFINITY,
    mostOfOne: mostOfSame,
    items: 'streams and waiting requests for the same video, or streams of all videos',
    advice: 'Poll instead',
  })
  const byTask = new Map<string, Set<Listener>>()
  const byOwner = new Map<string, Set<Listener>>()
  const feed = openFeed(dependencies, {
    wants: ({ owner, task }) => byOwner.has(owner) || byTask.has(task),
    receive(item) {
      const { owner, task } = item.notice
      const own = [...(byTask.get(task) ?? [])].filter((listener) => listener.owner === owner)
      dispatch.add(item, [...own, ...(byOwner.get(owner) ?? [])])
    },
  })
  const dispatch = openDispatch({ turns, letGo, send: (listener, item) => all.has(listener) && send(listener, item) })
  const groupOf = ({ owner, task }: Listener): [Map<string, Set<Listener>>, string] =>
    task === null ? [byOwner, owner] : [byTask, task]

  function leave(listener: Listener): void {
    const [groups, key] = groupOf(listener)
    const group = groups.get(key)
    group?.delete(listener)
    if (group?.size === 0) groups.delete(key)
    const slots = all.get(listener)
    if (!slots) return
    all.delete(listener)
    slots[Symbol.dispose]()
    feed.leave()
  }

  /** A listener that throws is disconnected, so that it reconnects. The others receive the rest. */
  function send(listener: Listener, item: FeedItem): void {
    try {
      listener.receive(item)
    } catch (error) {
      dependencies.log.error('a listener could not be notified', { task: item.notice.task, cause: error })
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
      const [groups, key] = groupOf(listener)
      using slots = new DisposableStack()
      slots.use(same.take(`${listener.owner} ${listener.task}`))
      slots.use(share.take(listener.owner))
      all.set(listener, slots.move())
      groups.set(key, (groups.get(key) ?? new Set()).add(listener))
      try {
        await feed.join()
      } catch (error) {
        leave(listener)
        throw error
      }
    },
    leave,
    safe: feed.safe,
    isBehind: dispatch.isBehind,
    isDraining: () => draining?.aborted ?? false,
  }
}

interface DispatchDependencies {
  turns: FairTurns
  send(listener: Listener, item: FeedItem): void
  letGo(listener: Listener): void
}

/** Sends a small item at once. Others wait in a queue of their owner, and are sent in turns with other owners. */
function openDispatch({ turns, send, letGo }: DispatchDependencies) {
  interface Queue {
    waiting: Set<{ listener: Listener; item: FeedItem }>
    cost: number
  }
  const queues = new Map<string, Queue>()

  async function run(owner: string, queue: Queue): Promise<void> {
    // More may be added after `sendInPieces` has ended.
    while (queue.waiting.size > 0)
      await sendInPieces(queue.waiting, {
        turn: () => turns.take(owner),
        costOf: ({ item }) => sendCost(item.view),
        send({ listener, item }) {
          queue.cost -= sendCost(item.view)
          send(listener, item)
        },
      })
    queues.delete(owner)
  }

  /** The store keeps what they have not received. */
  function abandon(queue: Queue, listeners: readonly Listener[]): void {
    for (const listener of new Set([...listeners, ...[...queue.waiting].map((each) => each.listener)])) letGo(listener)
    queue.waiting.clear()
    queue.cost = 0
  }

  return {
    isBehind: (owner: string) => queues.has(owner),
    add(item: FeedItem, listeners: readonly Listener[]): void {
      const { owner } = item.notice
      const cost = listeners.length * sendCost(item.view)
      const queue = queues.get(owner) ?? { waiting: new Set(), cost: 0 }
      const isBehind = queues.has(owner)
      if (!isBehind && cost <= costPerTurn) for (const listener of listeners) send(listener, item)
      else if (queue.cost + cost > mostBehind) abandon(queue, listeners)
      else {
        queue.cost += cost
        for (const listener of listeners) queue.waiting.add({ listener, item })
        queues.set(owner, queue)
        if (!isBehind) void run(owner, queue)
      }
    },
  }
}

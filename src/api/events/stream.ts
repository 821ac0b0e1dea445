import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { FairTurns } from '../../core/fair.ts'
import type { NoticeStore, TaskStore } from '../../stores/store.ts'
import type { FeedItem } from '../feed.ts'
import type { Listener, Listeners } from '../listeners.ts'
import { openClient, type StreamClient } from './client.ts'
import type { Member, Pulse, Sent } from './pulse.ts'
import { type PendingItem, type Receiver, sendInTurns } from './replay.ts'
import { goodbye, interrupted, tokenEnded } from './texts.ts'
import type { Unread } from './unread.ts'
import type { TokenWatch } from './watch.ts'

interface StreamDependencies {
  store: NoticeStore & TaskStore
  clock: Clock
  listeners: Listeners
  pulse: Pulse
  unread: Unread
  turns: FairTurns
  watch: TokenWatch
}

/** The client's request, and the tasks that it follows. */
interface Subject {
  request: FastifyRequest
  reply: FastifyReply
  /** Null is every task of the owner. */
  task: string | null
  followed: Map<string, Sent>
  send(item: FeedItem): void
  onLeave?(): void
}

/** A client's stream. It listens before anything is read, and items that arrive meanwhile are sent after that. */
interface Stream {
  readonly client: StreamClient
  start(text: string): void
  /**
   * Listens, calls `begin`, sends all items that arrived meanwhile except the numbers that `begin` returns, and then
   * each item when it arrives. Throws only before the response has begun.
   */
  run(begin: () => Promise<ReadonlySet<number>>): Promise<void>
}

export function openStream(dependencies: StreamDependencies, subject: Subject): Stream {
  const { store, clock, listeners, pulse, unread, turns, watch } = dependencies
  const { request, reply, task, followed, send, onLeave } = subject
  const leave = () => {
    listeners.leave(listener)
    pulse.remove(member)
    watch.remove(refuse)
    onLeave?.()
  }
  const client = openClient({ request, reply, clock, unread, onGone: leave })
  const backlog = openBacklog({ store, client, send, turns })
  const dismiss = () => client.end(goodbye)
  const refuse = () => client.end(tokenEnded)
  const listener: Listener = { owner: client.owner, task, receive: backlog.receive, dismiss }
  // The client can continue from a number only if nothing waits for it, and never in the stream of one task.
  const isCurrent = () => backlog.isLive() && !listeners.isBehind(client.owner)
  const position = () => (task === null && isCurrent() ? listeners.safe() : null)
  const member: Member = { client, followed, position, check: () => watch.check(refuse) }
  return {
    client,
    start(text) {
      pulse.add(member)
      client.start(text)
      watch.add(request, refuse)
    },
    async run(begin) {
      try {
        await listeners.join(listener)
        await backlog.goLive(await begin())
        if (listeners.isDraining()) dismiss()
      } catch (error) {
        leave()
        if (!reply.sent) throw error
        // The response has begun, so it can't become an error.
        client.end(interrupted)
      }
    },
  }
}

/** Items that arrive while a client still receives older ones. */
interface Backlog {
  receive(item: FeedItem): void
  isLive(): boolean
  /** Sends all items so far, except these numbers. From then on each item is sent when it arrives. */
  goLive(except: ReadonlySet<number>): Promise<void>
}

/** A client that is further behind is disconnected. The store keeps what it has not received. */
const mostPending = 1_000

function openBacklog(receiver: Receiver): Backlog {
  const { client, send } = receiver
  let early: PendingItem[] | undefined = []
  return {
    receive(item) {
      if (!early) send(item)
      else if (early.length < mostPending) early.push({ notice: item.notice, id: item.id })
      else client.drop()
    },
    isLive: () => !early,
    async goLive(except) {
      while (early?.length && !client.isGone()) {
        const pending = early.splice(0).filter(({ notice }) => !except.has(notice.number))
        await sendInTurns(pending, receiver)
      }
      early = undefined
    },
  }
}

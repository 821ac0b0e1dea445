import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { FairTurns } from '../../core/fair.ts'
import type { NoticeStore, TaskStore } from '../../stores/store.ts'
import type { Told } from '../feed.ts'
import type { Listener, Listeners } from '../listeners.ts'
import { openBacklog } from './backlog.ts'
import { openClient, type StreamClient } from './client.ts'
import type { Member, Pulse } from './pulse.ts'
import { goodbye, interrupted } from './texts.ts'
import type { Unread } from './unread.ts'

interface StreamDependencies {
  store: NoticeStore & TaskStore
  clock: Clock
  listeners: Listeners
  pulse: Pulse
  unread: Unread
  turns: FairTurns
}

/** Who asks, and what it is about. */
interface Subject {
  request: FastifyRequest
  reply: FastifyReply
  /** Null is every task of the owner. */
  task: string | null
  running: Map<string, number>
  tell(told: Told): void
  onLeave?(): void
}

/** A client, and how it is told: it listens before anything is read, and what it hears meanwhile is told after that. */
interface Stream {
  readonly client: StreamClient
  start(text: string): void
  /**
   * Listens, does that, tells all that was heard meanwhile but for the numbers that it returns, and from then on each
   * thing when it is heard. Throws only where nothing was answered yet.
   */
  run(begin: () => Promise<ReadonlySet<number>>): Promise<void>
}

export function openStream(dependencies: StreamDependencies, subject: Subject): Stream {
  const { store, clock, listeners, pulse, unread, turns } = dependencies
  const { request, reply, task, running, tell, onLeave } = subject
  const leave = () => {
    listeners.leave(listener)
    pulse.remove(member)
    onLeave?.()
  }
  const client = openClient({ request, reply, clock, unread, onGone: leave })
  const backlog = openBacklog({ store, client, tell, turns })
  const dismiss = () => client.end(goodbye)
  const listener: Listener = { owner: client.owner, task, hear: backlog.hear, dismiss }
  // While something is still to be told there is no place to go on from, and of one task never.
  const isTold = () => backlog.isLive() && !listeners.isBehind(client.owner)
  const place = () => (task === null && isTold() ? listeners.safe() : null)
  const member: Member = { client, running, place }
  return {
    client,
    start(text) {
      pulse.add(member)
      client.start(text)
    },
    async run(begin) {
      try {
        await listeners.join(listener)
        await backlog.goLive(await begin())
        if (listeners.isDraining()) dismiss()
      } catch (error) {
        leave()
        if (!reply.sent) throw error
        // What has begun can't be answered otherwise any more.
        client.end(interrupted)
      }
    },
  }
}

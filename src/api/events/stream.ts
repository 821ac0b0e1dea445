import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Told } from '../feed.ts'
import type { Listener, Listeners } from '../listeners.ts'
import { openClient, type StreamClient } from './client.ts'
import type { Member, Pulse } from './pulse.ts'
import { goodbye } from './texts.ts'

/** What it is about. */
export interface Subject {
  /** Null is every task of the owner. */
  task: string | null
  running: Map<string, number>
  tell(told: Told): void
  onLeave?(): void
}

/** A client, and how it is told: it listens before anything is read, and what it hears meanwhile is told after that. */
export interface Stream {
  readonly client: StreamClient
  join(): Promise<void>
  start(text: string): void
  /** All that it heard so far, but for these numbers, and from now on each thing when it is heard. */
  live(but?: ReadonlySet<number>): void
  leave(): void
}

export function openStream(
  { listeners, pulse }: { listeners: Listeners; pulse: Pulse },
  request: FastifyRequest,
  reply: FastifyReply,
  { task, running, tell, onLeave }: Subject,
): Stream {
  let early: Told[] | undefined = []
  const listener: Listener = {
    owner: request.token.name,
    task,
    hear: (told) => void (early ? early.push(told) : tell(told)),
    dismiss: () => client.end(goodbye),
  }
  const leave = () => {
    listeners.leave(listener)
    pulse.remove(member)
    onLeave?.()
  }
  const client = openClient(request, reply, leave)
  // While something is still to be told there is no place to go on from, and of one task never.
  const place = () => (task === null && !early ? listeners.safe() : null)
  const member: Member = { client, running, place }
  return {
    client,
    join: () => listeners.join(listener),
    start(text) {
      pulse.add(member)
      client.start(text)
    },
    live(but) {
      for (const told of early ?? []) if (!but?.has(told.notice.number)) tell(told)
      early = undefined
      if (listeners.isDraining()) client.end(goodbye)
    },
    leave,
  }
}

import type { FastifyReply } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { isFinished, type TaskView, wireStatus } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'
import { RetrieveVideoQuery } from '../wire/videos.ts'
import type { FeedItem } from './feed.ts'
import type { Listener, Listeners } from './listeners.ts'
import type { QueryRequest } from './route.ts'

export interface WaitDependencies {
  store: TaskStore
  listeners: Listeners
  clock: Clock
}

/** Neither is checked yet. */
export type WaitQuery = { readonly wait?: unknown; readonly until?: unknown }

/** Shorter than the timeouts of proxies and clients for silent connections. */
const longestSeconds = RetrieveVideoQuery.properties.wait.maximum

/**
 * How long to wait: `?wait=30`, or a header `Prefer: wait=30` (RFC 7240). The header is only a preference: if it can't
 * be parsed it is ignored, and a longer time is reduced to the maximum.
 */
export function readWait(request: QueryRequest<WaitQuery>, reply: FastifyReply): number {
  const { wait } = request.query
  if (wait !== undefined) {
    if (typeof wait !== 'string' || !/^\d{1,2}$/.test(wait) || Number(wait) > longestSeconds) {
      const message = `Invalid 'wait': expected whole seconds from 0 to ${longestSeconds}.`
      throw new Problem('invalid_value', message, { param: 'wait' })
    }
    return Number(wait) * 1_000
  }
  const { prefer } = request.headers
  if (prefer === undefined) return 0
  const preferred = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(String(prefer))?.[1]
  if (preferred === undefined) return 0
  const seconds = Math.min(longestSeconds, Number(preferred))
  reply.header('preference-applied', `wait=${seconds}`)
  return seconds * 1_000
}

/** What to wait for: `?until=change` is the next status, `?until=done` is the end. */
type Until = 'change' | 'done'

export function readUntil({ query }: QueryRequest<WaitQuery>): Until {
  const { until = 'change' } = query
  if (until === 'change' || until === 'done') return until
  throw new Problem('invalid_value', "Invalid 'until': use change or done.", { param: 'until' })
}

interface Wait {
  owner: string
  id: string
  waitMs: number
  until: Until
  /** Emits `close` when the client disconnects. */
  closed: { once(event: 'close', listener: () => void): unknown; off(event: 'close', listener: () => void): unknown }
}

/**
 * The task at its next status, or at its end; or when the time is up, the client disconnects or the service stops.
 * Undefined if it was deleted. It listens before it reads, so no change is missed.
 */
export async function waitForChange(
  { store, listeners, clock }: WaitDependencies,
  { owner, id, waitMs, until, closed }: Wait,
): Promise<TaskView | undefined> {
  const over = new AbortController()
  const end = () => over.abort()
  let seen: TaskView | undefined
  let last: FeedItem | undefined
  const isAwaited = (before: TaskView, { view }: FeedItem) =>
    view === undefined || (until === 'done' ? isFinished(view) : wireStatus(view) !== wireStatus(before))
  const listener: Listener = {
    owner,
    task: id,
    receive(item) {
      last = item
      if (seen && isAwaited(seen, item)) end()
    },
    dismiss: end,
  }
  closed.once('close', end)
  try {
    await listeners.join(listener)
    seen = await store.read(owner, id)
    if (!seen || isFinished(seen)) return seen
    // Received while the task was being read.
    const isOver = over.signal.aborted || listeners.isDraining() || (last && isAwaited(seen, last))
    if (!isOver) await clock.sleep(waitMs, over.signal)
    return last && isAwaited(seen, last) ? last.view : await store.read(owner, id)
  } finally {
    closed.off('close', end)
    listeners.leave(listener)
  }
}

import type { FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Task } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'

/** A repeat is recognised for this long after the first request. */
const windowMs = 15 * 60_000

/**
 * OpenAI's SDKs repeat a submit whose response was lost, and mark it only with a retry count. Such a repeat gets the
 * task of the first request. Two equal requests are two tasks if neither is a repeat. If a repeat matches several
 * tasks, it gets the one that was given to the fewest repeats, then the newest.
 */
export function openRepeats(store: TaskStore, clock: Clock) {
  const underway = new Map<string, Promise<Task>[]>()
  const given = new Map<string, number>()

  const give = (task: Task): Task => {
    given.set(task.id, (given.get(task.id) ?? 0) + 1)
    // The oldest are dropped first, long after their repeats.
    if (given.size > 10_000) given.delete(given.keys().next().value ?? '')
    return task
  }

  async function find(owner: string, digest: number): Promise<Task | undefined> {
    for (const first of underway.get(`${digest} ${owner}`) ?? []) {
      const task = await first.catch(() => undefined)
      if (task && !given.has(task.id)) return give(task)
    }
    const ids = await store.repeats(owner, digest, clock.now() - windowMs)
    const [id] = ids.sort((one, other) => (given.get(one) ?? 0) - (given.get(other) ?? 0))
    const task = id === undefined ? undefined : await store.find(id)
    return task && give(task)
  }

  /** The task that `create` creates, or that of an earlier try of this request. */
  return async (request: FastifyRequest, digest: number, create: () => Promise<Task>): Promise<Task> => {
    const owner = request.token.name
    const earlier = isRepeat(request) ? await find(owner, digest) : undefined
    if (earlier) return earlier
    const key = `${digest} ${owner}`
    const creating = create()
    underway.set(key, [...(underway.get(key) ?? []), creating])
    try {
      return await creating
    } finally {
      const others = (underway.get(key) ?? []).filter((other) => other !== creating)
      if (others.length > 0) underway.set(key, others)
      else underway.delete(key)
    }
  }
}

/** Some proxies send the header twice: Node joins both with a comma. */
function isRepeat({ headers }: FastifyRequest): boolean {
  const counts = String(headers['x-stainless-retry-count'] ?? '').split(',')
  return counts.some((count) => Number(count) >= 1)
}

import type { FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Task } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'

/** How long after the first try a repeat of it is known. */
const windowMs = 15 * 60_000

/**
 * OpenAI's SDKs send a submit again if its answer got lost, with nothing to know it by but a count of their tries. Such
 * a repeat gets the task that the first try made. Two calls that ask for the same are two tasks, as long as neither is
 * a repeat; of several that a repeat may mean, it gets the one that fewest repeats were given, then the newest.
 */
export function openRepeats(store: TaskStore, clock: Clock) {
  const underway = new Map<string, Promise<Task>[]>()
  const given = new Map<string, number>()

  const give = (task: Task): Task => {
    given.set(task.id, (given.get(task.id) ?? 0) + 1)
    // The oldest go first, and are forgotten long after anybody asks for them.
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

  /** The task that `make` makes, or the one that an earlier try of this request made. */
  return async (request: FastifyRequest, digest: number, make: () => Promise<Task>): Promise<Task> => {
    const owner = request.token.name
    const earlier = isRepeat(request) ? await find(owner, digest) : undefined
    if (earlier) return earlier
    const key = `${digest} ${owner}`
    const made = make()
    underway.set(key, [...(underway.get(key) ?? []), made])
    try {
      return await made
    } finally {
      const others = (underway.get(key) ?? []).filter((other) => other !== made)
      if (others.length > 0) underway.set(key, others)
      else underway.delete(key)
    }
  }
}

/** A header that came twice, as some proxies make it, is one text with a comma. */
function isRepeat({ headers }: FastifyRequest): boolean {
  const counts = String(headers['x-stainless-retry-count'] ?? '').split(',')
  return counts.some((count) => Number(count) >= 1)
}

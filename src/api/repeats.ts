import type { FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import { ownerOf } from '../core/token.ts'
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
    const owner = ownerOf(request.token)
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

/**
 * `Idempotency-Key`: a client that does not know whether its request arrived repeats it with the same key, and gets the
 * task of the first request. A key belongs to its token and lives as long as the task. Of two requests at once only one
 * creates the task: within this process the other waits for it; across processes the store accepts only one.
 */
export function openKeys(store: TaskStore) {
  const underway = new Map<string, Promise<Task>>()

  async function find(owner: string, key: string, digest: number): Promise<Task | undefined> {
    const task = await store.findByKey(owner, key)
    if (task && task.digest !== digest) {
      const message = `This Idempotency-Key was used for another request, which created '${task.id}'. Use a new key for each video.`
      throw new Problem('idempotency_key_reused', message, { param: 'Idempotency-Key' })
    }
    return task
  }

  async function createOnce(owner: string, key: string, digest: number, create: () => Promise<Task>): Promise<Task> {
    try {
      return await create()
    } catch (error) {
      if (Problem.from(error).code !== 'idempotency_key_taken') throw error
      // If the row of the first request was removed just now, the key is free again.
      return (await find(owner, key, digest)) ?? (await create())
    }
  }

  /** The task of this key, or else the one that `create` creates. */
  return async (owner: string, key: string, digest: number, create: () => Promise<Task>): Promise<Task> => {
    const name = `${owner}\n${key}`
    // A failed request created nothing, so the next one tries.
    for (let first = underway.get(name); first; first = underway.get(name)) await first.catch(() => {})
    const creating = find(owner, key, digest).then((task) => task ?? createOnce(owner, key, digest, create))
    underway.set(name, creating)
    try {
      return await creating
    } finally {
      underway.delete(name)
    }
  }
}

/** The key of a request, or null. */
export function keyOf({ headers, raw }: FastifyRequest): string | null {
  const key = headers['idempotency-key']
  if (key === undefined) return null
  // Node joins several headers into one.
  const isOne = raw.headersDistinct['idempotency-key']?.length === 1
  if (isOne && typeof key === 'string' && /^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(key)) return key
  const message = 'Invalid Idempotency-Key. Send one header with 1 to 255 printable ASCII characters, such as a UUID.'
  throw new Problem('invalid_value', message, { param: 'Idempotency-Key' })
}

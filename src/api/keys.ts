import type { FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'

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

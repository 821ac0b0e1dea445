import type { FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'

/**
 * `Idempotency-Key`: a client that is not sure whether its request arrived sends it again with the same key, and gets
 * what the first one made. A key is its token's own and lives as long as the task. Of two that come at once one makes
 * the task: within this process the other waits for it, and among several the store takes only one.
 */
export function openKeys(store: TaskStore) {
  const underway = new Map<string, Promise<Task>>()

  async function find(owner: string, key: string, digest: number): Promise<Task | undefined> {
    const task = await store.findByKey(owner, key)
    if (task && task.digest !== digest) {
      const message = `This Idempotency-Key was used for another request, which made '${task.id}'. Use a new key for each video.`
      throw new Problem('idempotency_key_reused', message, { param: 'Idempotency-Key' })
    }
    return task
  }

  async function makeOnce(owner: string, key: string, digest: number, make: () => Promise<Task>): Promise<Task> {
    try {
      return await make()
    } catch (error) {
      if (Problem.from(error).code !== 'idempotency_key_taken') throw error
      // Where the first one's row went in this very moment, the key is free again.
      return (await find(owner, key, digest)) ?? (await make())
    }
  }

  /** The task that this key has, or else the one that `make` makes. */
  return async (owner: string, key: string, digest: number, make: () => Promise<Task>): Promise<Task> => {
    const name = `${owner}\n${key}`
    // One that failed has made nothing: the next in line tries for itself.
    for (let first = underway.get(name); first; first = underway.get(name)) await first.catch(() => {})
    const making = find(owner, key, digest).then((task) => task ?? makeOnce(owner, key, digest, make))
    underway.set(name, making)
    try {
      return await making
    } finally {
      underway.delete(name)
    }
  }
}

/** Null where the request has none. */
export function keyOf({ headers, raw }: FastifyRequest): string | null {
  const key = headers['idempotency-key']
  if (key === undefined) return null
  // Node makes one of several.
  const isOne = raw.headersDistinct['idempotency-key']?.length === 1
  if (isOne && typeof key === 'string' && /^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(key)) return key
  const message = 'Invalid Idempotency-Key: use 1 to 255 printable ASCII characters, such as a UUID, once.'
  throw new Problem('invalid_value', message, { param: 'Idempotency-Key' })
}

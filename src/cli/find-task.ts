import type { Client } from './client.ts'
import { Failure, ServerFailure } from './failure.ts'
import { isShortId } from './slug.ts'
import type { Task } from './task.ts'

const mostPages = 10

/** The id that is meant: a whole one, or the end of one as `filmgate list` and file names show it. */
export async function findId(client: Client, given: string, signal?: AbortSignal): Promise<string> {
  if (!isShortId(given)) return given
  const matches = new Set<string>()
  try {
    for await (const task of newestFirst(client, { signal })) if (task.id.endsWith(given)) matches.add(task.id)
  } catch (error) {
    // A server without a list may well have ids this short.
    if (error instanceof ServerFailure && (error.status === 404 || error.status === 405)) return given
    throw error
  }
  const [only, other] = matches
  if (other !== undefined) throw new Failure(`'${given}' is the end of several ids: ${[...matches].join(', ')}`)
  return only ?? given
}

/** The tasks that the server lists, up to ten pages. */
export async function* newestFirst(
  client: Client,
  { signal, pageSize = 100 }: { signal?: AbortSignal | undefined; pageSize?: number } = {},
): AsyncGenerator<Task> {
  let after: string | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const { tasks, hasMore } = await client.list({ limit: pageSize, ...(after ? { after } : {}) }, signal)
    yield* tasks
    after = tasks.at(-1)?.id
    if (!hasMore) return
  }
}

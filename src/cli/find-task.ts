import type { Client, ListFilter } from './client.ts'
import { Failure, ServerFailure, UsageFailure } from './failure.ts'
import { isShortId, leastOfId } from './slug.ts'
import type { Task } from './video.ts'

const mostPages = 10

/** The whole id of a whole id, or of the end of one as `filmgate list` and file names show it. */
export async function findId(client: Client, given: string, signal?: AbortSignal): Promise<string> {
  if (given.length < leastOfId) {
    const enough = `give ${leastOfId} or more characters of the end of an id`
    throw new UsageFailure(`'${given}' is too short: ${enough}`, 'The ids of your videos:\n  filmgate list')
  }
  if (!isShortId(given)) return given
  const ids = new Set<string>()
  try {
    for await (const { id } of newestFirst(client, { signal })) ids.add(id)
  } catch (error) {
    // A server without a list may have ids this short.
    if (error instanceof ServerFailure && (error.status === 404 || error.status === 405)) return given
    throw error
  }
  const matches = endingIn(given, [...ids])
  const [only, other] = matches
  if (other !== undefined) throw new Failure(`'${given}' is the end of several ids: ${matches.join(', ')}`)
  return only ?? given
}

/** Ids of Filmgate are hexadecimal, in small letters. Ids of other servers may be case-sensitive. */
export function endingIn(given: string, ids: readonly string[]): string[] {
  const exact = ids.filter((id) => id.endsWith(given))
  if (exact.length > 0 || !/^[\da-f]+$/i.test(given)) return exact
  return ids.filter((id) => id.endsWith(given.toLowerCase()))
}

/** The tasks that the server lists, up to ten pages. */
export async function* newestFirst(
  client: Client,
  {
    signal,
    pageSize = 100,
    only = {},
  }: { signal?: AbortSignal | undefined; pageSize?: number; only?: ListFilter } = {},
): AsyncGenerator<Task> {
  let after: string | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const { tasks, hasMore } = await client.list({ limit: pageSize, ...only, ...(after && { after }) }, signal)
    yield* tasks
    after = tasks.at(-1)?.id
    if (!hasMore) return
  }
}

import type { FastifyReply } from 'fastify'
import { isTaskId } from '../../core/task.ts'
import { idOf } from '../../core/token.ts'
import type { SearchFound, TaskSearch, TaskStore } from '../../stores/store.ts'
import { ListTasksQuery, OperatorTaskList, type OperatorTaskSummary } from '../../wire/operator.ts'
import { toTaskSummary } from '../operator.ts'
import { type PieceTurns, refuseDisconnected } from '../pieces.ts'
import { defineRoute, type QueryRequest, type Route } from '../route.ts'
import { readLimit, readTime, refuseForeignCursor, refuseNul } from '../validation.ts'

interface SearchDependencies {
  store: Pick<TaskStore, 'search'>
  turns: PieceTurns
}

/** How many steps of the store one request takes at most. The client goes on from there. */
const mostSteps = 100

export function searchRoute(dependencies: SearchDependencies): Route {
  return defineRoute({
    at: 'GET /operator/v1/tasks',
    id: 'listTasks',
    summary: 'Search all tasks',
    description:
      'Tasks of all owners, the newest first; those that meet all conditions. A search through very many tasks returns what it has found so far, perhaps nothing: as long as `has_more` is true, send `last_id` as `after`.',
    query: { schema: ListTasksQuery },
    responses: { 200: { description: 'One page.', schema: OperatorTaskList } },
    errors: ['invalid_value', 'unknown_parameter', 'storage_unavailable'],
    handler: search(dependencies),
  })
}

/** Each step begins in a turn, so that a long search does not delay clients. */
function search({ store, turns }: SearchDependencies) {
  return async (request: QueryRequest<ListTasksQuery>, reply: FastifyReply): Promise<OperatorTaskList> => {
    const wanted = readSearch(request)
    const limit = readLimit(request, ListTasksQuery)
    refuseForeignCursor(request.query.after, { isId: isTaskId, of: 'a task' })
    const data: OperatorTaskSummary[] = []
    let next = request.query.after ?? null
    for (let steps = 0; steps < mostSteps && data.length < limit; steps += 1) {
      const place = { ...(next !== null && { after: next }), limit: limit - data.length }
      // The console begins another search with each pause in typing.
      refuseDisconnected(reply)
      const found: SearchFound = await turns.read(idOf(request.token), () => store.search(wanted, place))
      data.push(...found.tasks.map(toTaskSummary))
      next = found.next
      if (next === null) break
      // Lets other work of this thread run first.
      await new Promise(setImmediate)
    }
    return { object: 'list', data, has_more: next !== null, last_id: next }
  }
}

function readSearch({ query }: QueryRequest<ListTasksQuery>): TaskSearch {
  const { status, state, model, account, owner, token, text, error_code: errorCode, deleted } = query
  refuseNul(query)
  const since = readTime('created_since', query.created_since)
  const before = readTime('created_before', query.created_before)
  return {
    ...(status && { status }),
    ...(state && { state }),
    ...(model !== undefined && { model }),
    ...(account !== undefined && { account }),
    ...(owner !== undefined && { owner }),
    ...(token !== undefined && { token }),
    ...(errorCode !== undefined && { errorCode }),
    ...(text !== undefined && { text }),
    ...(since !== undefined && { createdSince: since }),
    ...(before !== undefined && { createdBefore: before }),
    isDeleted: deleted === 'true',
  }
}

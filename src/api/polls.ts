import { isFinished, isTaskId, type TaskView } from '../core/task.ts'
import { ownerOf, type Token } from '../core/token.ts'
import type { TaskStore } from '../stores/store.ts'
import type { PollMeter } from '../telemetry/requests.ts'
import type { Estimates } from './estimates.ts'
import type { PlainAnswer } from './server.ts'
import { toWireVideo, wantsNulls } from './wire.ts'

interface PollDependencies {
  store: TaskStore
  estimates: Estimates
  /** The token of a request, if a route has accepted its header before. */
  known(request: Parameters<PlainAnswer>[0]): Token | undefined
  /** The names and values of the headers of its rate limit. */
  rateHeaders(token: Token): readonly string[]
  /** Counts polls, if there are metrics. */
  metrics?: { readonly polls: PollMeter }
}

const path = '/v1/videos/'
const json = 'application/json; charset=utf-8'

/**
 * Most requests are polls, and Fastify takes about a tenth of the CPU time of a poll. So a plain poll that succeeds is
 * answered before it. All others go to the route (`retrieve.ts`): those that wait, and those that end with an error.
 */
export function openPolls({ store, estimates, known, rateHeaders, metrics }: PollDependencies): PlainAnswer {
  let readsAtOnce = true

  /** Undefined if there is no such task, or if the store responds later. */
  function read(owner: string, id: string): TaskView | undefined {
    const task = store.read(owner, id)
    if (!(task instanceof Promise)) return task
    // The route reads it again, this one time.
    task.catch(() => {})
    readsAtOnce = false
    return undefined
  }

  /** Undefined if the poll is left to its route. */
  function responseTo(request: Parameters<PlainAnswer>[0]): { headers: string[]; body: string } | undefined {
    const { method, url = '', headers } = request
    if (!readsAtOnce || method !== 'GET' || !url.startsWith(path) || headers.prefer !== undefined) return undefined
    const token = known(request)
    const id = url.slice(path.length)
    const task = token && isTaskId(id) ? read(ownerOf(token), id) : undefined
    const estimate = task && !isFinished(task) ? estimates.of(task) : undefined
    if (!token || !task || estimate instanceof Promise) return undefined
    const nulls = wantsNulls(request)
    const body = JSON.stringify(toWireVideo(task, { nulls, ...(estimate && { estimate }) }))
    // Names and values in one list: Node writes it as it is.
    const list = [...rateHeaders(token), 'content-type', json, 'content-length', String(Buffer.byteLength(body))]
    if (estimate) list.push('openai-poll-after-ms', String(estimate.pollAfterMs))
    return { headers: list, body }
  }

  return (request, response, newRequestId) => {
    const begun = metrics?.polls.begin() ?? 0
    let found: ReturnType<typeof responseTo>
    try {
      found = responseTo(request)
    } catch {
      // It happens to the route, too, which reports it.
    }
    if (!found) return false
    response.writeHead(200, ['x-request-id', newRequestId(), ...found.headers])
    response.end(found.body)
    metrics?.polls.end(begun)
    return true
  }
}

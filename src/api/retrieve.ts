import type { FastifyReply } from 'fastify'
import { isFinished, isTaskId, type TaskView } from '../core/task.ts'
import { ownerOf } from '../core/token.ts'
import type { TaskStore } from '../stores/store.ts'
import { DeletedVideo, RetrieveVideoQuery, Video } from '../wire/videos.ts'
import { notFound } from './errors.ts'
import type { Estimate, Estimates } from './estimates.ts'
import type { Listeners } from './listeners.ts'
import { defineRoute, pathParam, type QueryRequest, type Route } from './route.ts'
import { sdkHeader, videoPath } from './videos.ts'
import { readUntil, readWait, type WaitDependencies, type WaitQuery, waitForChange } from './wait.ts'
import { toWireDeleted, toWireVideo, wantsNulls } from './wire.ts'

interface RetrieveDependencies extends WaitDependencies {
  store: TaskStore
  estimates: Estimates
  listeners: Listeners
}

/** The routes of one video. The first is also used at the paths of other services. */
export function videoRoutes(dependencies: RetrieveDependencies): [retrieve: Route, ...others: Route[]] {
  const { store, clock } = dependencies
  return [
    defineRoute({
      at: 'GET /v1/videos/:id',
      id: 'retrieveVideo',
      summary: 'Poll a video',
      description:
        'Poll until `status` is `completed` or `failed`; the header `openai-poll-after-ms` says when to poll again. With ' +
        '`wait`, the response is sent when the status changes (for example from `queued` to `in_progress`) or, with ' +
        '`until=done`, when the video is finished; at the latest after that many seconds.',
      path: videoPath,
      query: { schema: RetrieveVideoQuery, isReadByHand: true },
      headers: { Prefer: '`wait=30` has the same effect as `?wait=30`.', ...sdkHeader },
      responses: {
        200: {
          description: 'The video.',
          schema: Video,
          headers: {
            'openai-poll-after-ms': 'When to poll again, in milliseconds. Absent once the video is finished.',
          },
        },
      },
      errors: ['invalid_value', 'video_not_found', 'rate_limit_exceeded', 'overloaded', 'storage_unavailable'],
      handler: retrieve(dependencies),
    }),
    {
      at: 'DELETE /v1/videos/:id',
      id: 'deleteVideo',
      summary: 'Delete a video',
      description:
        'Deletes the video at once, in any state. A running job is stopped, and the stored bytes are removed.',
      path: videoPath,
      responses: { 200: { description: 'The video is deleted.', schema: DeletedVideo } },
      errors: ['video_not_found', 'storage_unavailable'],
      // A worker stops the job and removes the bytes.
      async handler(request): Promise<DeletedVideo> {
        const id = pathParam(request, 'id')
        if (!isTaskId(id) || !(await store.delete(ownerOf(request.token), id, clock.now()))) throw notFound(id)
        return toWireDeleted(id)
      },
    },
  ]
}

/**
 * Most requests are polls: if the store returns the task without a promise, the response is sent without one, too. A
 * request that waits gets its response when the status changes or, with `until=done`, when the video is finished.
 */
function retrieve(dependencies: RetrieveDependencies) {
  const { store, estimates } = dependencies
  return (request: QueryRequest<WaitQuery>, reply: FastifyReply): void => {
    const id = pathParam(request, 'id')
    const send = (task: TaskView, estimate?: Estimate) => {
      if (estimate) reply.header('openai-poll-after-ms', String(estimate.pollAfterMs))
      reply.send(toWireVideo(task, { nulls: wantsNulls(request), ...(estimate && { estimate }) }))
    }
    const respond = (task: TaskView | undefined) => {
      if (!task) throw notFound(id)
      if (isFinished(task)) return send(task)
      const estimate = estimates.of(task)
      if (!(estimate instanceof Promise)) return send(task, estimate)
      return estimate.then((read) => send(task, read))
    }
    const waitMs = readWait(request, reply)
    const until = readUntil(request)
    const task = !isTaskId(id)
      ? undefined
      : waitMs > 0
        ? waitForChange(dependencies, {
            owner: ownerOf(request.token),
            id,
            waitMs,
            until,
            closed: reply.raw,
          })
        : store.read(ownerOf(request.token), id)
    const responded = task instanceof Promise ? task.then(respond) : respond(task)
    responded?.catch((error) => reply.send(error))
  }
}

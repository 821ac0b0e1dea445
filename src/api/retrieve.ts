import type { FastifyReply, FastifyRequest } from 'fastify'
import { isFinished, isTaskId, type TaskView } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'
import { DeletedVideo, RetrieveVideoQuery, Video } from '../wire/videos.ts'
import { notFound } from './errors.ts'
import type { Estimate, Estimates } from './estimates.ts'
import type { Listeners } from './listeners.ts'
import type { Route } from './route.ts'
import { sdkHeader, videoPath } from './videos.ts'
import { readUntil, readWait, type WaitDependencies, waitForChange } from './wait.ts'
import { toWireDeleted, toWireVideo, wantsNulls } from './wire.ts'

interface RetrieveDependencies extends WaitDependencies {
  store: TaskStore
  estimates: Estimates
  listeners: Listeners
}

/** One video; the routes of other services poll by the first of these. */
export function videoRoutes(dependencies: RetrieveDependencies): [retrieve: Route, ...others: Route[]] {
  const { store, clock } = dependencies
  return [
    {
      at: 'GET /v1/videos/:id',
      id: 'retrieveVideo',
      summary: 'Poll a video',
      description:
        'Poll until `status` is `completed` or `failed`, every 5 to 10 seconds. With `wait` the response is sent when ' +
        'the status changes (from `queued` to `in_progress`, for example) or, with `until=done`, when the video is ' +
        'finished; or when the time is up.',
      path: videoPath,
      query: { schema: RetrieveVideoQuery, isReadByHand: true },
      headers: { Prefer: '`wait=30` does the same as the query.', ...sdkHeader },
      answers: {
        200: {
          description: 'The video.',
          schema: Video,
          headers: { 'openai-poll-after-ms': 'Until the video is finished: when to poll again, in milliseconds.' },
        },
      },
      errors: ['invalid_value', 'video_not_found', 'overloaded', 'storage_unavailable'],
      handler: retrieve(dependencies),
    },
    {
      at: 'DELETE /v1/videos/:id',
      id: 'deleteVideo',
      summary: 'Delete a video',
      description: 'The video is gone at once, in any state. Running work is stopped, and the bytes are removed.',
      path: videoPath,
      answers: { 200: { description: 'The video is deleted.', schema: DeletedVideo } },
      errors: ['video_not_found', 'storage_unavailable'],
      // A worker lets go of the work and the bytes.
      async handler(request): Promise<DeletedVideo> {
        const { id } = request.params as { id: string }
        if (!isTaskId(id) || !(await store.delete(request.token.name, id, clock.now()))) throw notFound(id)
        return toWireDeleted(id)
      },
    },
  ]
}

/**
 * Most of all requests are polls: where the store answers at once, so does this, without a promise on the way. Who asks
 * to wait is answered when the video has another status or, with `until=done`, is finished; or when the time is up.
 */
function retrieve(dependencies: RetrieveDependencies) {
  const { store, estimates } = dependencies
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { id } = request.params as { id: string }
    const send = (task: TaskView, estimate?: Estimate) => {
      if (estimate) reply.header('openai-poll-after-ms', String(estimate.pollAfterMs))
      reply.send(toWireVideo(task, { nulls: wantsNulls(request), ...(estimate && { estimate }) }))
    }
    const answer = (task: TaskView | undefined) => {
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
            owner: request.token.name,
            id,
            waitMs,
            until,
            closed: reply.raw,
          })
        : store.read(request.token.name, id)
    const answered = task instanceof Promise ? task.then(answer) : answer(task)
    answered?.catch((error) => reply.send(error))
  }
}

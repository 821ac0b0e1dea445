import type { FastifyReply, FastifyRequest } from 'fastify'
import { isFinished, isTaskId, type TaskView } from '../core/task.ts'
import type { TaskStore } from '../stores/store.ts'
import { notFound } from './errors.ts'
import type { Estimate, Estimates } from './estimates.ts'
import type { Listeners } from './listeners.ts'
import { readUntil, readWait, type WaitDependencies, waitForChange } from './wait.ts'
import { toWireVideo, wantsNulls } from './wire.ts'

export interface RetrieveDependencies extends WaitDependencies {
  store: TaskStore
  estimates: Estimates
  listeners: Listeners
}

/**
 * Most of all requests are polls: where the store answers at once, so does this, without a promise on the way. Who asks
 * to wait is answered when the video has another status or, with `until=done`, is finished; or when the time is up.
 */
export function retrieveVideo(dependencies: RetrieveDependencies) {
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

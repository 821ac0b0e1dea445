import type { FastifyReply, FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import type { Clock } from '../core/clock.ts'
import { type FairTurns, openFairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { isTaskId } from '../core/task.ts'
import type { Page, Store } from '../stores/store.ts'
import { notFound } from './errors.ts'
import type { Estimates } from './estimates.ts'
import { openShare } from './share.ts'
import { readLimit } from './validation.ts'
import { toWireDeleted, toWirePage, toWireVideo, wantsNulls } from './wire.ts'

export const listQuery = {
  type: 'object',
  properties: {
    after: { type: 'string', maxLength: 200 },
    limit: { type: 'string' },
    order: { enum: ['asc', 'desc'] },
    status: { enum: ['queued', 'in_progress', 'completed', 'failed'] },
    model: { type: 'string', maxLength: 200 },
  },
} as const

/** The token's own videos, newest first; pages follow the id, so a video that is made meanwhile shifts nothing. */
export function listVideos({ store, estimates }: { store: Store; estimates: Estimates }) {
  // One step of a filtered list at a time, in turns by token: a token with very many videos delays no other.
  const turns = openFairTurns({ slots: 1 })
  const share = openShare({ most: 512, mostOfOne: 32, what: 'filtered lists' })
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { after = '', limit: text, order = 'desc', status, model } = request.query as XStatic<typeof listQuery>
    // Any text is a place in the order but for this, which no database takes.
    if (after.includes('\0'))
      throw new Problem('invalid_value', 'Invalid value. Use the id of a video.', { param: 'after' })
    if (model?.includes('\0'))
      throw new Problem('invalid_value', 'Invalid value. Use the name of a model.', { param: 'model' })
    const limit = readLimit(text, { least: 0, most: 100, usual: 20 })
    const isFiltered = status !== undefined || model !== undefined
    using _one = isFiltered ? share.take(request.token.name) : null
    // One more than asked for tells whether there is a next page.
    const tasks = await store.list(request.token.name, {
      ...(after === '' ? {} : { after }),
      ...(status && { status }),
      ...(model !== undefined && { model }),
      ...(isFiltered && pace(turns, request, reply)),
      limit: limit + 1,
      order,
    })
    const nulls = wantsNulls(request)
    const videos = tasks
      .slice(0, limit)
      .map(async (task) => toWireVideo(task, { nulls, estimate: await estimates.of(task) }))
    return toWirePage(await Promise.all(videos), { hasMore: tasks.length > limit })
  }
}

function pace(turns: FairTurns, { token }: FastifyRequest, { raw }: FastifyReply): Pick<Page, 'signal' | 'turn'> {
  const gone = new AbortController()
  raw.once('close', () => gone.abort(new Problem('overloaded', 'The client has gone.')))
  return { signal: gone.signal, turn: () => turns.take(token.name, gone.signal) }
}

/** Gone for the client at once, in whatever state it is; a worker lets go of the work and the bytes. */
export function deleteVideo({ store, clock }: { store: Store; clock: Clock }) {
  return async (request: FastifyRequest) => {
    const { id } = request.params as { id: string }
    if (!isTaskId(id) || !(await store.delete(request.token.name, id, clock.now()))) throw notFound(id)
    return toWireDeleted(id)
  }
}

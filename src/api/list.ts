import type { FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { Store } from '../stores/store.ts'
import { notFound, wantsNulls } from './videos.ts'
import { toWireDeleted, toWirePage, toWireVideo } from './wire.ts'

export const listQuery = {
  type: 'object',
  properties: {
    after: { type: 'string', maxLength: 200 },
    limit: { type: 'string', pattern: '^[0-9]{1,3}$' },
    order: { enum: ['asc', 'desc'] },
  },
} as const

/** The token's own videos, newest first; pages follow the id, so a video that is made meanwhile shifts nothing. */
export function listVideos({ store }: { store: Store }) {
  return async (request: FastifyRequest) => {
    const { after, limit: text = '20', order = 'desc' } = request.query as XStatic<typeof listQuery>
    const limit = Number(text)
    if (limit > 100)
      throw new Problem('invalid_value', "Invalid 'limit': expected a whole number from 0 to 100.", { param: 'limit' })
    // One more than asked for tells whether there is a next page.
    const tasks = await store.list(request.token.name, {
      ...(after === undefined ? {} : { after }),
      limit: limit + 1,
      order,
    })
    const nulls = wantsNulls(request)
    return toWirePage(
      tasks.slice(0, limit).map((task) => toWireVideo(task, { nulls })),
      { hasMore: tasks.length > limit },
    )
  }
}

/** Gone for the client at once, in whatever state it is; a worker lets go of the work and the bytes. */
export function deleteVideo({ store, clock }: { store: Store; clock: Clock }) {
  return async (request: FastifyRequest) => {
    const { id } = request.params as { id: string }
    if (!(await store.delete(request.token.name, id, clock.now()))) throw notFound(id)
    return toWireDeleted(id)
  }
}

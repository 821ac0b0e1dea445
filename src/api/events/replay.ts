import type { FastifyRequest } from 'fastify'
import type { Store } from '../../stores/store.ts'
import type { Told } from '../feed.ts'
import type { StreamClient } from './client.ts'

const pageSize = 200

/**
 * Where a client wants to go on: after that number, from now on, or from a place that is not known here any more. The
 * header is what an EventSource sends by itself, the query is for those that can't.
 */
export async function readPlace(request: FastifyRequest, store: Store): Promise<number | 'now' | 'lost'> {
  const { last_event_id: asked } = request.query as { last_event_id?: unknown }
  const place = request.headers['last-event-id'] ?? asked
  if (place === undefined || place === '') return 'now'
  if (typeof place !== 'string' || !/^\d{1,15}$/.test(place)) return 'lost'
  const { first, last } = await store.noticeRange()
  const after = Number(place)
  return after < first - 1 || after > last ? 'lost' : after
}

interface Replay {
  store: Store
  client: StreamClient
  after: number
  safe: number
  tell(told: Told): void
}

/** As fast as the client takes it: what happened in a day may be much. Returns what was told. */
export async function replay({ store, client, after, safe, tell }: Replay): Promise<Set<number>> {
  const numbers = new Set<number>()
  for (let place = after; !client.isGone(); ) {
    const notices = await store.noticesOf(client.owner, place, pageSize)
    const views = await Promise.all(notices.map(({ task }) => store.read(client.owner, task)))
    for (const [at, notice] of notices.entries()) {
      tell({ notice, view: views[at], id: Math.min(notice.number, safe) })
      numbers.add(notice.number)
      await client.flushed()
    }
    place = notices.at(-1)?.number ?? place
    if (notices.length < pageSize) break
  }
  return numbers
}

import type { FastifyRequest } from 'fastify'
import type { FairTurns } from '../../core/fair.ts'
import type { NoticeStore, TaskStore } from '../../stores/store.ts'
import type { Told } from '../feed.ts'
import { openStep, tellingCost, tellPieces } from '../pieces.ts'
import type { StreamClient } from './client.ts'

const pageSize = 200

/**
 * Where a client wants to go on: after that number, from now on, or from a place that is not known here any more. The
 * header is what an EventSource sends by itself, the query is for those that can't.
 */
export async function readPlace(request: FastifyRequest, store: NoticeStore): Promise<number | 'now' | 'lost'> {
  const { last_event_id: asked } = request.query as { last_event_id?: unknown }
  const place = request.headers['last-event-id'] ?? asked
  if (place === undefined || place === '') return 'now'
  if (typeof place !== 'string' || !/^\d{1,15}$/.test(place)) return 'lost'
  const { first, last } = await store.noticeRange()
  const after = Number(place)
  return after < first - 1 || after > last ? 'lost' : after
}

/** What was heard of: the task itself is read when it is told. */
export type Heard = Omit<Told, 'view'>

export interface Telling {
  store: NoticeStore & TaskStore
  client: StreamClient
  turns: FairTurns
  tell(told: Told): void
}

/** As fast as the client takes it, and a piece in each turn of its owner. */
export async function tellInTurn(heard: readonly Heard[], telling: Telling): Promise<void> {
  const { client, turns, tell } = telling
  const step = openStep()
  const turn = async () => {
    await client.flushed()
    return await turns.take(client.owner)
  }
  for (let at = 0; at < heard.length && !client.isGone(); ) {
    const piece = heard.slice(at, at + step.size())
    at += piece.length
    const told = await readPiece(piece, telling, turn)
    step.learn(told.map(({ view }) => view))
    await tellPieces(new Set(told), { turn, costOf: ({ view }) => tellingCost(view), tell })
  }
  await client.flushed()
}

async function readPiece(
  piece: readonly Heard[],
  { store, client }: Telling,
  turn: () => Promise<Disposable>,
): Promise<Told[]> {
  using _turn = await turn()
  return await Promise.all(
    piece.map(async (one) => ({ ...one, view: await store.read(client.owner, one.notice.task) })),
  )
}

/**
 * Everything of the client's since then: what happened in a day may be much. Returns the numbers that it was told and may
 * hear again, which are those beyond `safe`.
 */
export async function replay(telling: Telling, after: number, safe: number): Promise<Set<number>> {
  const { store, client } = telling
  const numbers = new Set<number>()
  for (let place = after; !client.isGone(); ) {
    const notices = await store.noticesOf(client.owner, place, pageSize)
    const heard = notices.map((notice) => ({ notice, id: Math.min(notice.number, safe) }))
    await tellInTurn(heard, telling)
    for (const { number } of notices) if (number > safe) numbers.add(number)
    place = notices.at(-1)?.number ?? place
    if (notices.length < pageSize) break
  }
  return numbers
}

import type { FairTurns } from '../../core/fair.ts'
import type { NoticeStore, TaskStore } from '../../stores/store.ts'
import type { FeedItem } from '../feed.ts'
import { openStep, sendCost, sendInPieces } from '../pieces.ts'
import type { QueryRequest } from '../route.ts'
import type { StreamClient } from './client.ts'

const pageSize = 200

export type StartRequest = QueryRequest<{ readonly last_event_id?: unknown }>

/**
 * Where a client wants to continue: after a number, from now on, or after an event that is no longer stored. An
 * EventSource sends the header by itself; the query is for clients that can't send headers.
 */
export async function readStart(
  { headers, query }: StartRequest,
  store: NoticeStore,
): Promise<number | 'now' | 'lost'> {
  const lastId = headers['last-event-id'] ?? query.last_event_id
  if (lastId === undefined || lastId === '') return 'now'
  if (typeof lastId !== 'string' || !/^\d{1,15}$/.test(lastId)) return 'lost'
  const { first, last } = await store.noticeRange()
  const after = Number(lastId)
  return after < first - 1 || after > last ? 'lost' : after
}

/** An item whose task is read when it is sent. */
export type PendingItem = Omit<FeedItem, 'view'>

export interface Receiver {
  store: NoticeStore & TaskStore
  client: StreamClient
  turns: FairTurns
  send(item: FeedItem): void
}

/** As fast as the client reads, one piece in each turn of its owner. */
export async function sendInTurns(pending: readonly PendingItem[], receiver: Receiver): Promise<void> {
  const { client, turns, send } = receiver
  const step = openStep()
  const turn = async () => {
    await client.flushed()
    return await turns.take(client.owner)
  }
  for (let at = 0; at < pending.length && !client.isGone(); ) {
    const piece = pending.slice(at, at + step.size())
    at += piece.length
    const items = await readPiece(piece, receiver, turn)
    step.learn(items.map(({ view }) => view))
    await sendInPieces(new Set(items), { turn, costOf: ({ view }) => sendCost(view), send })
  }
  await client.flushed()
}

async function readPiece(
  piece: readonly PendingItem[],
  { store, client }: Receiver,
  turn: () => Promise<Disposable>,
): Promise<FeedItem[]> {
  using _turn = await turn()
  return await Promise.all(
    piece.map(async (one) => ({ ...one, view: await store.read(client.owner, one.notice.task) })),
  )
}

/**
 * Sends all events of the owner since a number. Returns the numbers beyond `safe` that were sent: the client may
 * receive them again from the feed.
 */
export async function replay(receiver: Receiver, after: number, safe: number): Promise<Set<number>> {
  const { store, client } = receiver
  const numbers = new Set<number>()
  for (let last = after; !client.isGone(); ) {
    const notices = await store.noticesOf(client.owner, last, pageSize)
    const pending = notices.map((notice) => ({ notice, id: Math.min(notice.number, safe) }))
    await sendInTurns(pending, receiver)
    for (const { number } of notices) if (number > safe) numbers.add(number)
    last = notices.at(-1)?.number ?? last
    if (notices.length < pageSize) break
  }
  return numbers
}

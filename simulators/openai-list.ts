import { type Answer, json } from './upstream/answer.ts'
import type { Head } from './upstream/wire.ts'

/** How servers of OpenAI's Videos API list: they differ in how much they tell of a page, and how long one is. */
export interface Listing {
  /** Videos of a page if the question names no limit. */
  usual: number
  limits: readonly [least: number, most: number]
  /** Whether a page says where it begins and ends, and if there are more. */
  tellsMore: boolean
}

/** What is wrong with a question for videos. */
export function mistakeInQuery({ query }: Pick<Head, 'query'>, { limits: [least, most] }: Listing): string | undefined {
  const limit = query.get('limit')
  const isFine = limit === null || (/^\d+$/.test(limit) && Number(limit) >= least && Number(limit) <= most)
  return isFine ? undefined : `Invalid value for 'limit': it must be from ${least} to ${most}.`
}

interface Listed {
  id: string
  created_at: number
}

/** One page of videos that are given in the order of their creation. After an id that is not there, nothing comes. */
export function listPage(videos: readonly Listed[], { query }: Pick<Head, 'query'>, listing: Listing): Answer {
  const turn = query.get('order') === 'asc' ? 1 : -1
  // By whole seconds, and within a second as they came, whichever way the list goes.
  const sorted = videos.toSorted((one, other) => turn * (one.created_at - other.created_at))
  const after = query.get('after')
  const last = after === null ? -1 : sorted.findIndex(({ id }) => id === after)
  const rest = after !== null && last < 0 ? [] : sorted.slice(last + 1)
  const data = rest.slice(0, Number(query.get('limit') ?? listing.usual))
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: rest.length > data.length }
  return json(200, { object: 'list', data, ...(listing.tellsMore && ends) })
}

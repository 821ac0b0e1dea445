import { queryOptions, useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import type { Model } from '../../src/wire/models.ts'
import type { Video, VideoQuote } from '../../src/wire/videos.ts'
import { afterFailure, call, isNotFound, overtake, withQuery } from './api.ts'
import { creationOptions } from './creating.ts'
import { type LiveEvent, useLive, withoutEventsMs } from './live.ts'
import { type Draft, obstacleOf, quotedOf } from './playground.ts'
import { useSettled } from './settled.ts'
import { isUnfinished } from './videos.ts'

/* What the playground reads and sends: quotes, new videos, the videos that it shows, and the gallery. */

const quotePath = '/v1/videos/quote'
const quoteAgainMs = 15_000
/** Quotes have a rate. */
const typingMs = 400

export interface Quoted {
  model: string
  /** What was quoted. */
  body: object
  quote: VideoQuote | undefined
  error: Error | null
}

/** The quote of each model; empty if the draft can't be quoted. The queue moves, so it is quoted again. */
export function useQuotes(draft: Draft, models: readonly Model[]): Quoted[] {
  const isPossible = !draft.original && obstacleOf({ ...draft, prompt: 'quote' }, models) === null
  const bodies = isPossible ? models.map((model) => quotedOf(model, draft)) : []
  const wanted = JSON.parse(useSettled(JSON.stringify(bodies), typingMs)) as { model: string }[]
  const results = useQueries({
    queries: wanted.map((body) =>
      queryOptions<VideoQuote>({
        queryKey: [quotePath, JSON.stringify(body)],
        refetchInterval: quoteAgainMs,
        queryFn: ({ signal }) => call<VideoQuote>(quotePath, { method: 'POST', body, signal }),
      }),
    ),
  })
  return wanted.map((body, at) => ({
    ...{ model: body.model, body },
    quote: results[at]?.data,
    error: results[at]?.error ?? null,
  }))
}

/** A video of each model. */
export function useCreate() {
  const queries = useQueryClient()
  // A repeat gets the response of the first request. What is known of its video since then is newer.
  const keep = (video: Video) =>
    queries.setQueryData<Video | null>(shownKey(video.id), (known) => (known === undefined ? video : known))
  // The queue and the budget have changed.
  const onSettled = () => void queries.invalidateQueries({ queryKey: [quotePath] })
  return useMutation({ ...creationOptions(keep), onSettled })
}

/** Of the page that calls it. */
export function useLeaving(): { isLeft: boolean } {
  const page = useRef({ isLeft: false })
  useEffect(() => {
    const { current } = page
    current.isLeft = false
    return () => {
      current.isLeft = true
    }
  }, [])
  return page.current
}

const pathOf = (id: string) => `/v1/videos/${encodeURIComponent(id)}`
/** The page of a video stores another shape under its path. */
const shownKey = (id: string) => [pathOf(id), 'playground']

export interface Shown {
  id: string
  /** Null if it was deleted. */
  video: Video | null | undefined
  error: Error | null
}

/** These videos, live. */
export function useShown(ids: readonly string[]): Shown[] {
  const queries = useQueryClient()
  const onReset = useCallback(
    () =>
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[1] === 'playground' || queryKey[0] === galleryPath,
      }),
    [queries],
  )
  const onVideo = useCallback(
    ({ video }: LiveEvent) => {
      const next = video.object === 'video' ? video : null
      // Others are not shown.
      if (queries.getQueryState(shownKey(video.id))) void overtake(shownKey(video.id), next)
      if (next === null || next.status === 'completed') void queries.invalidateQueries({ queryKey: [galleryPath] })
    },
    [queries],
  )
  useLive({ onVideo, onReset })
  const results = useQueries({ queries: ids.map(shownQuery) })
  return ids.map((id, at) => {
    const { data, error = null } = results[at] ?? {}
    // It was deleted since it was read.
    return { id, video: data && isNotFound(error) ? null : data, error }
  })
}

/** An earlier video that the address names. */
export function useEarlier(id: string | undefined) {
  return useQuery({ ...shownQuery(id ?? ''), enabled: id !== undefined })
}

function shownQuery(id: string) {
  return queryOptions<Video | null>({
    queryKey: shownKey(id),
    queryFn: ({ signal }) => call<Video>(pathOf(id), { signal }),
    refetchInterval: (query) => {
      const { data, error } = query.state
      return data && isUnfinished(data) && !isNotFound(error) ? withoutEventsMs : afterFailure(query)
    },
  })
}

const galleryPath = withQuery('/v1/videos', { status: 'completed', limit: 12 })

/** The newest completed videos of this token. */
export function useGallery() {
  return useQuery<{ data: readonly Video[] }>({ queryKey: [galleryPath] })
}

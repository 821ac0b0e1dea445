import { useEffect } from 'react'
import type { DeletedVideo, Video } from '../../src/wire/videos.ts'
import { probe } from './connection.ts'
import { hasSession, useMay } from './session.tsx'

/** The events of the stream, apart from `reset`. */
const names = ['queued', 'in_progress', 'progress', 'completed', 'failed', 'deleted'] as const
const reopenMs = 3_000
/** How often unfinished videos are read again, if events do not get through: a proxy may hold them back. */
export const withoutEventsMs = 10_000

export interface LiveEvent {
  name: (typeof names)[number]
  video: Video | DeletedVideo
}

interface LiveEvents {
  onVideo(event: LiveEvent): void
  /** Events may have been missed: read everything again. */
  onReset(): void
}

/**
 * The events of all videos of this session, as long as the component is shown. A browser resumes a broken stream by
 * itself, from the last event; not one that the service refused, which is opened again here. A hidden tab has no stream:
 * over HTTP/1.1, a browser has 6 connections to a service, for all its tabs. Keep both functions stable.
 */
export function useLive({ onVideo, onReset }: LiveEvents, isOn = true): void {
  const isClient = useMay()('create')
  useEffect(() => {
    if (!isOn || !isClient) return
    let last: string | null = null
    let source: EventSource | undefined
    let timer: number | undefined

    function open(): void {
      const opened = new EventSource(
        `/v1/videos/events${last === null ? '' : `?last_event_id=${encodeURIComponent(last)}`}`,
      )
      source = opened
      for (const name of names)
        opened.addEventListener(`video.${name}`, ({ data, lastEventId }) => {
          last = lastEventId || last
          onVideo({ name, video: JSON.parse(data) })
        })
      // What was read before the stream began may be old by now.
      opened.addEventListener('open', () => last === null && onReset())
      opened.addEventListener('reset', onReset)
      opened.addEventListener('error', () => {
        // The frame says whether the service or the session is gone.
        probe()
        if (opened.readyState === EventSource.CLOSED) timer = window.setTimeout(reopen, reopenMs)
      })
    }

    /** Without a session it would be refused. */
    function reopen(): void {
      if (hasSession()) open()
      else timer = window.setTimeout(reopen, reopenMs)
    }

    function close(): void {
      window.clearTimeout(timer)
      source?.close()
    }

    function follow(): void {
      close()
      if (!document.hidden) open()
    }

    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      close()
    }
  }, [isOn, isClient, onVideo, onReset])
}

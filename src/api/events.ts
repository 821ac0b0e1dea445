import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import type { Clock } from '../core/clock.ts'
import type { FairTurns } from '../core/fair.ts'
import { hasPromptBytes, isFinished, isTaskId, wireStatus } from '../core/task.ts'
import { ownerOf } from '../core/token.ts'
import type { NoticeStore, TaskStore } from '../stores/store.ts'
import { StreamVideosQuery, VideoEvent } from '../wire/videos.ts'
import { notFound } from './errors.ts'
import type { Estimates } from './estimates.ts'
import { openPulse, type Pulse, type Sent, sentOf } from './events/pulse.ts'
import { readStart, replay, type StartRequest } from './events/replay.ts'
import { openStream } from './events/stream.ts'
import { opening, openTexts, resetText, type Texts } from './events/texts.ts'
import { openUnread, type Unread } from './events/unread.ts'
import { openTokenWatch, type TokenWatch } from './events/watch.ts'
import type { FeedItem } from './feed.ts'
import type { Listeners } from './listeners.ts'
import { pieceBytes } from './pieces.ts'
import { defineRoute, pathParam, type Route, type RouteResponse } from './route.ts'
import { sdkHeader, videoPath } from './videos.ts'

interface EventDependencies {
  turns: FairTurns
  store: NoticeStore & TaskStore
  clock: Clock
  estimates: Estimates
  listeners: Listeners
  access: Access
  /** Sets the token of the request, or throws. */
  identify(request: FastifyRequest): void
}

interface Parts extends EventDependencies {
  texts: Texts
  pulse: Pulse
  unread: Unread
  watch: TokenWatch
}

const stream: RouteResponse = {
  description: 'Events, until the connection is closed. A comment every 15 seconds keeps it alive.',
  type: 'text/event-stream',
  schema: {
    type: 'string',
    description: '`event`, `id` and `data` as in HTML’s EventSource; `data` is a `VideoEvent`.',
  },
  events: VideoEvent,
}

/** Streams of the events of one video, or of all videos of a token. */
export function eventRoutes(dependencies: EventDependencies): Route[] {
  const texts = openTexts(dependencies.estimates)
  const pulse = openPulse({ ...dependencies, texts })
  const watch = openTokenWatch(dependencies)
  const parts = { ...dependencies, texts, pulse, watch, unread: openUnread() }
  // Fastify would create a HEAD route from the handler, and its response would never end.
  const options = { exposeHeadRoute: false }
  return [
    {
      at: 'GET /v1/videos/:id/events',
      id: 'streamVideo',
      summary: 'Stream the events of a video',
      description:
        'Begins with the current status and ends when the video is finished: `video.queued`, `video.in_progress`, ' +
        '`video.progress` (a new progress or a new `status_detail`), `video.completed`, `video.failed`, `video.deleted`.',
      path: videoPath,
      headers: sdkHeader,
      responses: { 200: stream },
      errors: ['video_not_found', 'rate_limit_exceeded', 'overloaded', 'storage_unavailable'],
      options,
      handler: streamOne(parts),
    },
    defineRoute({
      at: 'GET /v1/videos/events',
      id: 'streamVideos',
      summary: 'Stream the events of all your videos',
      description:
        'Events from now on, or since the last event that you received, if you send its id. An `EventSource` sends it by ' +
        'itself when it reconnects. The event `reset` means that this id is too old: list the videos instead.',
      query: { schema: StreamVideosQuery, isReadByHand: true },
      headers: { 'Last-Event-ID': 'The `id` of the last event that you received.', ...sdkHeader },
      responses: { 200: stream },
      errors: ['rate_limit_exceeded', 'overloaded', 'storage_unavailable'],
      options,
      handler: streamAll(parts),
    }),
  ]
}

/** Begins with the current status and ends with the final one. */
function streamOne(parts: Parts) {
  const { store, estimates, listeners, texts } = parts
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const id = pathParam(request, 'id')
    if (!isTaskId(id)) throw notFound(id)
    const followed = new Map<string, Sent>()
    let status: string | undefined
    const send = ({ view, id: number }: Pick<FeedItem, 'view' | 'id'>) => {
      if (!view) return client.end(texts.deleted(id, number))
      // A repeat: of two changes at once, the first was sent with the status after both.
      if (wireStatus(view) === status) return
      status = wireStatus(view)
      if (!isFinished(view)) followed.set(id, sentOf(view, estimates))
      const text = texts.status(view, client.nulls, number)
      if (isFinished(view)) client.end(text)
      else client.send(text)
    }
    const { client, ...stream } = openStream(parts, { request, reply, task: id, followed, send })
    await stream.run(async () => {
      const view = await store.read(client.owner, id)
      if (!view) throw notFound(id)
      await estimates.of(view)
      stream.start(opening(null))
      send({ view, id: listeners.safe() })
      return new Set()
    })
    return reply
  }
}

/** Sends changes from now on, or since the last event that the client names. */
function streamAll(parts: Parts) {
  const { store, estimates, listeners, texts, turns } = parts
  const shown = openShown(parts)
  return async (request: StartRequest, reply: FastifyReply) => {
    const { tasks: followed, leave } = shown.join(ownerOf(request.token))
    const send = ({ notice, view, id }: FeedItem) => {
      if (notice.kind === 'deleted') return client.send(texts.deleted(notice.task, id))
      // The task has changed again or was deleted. The notice of that change is still to come.
      if (!view || wireStatus(view) !== notice.kind) return
      if (notice.kind === 'in_progress') followed.set(view.id, sentOf(view, estimates))
      else followed.delete(view.id)
      client.send(texts.status(view, client.nulls, id))
    }
    const { client, ...stream } = openStream(parts, { request, reply, task: null, followed, send, onLeave: leave })
    await stream.run(async () => {
      // Every notice that arrives from here on has a greater number.
      const safe = listeners.safe()
      const start = await readStart(request, store)
      stream.start(opening(start === 'now' ? safe : null))
      if (start === 'lost') client.send(resetText(safe))
      return typeof start === 'number' ? replay({ store, client, send, turns }, start, safe) : new Set()
    })
    return reply
  }
}

/** The tasks in progress of each owner that streams all videos: one set for all of the owner's streams. */
function openShown({ store, estimates, turns }: Parts) {
  const owners = new Map<string, { tasks: Map<string, Sent>; streams: number }>()
  const find = async (owner: string, tasks: Map<string, Sent>) => {
    for (let [left, after]: [number, string | undefined] = [100, undefined]; left > 0; ) {
      using _turn = await turns.take(owner)
      const page = { limit: left, order: 'desc', enoughBytes: pieceBytes } as const
      const newest = await store.list(owner, after === undefined ? page : { ...page, after })
      for (const task of newest) if (wireStatus(task) === 'in_progress') tasks.set(task.id, sentOf(task, estimates))
      left = hasPromptBytes(newest, pieceBytes) ? left - newest.length : 0
      after = newest.at(-1)?.id
    }
  }
  return {
    join(owner: string) {
      const shown = owners.get(owner) ?? { tasks: new Map<string, Sent>(), streams: 0 }
      owners.set(owner, shown)
      shown.streams += 1
      // Tasks that began before, if they are among the newest. Without them the stream only shows less progress.
      if (shown.streams === 1) void find(owner, shown.tasks).catch(() => {})
      let left = false
      return {
        tasks: shown.tasks,
        leave() {
          if (left) return
          left = true
          shown.streams -= 1
          if (shown.streams === 0) owners.delete(owner)
        },
      }
    },
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { FairTurns } from '../core/fair.ts'
import { hasPromptBytes, isFinished, isTaskId, wireStatus } from '../core/task.ts'
import type { NoticeStore, TaskStore } from '../stores/store.ts'
import { StreamVideosQuery, VideoEvent } from '../wire/videos.ts'
import { notFound } from './errors.ts'
import type { Estimates } from './estimates.ts'
import { openPulse, type Pulse } from './events/pulse.ts'
import { readPlace, replay } from './events/replay.ts'
import { openStream } from './events/stream.ts'
import { opening, openTexts, resetText, type Texts } from './events/texts.ts'
import { openUnread, type Unread } from './events/unread.ts'
import type { Told } from './feed.ts'
import type { Listeners } from './listeners.ts'
import { pieceBytes } from './pieces.ts'
import type { Answer, Route } from './route.ts'
import { sdkHeader, videoPath } from './videos.ts'

interface EventDependencies {
  turns: FairTurns
  store: NoticeStore & TaskStore
  clock: Clock
  estimates: Estimates
  listeners: Listeners
}

interface Parts extends EventDependencies {
  texts: Texts
  pulse: Pulse
  unread: Unread
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const stream: Answer = {
  description: 'Events, until the connection is closed. A comment every few seconds keeps it alive.',
  type: 'text/event-stream',
  schema: { type: 'string', description: '`event`, `id` and `data` as HTML has them; `data` is a `VideoEvent`.' },
  events: VideoEvent,
}

/** Streams of what happens to one video, or to all of a token. */
export function eventRoutes(dependencies: EventDependencies): Route[] {
  const texts = openTexts(dependencies.estimates)
  const pulse = openPulse({ ...dependencies, texts })
  const parts = { ...dependencies, texts, pulse, unread: openUnread() }
  // A HEAD route would be made of the handler, and would never end.
  const options = { exposeHeadRoute: false }
  return [
    {
      at: 'GET /v1/videos/:id/events',
      id: 'streamVideo',
      summary: 'Follow a video',
      description:
        'Begins with the current status and ends when the video is finished: `video.queued`, `video.in_progress`, ' +
        '`video.progress`, `video.completed`, `video.failed`, `video.deleted`.',
      path: videoPath,
      headers: sdkHeader,
      answers: { 200: stream },
      errors: ['video_not_found', 'overloaded', 'storage_unavailable'],
      options,
      handler: streamOne(parts),
    },
    {
      at: 'GET /v1/videos/events',
      id: 'streamVideos',
      summary: 'Follow all your videos',
      description:
        'Events from now on, or since the last event that you name. An `EventSource` names it by itself when it ' +
        'reconnects. `reset` means that this event is too old: list the videos then.',
      query: { schema: StreamVideosQuery, isReadByHand: true },
      headers: { 'Last-Event-ID': 'The `id` of the last event that you received.', ...sdkHeader },
      answers: { 200: stream },
      errors: ['overloaded', 'storage_unavailable'],
      options,
      handler: streamAll(parts),
    },
  ]
}

/** Begins with the present state and ends with the last one. */
function streamOne(parts: Parts): Handler {
  const { store, estimates, listeners, texts } = parts
  return async (request, reply) => {
    const { id } = request.params as { id: string }
    if (!isTaskId(id)) throw notFound(id)
    const running = new Map<string, number>()
    let status: string | undefined
    const tell = ({ view, id: number }: Pick<Told, 'view' | 'id'>) => {
      if (!view) return client.end(texts.deleted(id, number))
      // A repeat: of two changes that came at once the first was told with the state after both.
      if (wireStatus(view) === status) return
      status = wireStatus(view)
      if (status === 'in_progress') running.set(id, view.progress)
      const text = texts.status(view, client.nulls, number)
      if (isFinished(view)) client.end(text)
      else client.send(text)
    }
    const { client, ...stream } = openStream(parts, { request, reply, task: id, running, tell })
    await stream.run(async () => {
      const view = await store.read(client.owner, id)
      if (!view) throw notFound(id)
      await estimates.of(view)
      stream.start(opening(null))
      tell({ view, id: listeners.safe() })
      return new Set()
    })
    return reply
  }
}

/** Tells of changes from now on, or since the one that the client names as its last. */
function streamAll(parts: Parts): Handler {
  const { store, listeners, texts, turns } = parts
  const shown = openShown(parts)
  return async (request, reply) => {
    const { tasks: running, leave } = shown.join(request.token.name)
    const tell = ({ notice, view, id }: Told) => {
      if (notice.kind === 'deleted') return client.send(texts.deleted(notice.task, id))
      // It is further by now, or gone: the notice of that is yet to come, and tells it.
      if (!view || wireStatus(view) !== notice.kind) return
      if (notice.kind === 'in_progress') running.set(view.id, view.progress)
      client.send(texts.status(view, client.nulls, id))
    }
    const { client, ...stream } = openStream(parts, { request, reply, task: null, running, tell, onLeave: leave })
    await stream.run(async () => {
      // Of what is heard from here on nothing is below this.
      const safe = listeners.safe()
      const place = await readPlace(request, store)
      stream.start(opening(place === 'now' ? safe : null))
      if (place === 'lost') client.send(resetText(safe))
      return typeof place === 'number' ? replay({ store, client, tell, turns }, place, safe) : new Set()
    })
    return reply
  }
}

/** The tasks in progress of each owner who has a stream of all: one set for all streams of his. */
function openShown({ store, turns }: Parts) {
  const owners = new Map<string, { tasks: Map<string, number>; streams: number }>()
  const find = async (owner: string, tasks: Map<string, number>) => {
    for (let [left, after]: [number, string | undefined] = [100, undefined]; left > 0; ) {
      using _turn = await turns.take(owner)
      const page = { limit: left, order: 'desc', enoughBytes: pieceBytes } as const
      const newest = await store.list(owner, after === undefined ? page : { ...page, after })
      for (const task of newest) if (wireStatus(task) === 'in_progress') tasks.set(task.id, task.progress)
      left = hasPromptBytes(newest, pieceBytes) ? left - newest.length : 0
      after = newest.at(-1)?.id
    }
  }
  return {
    join(owner: string) {
      const shown = owners.get(owner) ?? { tasks: new Map<string, number>(), streams: 0 }
      owners.set(owner, shown)
      shown.streams += 1
      // Those that began before, as far as they are among the newest; without them there is just less progress to see.
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

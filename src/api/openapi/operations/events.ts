import { refer } from '../schemas/schema.ts'
import type { Answer, Operations } from './operation.ts'
import { sdkHeader, videoPath } from './videos.ts'

const stream: Answer = {
  description: 'Events, for as long as the connection is open. A comment every few seconds keeps it alive.',
  type: 'text/event-stream',
  schema: { type: 'string', description: '`event`, `id` and `data` as HTML has them; `data` is a `VideoEvent`.' },
  events: refer('VideoEvent'),
}

export const eventOperations: Operations = {
  'GET /v1/videos/:id/events': {
    ...{ id: 'streamVideo', tag: 'Events', summary: 'Follow a video', access: 'client', path: videoPath },
    description:
      'Begins with how it is now and ends when it is finished: `video.queued`, `video.in_progress`, ' +
      '`video.progress`, `video.completed`, `video.failed`, `video.deleted`.',
    headers: sdkHeader,
    answers: { 200: stream },
    errors: ['video_not_found', 'overloaded', 'storage_unavailable'],
  },
  'GET /v1/videos/events': {
    ...{ id: 'streamVideos', tag: 'Events', summary: 'Follow all your videos', access: 'client' },
    description:
      'Tells of changes from now on, or since the last one that you name. An `EventSource` does so by itself when it ' +
      'comes back. `reset` says that this is too long ago: list the videos then.',
    query: { last_event_id: { type: 'string', description: 'As the header, for those that can’t send one.' } },
    headers: { 'Last-Event-ID': 'The `id` of the last event that you got.', ...sdkHeader },
    answers: { 200: stream },
    errors: ['overloaded', 'storage_unavailable'],
  },
}

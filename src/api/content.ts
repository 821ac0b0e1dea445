import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Bucket } from '../buckets/bucket.ts'
import type { Clock } from '../core/clock.ts'
import type { Handover } from '../core/handover.ts'
import { Problem } from '../core/problem.ts'
import { parseRange } from '../core/range.ts'
import { type Asset, isTaskId, type Task } from '../core/task.ts'
import { ownerOf } from '../core/token.ts'
import type { Media } from '../media/media.ts'
import type { TaskStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'
import { DownloadVideoQuery, type Variant, variants } from '../wire/videos.ts'
import { chooseHandover } from './content/handover.ts'
import { openPictures } from './content/pictures.ts'
import { limitPipelined } from './content/sending.ts'
import { openSoundness } from './content/soundness.ts'
import type { ConnectionLimit } from './crowding.ts'
import { notFound } from './errors.ts'
import { defineRoute, pathParam, type QueryRequest, type Route, type RouteResponse } from './route.ts'
import { dropStalled } from './server.ts'
import { videoPath } from './videos.ts'

export interface ContentDependencies {
  store: TaskStore
  bucket: Bucket
  media: Media
  clock: Clock
  log: Log
  handover?: Handover
  /** Set if the system limits how many files may be open. */
  connections?: ConnectionLimit
  /** The folder for copies of videos while pictures are made from them. */
  scratch: string
}

const described = {
  ETag: 'The SHA-256 of the whole video, or picture, in quotes.',
  'Last-Modified': 'When the video was completed.',
  'Content-Disposition': 'A file name.',
}

const bytes = {
  type: Object.values(variants).map(({ type }) => type),
  schema: { type: 'string', format: 'binary', description: 'Its bytes.' },
} satisfies Partial<RouteResponse>

type ContentRequest = QueryRequest<{ readonly variant?: Variant }>

type Handler = (request: ContentRequest, reply: FastifyReply) => unknown
type Place = Pick<Route, 'at' | 'id' | 'summary' | 'path'>

const forClients: Place = {
  at: 'GET /v1/videos/:id/content',
  id: 'downloadVideo',
  summary: 'Download the video',
  path: videoPath,
}

const forOperators: Place = {
  at: 'GET /operator/v1/tasks/:id/content',
  id: 'downloadTask',
  summary: 'Download the video of a task',
  path: { task_id: 'The id of the task.' },
}

function downloadRoute(place: Place, handler: Handler): Route {
  return defineRoute({
    ...place,
    description:
      'An MP4 file, from `completed` until `expires_at`. Ranges, conditions and `HEAD` work as RFC 9110 describes them. ' +
      'If the operator lets the bucket deliver videos, the response is a redirect: follow it without sending the token.',
    query: { schema: DownloadVideoQuery },
    headers: {
      Range: 'The part to send, for example `bytes=0-1023`.',
      'If-Match': 'An ETag. If it is not current, the response is `precondition_failed`.',
      'If-None-Match': 'An ETag. If it is current, the response is 304 without a body.',
    },
    responses: {
      200: { description: 'The video, or a picture of it.', ...bytes, headers: described },
      206: {
        description: 'The requested part.',
        ...bytes,
        headers: { ...described, 'Content-Range': 'The range of this part.' },
      },
      302: { description: 'The address of the video.', headers: { Location: 'A link that works for some minutes.' } },
      304: { description: 'Your copy is current.', headers: { ETag: described.ETag } },
    },
    errors: [
      'invalid_value',
      'video_not_found',
      'video_not_ready',
      'video_failed',
      'video_expired',
      'precondition_failed',
      'range_not_satisfiable',
      'rate_limit_exceeded',
      'overloaded',
      'storage_unavailable',
    ],
    options: { method: ['GET', 'HEAD'], onRequest: [dropStalled, limitPipelined] },
    handler,
  })
}

/** GET and HEAD of a finished video, or of a picture of it, with ranges and conditions as in RFC 9110. */
export function openContent({ handover = 'proxy', ...tools }: ContentDependencies) {
  const { store, bucket, clock, log, connections } = tools
  const soundness = openSoundness(bucket, clock)
  const deliver = chooseHandover(handover, { bucket, clock, log, soundness, connections })
  const pictures = openPictures({ ...tools, soundness })

  async function find(request: FastifyRequest, variant: Variant) {
    const task = await findTask(store, request)
    const { video, completedAt } = finished(task, clock.now())
    const confirm = async () => finished(await findTask(store, request), clock.now())
    const asset = variant === 'video' ? video : await pictures.find({ task, video, kind: variant, confirm })
    return { task, completedAt, asset, confirm }
  }

  async function send(request: ContentRequest, reply: FastifyReply) {
    const { variant = 'video' } = request.query
    const kind = variants[variant]
    const { task, asset, completedAt, confirm } = await find(request, variant)
    const etag = `"${asset.sha256}"`
    const modified = new Date(Math.floor(completedAt / 1000) * 1000)
    if (isChanged(request, etag, modified))
      throw new Problem('precondition_failed', `The ${variant} is not the one that the request asks for.`)
    const range = wantedRange(request, etag, modified, asset.bytes)
    const describe = () =>
      reply.headers({
        etag,
        'last-modified': modified.toUTCString(),
        'accept-ranges': 'bytes',
        'cache-control': 'private, no-cache',
        'content-disposition': `attachment; filename="${task.id}.${kind.ending}"`,
        'content-security-policy': "sandbox; default-src 'none'",
        'cross-origin-resource-policy': 'same-site',
        'x-content-type-options': 'nosniff',
      })
    if (isUnchanged(request, etag, modified)) return describe().code(304).send()
    if (range === 'unsatisfiable') {
      reply.header('content-range', `bytes */${asset.bytes}`)
      throw new Problem(
        'range_not_satisfiable',
        `The ${variant} has ${asset.bytes} bytes. Request a range within them.`,
      )
    }
    const measured = () => {
      const { start, end } = range ?? { start: 0, end: asset.bytes - 1 }
      if (range) reply.code(206).header('content-range', `bytes ${start}-${end}/${asset.bytes}`)
      return describe()
        .header('content-length', end - start + 1)
        .type(kind.type)
    }
    try {
      await soundness.refuse(asset, handover === 'proxy' && request.method === 'GET' && !range)
      if (request.method === 'HEAD') return measured().send()
      return await deliver({ task, asset, kind, range, confirm, reply, describe, measured })
    } catch (error) {
      // A picture that no longer exists is created again for the next request.
      pictures.forget(asset)
      throw error
    }
  }

  return {
    route: downloadRoute(forClients, send),
    operatorRoute: downloadRoute(forOperators, send),
    async [Symbol.asyncDispose]() {
      await pictures[Symbol.asyncDispose]()
      await soundness[Symbol.asyncDispose]()
    },
  }
}

/** The whole task: a `TaskView` has no key in the bucket. An operator's token opens those of every owner. */
async function findTask(store: TaskStore, request: FastifyRequest): Promise<Task> {
  const id = pathParam(request, 'id')
  const task = isTaskId(id) ? await store.find(id) : undefined
  const { token } = request
  const isOpen = token.kind === 'operator' || task?.owner === ownerOf(token)
  if (!task || !isOpen || task.deletedAt !== null) throw notFound(id)
  return task
}

/** By a strong comparison, so a weak tag never matches. */
function isChanged({ headers }: FastifyRequest, etag: string, modified: Date): boolean {
  const match = headers['if-match']
  if (match !== undefined) return match.trim() !== '*' && !match.split(',').some((tag) => tag.trim() === etag)
  return Date.parse(headers['if-unmodified-since'] ?? '') < modified.getTime()
}

function isUnchanged({ headers }: FastifyRequest, etag: string, modified: Date): boolean {
  const match = headers['if-none-match']
  if (match !== undefined)
    return match.trim() === '*' || match.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return since >= modified.getTime()
}

/** Only GET has ranges. With If-Range, the range applies only if the whole is unchanged. A weak tag never matches. */
function wantedRange({ headers, method }: FastifyRequest, etag: string, modified: Date, bytes: number) {
  const condition = headers['if-range']
  if (headers.range === undefined || method !== 'GET') return undefined
  if (condition !== undefined && condition !== etag && Date.parse(String(condition)) !== modified.getTime())
    return undefined
  return parseRange(headers.range, bytes)
}

/** The stored video of a finished task. Throws the reason if there is no video. */
function finished(task: Task, now: number): { video: Asset; completedAt: number } {
  if (task.state === 'failed') {
    throw new Problem('video_failed', `The video failed: ${task.error?.message ?? 'generation failed'}`)
  }
  if (task.state !== 'completed') {
    throw new Problem('video_not_ready', 'Video is not ready yet, use GET /v1/videos/{video_id} to check its status.')
  }
  const { video, completedAt, expiresAt } = task
  // A video without bytes has expired, even if the clock was set back.
  if (video && completedAt !== null && expiresAt !== null && now < expiresAt) return { video, completedAt }
  const when = new Date(expiresAt ?? now).toISOString()
  throw new Problem('video_expired', `The video expired at ${when} and was removed.`)
}

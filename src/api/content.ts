import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Bucket } from '../buckets/bucket.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { parseRange } from '../core/range.ts'
import type { Asset, Task } from '../core/task.ts'
import type { Store } from '../stores/store.ts'
import { findTask } from './videos.ts'

export interface ContentDependencies {
  store: Store
  bucket: Bucket
  clock: Clock
}

export const ContentQuery = Type.Object({ variant: Type.Optional(Type.Enum(['video'])) })
export type ContentQuery = Static<typeof ContentQuery>

/** GET and HEAD of the finished video, with ranges and conditions as RFC 9110 has them. */
export function sendContent({ store, bucket, clock }: ContentDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const task = await findTask(store, request)
    const { video, completedAt } = finished(task, clock.now())
    const etag = `"${video.sha256}"`
    const modified = new Date(Math.floor(completedAt / 1000) * 1000)
    reply.headers({
      etag,
      'last-modified': modified.toUTCString(),
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-disposition': `attachment; filename="${task.id}.mp4"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-site',
      'x-content-type-options': 'nosniff',
    })
    if (isUnchanged(request, etag, modified)) return reply.code(304).send()

    const range = wantedRange(request, etag, modified, video.bytes)
    if (range === 'unsatisfiable') {
      reply.header('content-range', `bytes */${video.bytes}`)
      throw new Problem('range_not_satisfiable', `The video has ${video.bytes} bytes; the range asks for others.`)
    }
    if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${video.bytes}`)
    reply.header('content-length', range ? range.end - range.start + 1 : video.bytes).type('video/mp4')
    if (request.method === 'HEAD') return reply.send()
    const object = await open(bucket, video)
    return reply.send(object.stream(range))
  }
}

function finished(task: Task, now: number): { video: Asset; completedAt: number } {
  if (task.state === 'failed') {
    throw new Problem('video_failed', `The video was not made: ${task.error?.message ?? 'generation failed'}`)
  }
  if (task.state !== 'completed') {
    throw new Problem('video_not_ready', 'Video is not ready yet, use GET /v1/videos/{video_id} to check its status.')
  }
  if (task.expiresAt !== null && now >= task.expiresAt) {
    throw new Problem(
      'video_expired',
      `The video expired at ${new Date(task.expiresAt).toISOString()} and was removed.`,
    )
  }
  if (!task.video || task.completedAt === null) throw new Error(`task ${task.id} is completed but has no video`)
  return { video: task.video, completedAt: task.completedAt }
}

async function open(bucket: Bucket, video: Asset) {
  const object = await bucket.open(video.key)
  if (!object) throw new Error(`${video.key} is missing from the bucket`)
  if (object.bytes === video.bytes) return object
  await object[Symbol.asyncDispose]()
  throw new Error(`${video.key} has ${object.bytes} bytes, ${video.bytes} were stored`)
}

function isUnchanged({ headers }: FastifyRequest, etag: string, modified: Date): boolean {
  const match = headers['if-none-match']
  if (match !== undefined)
    return match.trim() === '*' || match.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return since >= modified.getTime()
}

/** With If-Range, the part is only wanted if the whole is still the same; a weak tag never is. */
function wantedRange({ headers }: FastifyRequest, etag: string, modified: Date, bytes: number) {
  const condition = headers['if-range']
  if (headers.range === undefined) return undefined
  if (condition !== undefined && condition !== etag && Date.parse(String(condition)) !== modified.getTime())
    return undefined
  return parseRange(headers.range, bytes)
}

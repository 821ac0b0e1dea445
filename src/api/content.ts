import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Bucket } from '../buckets/bucket.ts'
import type { Clock } from '../core/clock.ts'
import type { Delivery } from '../core/delivery.ts'
import { Problem } from '../core/problem.ts'
import { type ByteRange, parseRange } from '../core/range.ts'
import { type Asset, isTaskId, type Task } from '../core/task.ts'
import type { Log } from '../log.ts'
import type { Store } from '../stores/store.ts'
import { openSoundness, unusable } from './content/soundness.ts'
import { notFound } from './videos.ts'

export interface ContentDependencies {
  store: Store
  bucket: Bucket
  clock: Clock
  log: Log
  delivery?: Delivery
}

export const contentQuery = { type: 'object', properties: { variant: { enum: ['video'] } } } as const

/** GET and HEAD of the finished video, with ranges and conditions as RFC 9110 has them. */
export function sendContent({ store, bucket, clock, log, delivery = 'proxy' }: ContentDependencies) {
  const soundness = openSoundness()
  const deliver = chooseDelivery(delivery, { bucket, clock, log, soundness })
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const task = await findTask(store, request)
    const { video, completedAt } = finished(task, clock.now())
    const etag = `"${video.sha256}"`
    const modified = new Date(Math.floor(completedAt / 1000) * 1000)
    const range = wantedRange(request, etag, modified, video.bytes)
    const describe = () =>
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
    if (isUnchanged(request, etag, modified)) return describe().code(304).send()
    if (range === 'unsatisfiable') {
      reply.header('content-range', `bytes */${video.bytes}`)
      throw new Problem('range_not_satisfiable', `The video has ${video.bytes} bytes; the range asks for others.`)
    }
    soundness.refuse(video)
    const measured = () => {
      const { start, end } = range ?? { start: 0, end: video.bytes - 1 }
      if (range) reply.code(206).header('content-range', `bytes ${start}-${end}/${video.bytes}`)
      return describe()
        .header('content-length', end - start + 1)
        .type('video/mp4')
    }
    if (request.method === 'HEAD') return measured().send()
    return deliver({ task, video, range, reply, describe, measured })
  }
}

interface Wanted {
  task: Task
  video: Asset
  range: ByteRange | undefined
  reply: FastifyReply
  /** Sets the headers that say what the video is, */
  describe(): FastifyReply
  /** and those that say which part of it is sent. */
  measured(): FastifyReply
}

interface Means {
  bucket: Bucket
  clock: Clock
  log: Log
  soundness: ReturnType<typeof openSoundness>
}

function chooseDelivery(delivery: Delivery, means: Means) {
  const { bucket, clock } = means
  if (delivery === 'proxy') return (wanted: Wanted) => sendOurselves(wanted, means)
  if (delivery === 'redirect') {
    const link = bucket.link?.bind(bucket)
    if (!link) throw new Error('this bucket has no links to redirect to')
    return (wanted: Wanted) => redirect(wanted, link, clock)
  }
  const path = bucket.path?.bind(bucket)
  if (!path) throw new Error('this bucket has no folder that a front server could send from')
  const root = delivery.accel.replace(/\/*$/, '/')
  // Conditions were ours to check; ranges are for the front server, which also says that it has them.
  return async ({ video, describe }: Wanted) =>
    describe()
      .removeHeader('accept-ranges')
      .header('x-accel-redirect', root + path(video.key))
      .type('video/mp4')
      .send()
}

async function sendOurselves({ task, video, range, reply, measured }: Wanted, means: Means) {
  const { bucket, clock, log, soundness } = means
  // Opened before anything is said about it: what can't be opened must not be described.
  const object = await open(bucket, { task, video, range }, clock)
  const bytes = range ? range.end - range.start + 1 : video.bytes
  const stream = range ? object.stream : soundness.check(object.stream, video)
  stream.once('error', (error) => {
    const cause = error.cause ?? error
    log.error('a stored video could not be sent', { task: task.id, key: video.key, cause })
    if (!reply.raw.headersSent) undescribe(reply)
  })
  return measured().send(
    whole(stream, bytes, (missing) => {
      log.error('a stored video is shorter than it was', { task: task.id, key: video.key, missing })
      reply.raw.destroy()
    }),
  )
}

/** An answer that becomes an error before its first byte must not be tagged as the video. */
function undescribe(reply: FastifyReply): void {
  for (const name of reply.raw.getHeaderNames()) {
    if (name === 'x-request-id') continue
    reply.removeHeader(name)
    reply.raw.removeHeader(name)
  }
}

/** The client sends its range there by itself. The link lives no longer than the video does, and is kept half that time. */
async function redirect({ task, video, reply }: Wanted, link: NonNullable<Bucket['link']>, clock: Clock) {
  const left = Math.floor(((task.expiresAt ?? 0) - clock.now()) / 1000)
  const expiresInSeconds = Math.max(1, Math.min(600, left))
  const location = await link(video.key, { expiresInSeconds, type: 'video/mp4', filename: `${task.id}.mp4` })
  return reply.header('cache-control', `private, max-age=${Math.floor(expiresInSeconds / 2)}`).redirect(location, 302)
}

/** The whole task, for only it knows where its bytes are. */
async function findTask(store: Store, request: FastifyRequest): Promise<Task> {
  const { id } = request.params as { id: string }
  const task = isTaskId(id) ? await store.find(id) : undefined
  if (!task || task.owner !== request.token.name || task.deletedAt !== null) throw notFound(id)
  return task
}

function finished(task: Task, now: number): { video: Asset; completedAt: number } {
  if (task.state === 'failed') {
    throw new Problem('video_failed', `The video was not made: ${task.error?.message ?? 'generation failed'}`)
  }
  if (task.state !== 'completed') {
    throw new Problem('video_not_ready', 'Video is not ready yet, use GET /v1/videos/{video_id} to check its status.')
  }
  const { video, completedAt, expiresAt } = task
  // Without its bytes it expired, whatever a clock that was set back says.
  if (video && completedAt !== null && expiresAt !== null && now < expiresAt) return { video, completedAt }
  const when = new Date(expiresAt ?? now).toISOString()
  throw new Problem('video_expired', `The video expired at ${when} and was removed.`)
}

async function open(bucket: Bucket, { task, video, range }: Pick<Wanted, 'task' | 'video' | 'range'>, clock: Clock) {
  const object = await bucket.open(video.key, range)
  if (!object) {
    // It may have expired since the row was read.
    finished(task, clock.now())
    throw unusable(`${video.key} is missing from the bucket`)
  }
  if (object.bytes === video.bytes) return object
  await object[Symbol.asyncDispose]()
  throw unusable(`${video.key} has ${object.bytes} bytes, ${video.bytes} were stored`)
}

/** A file that became shorter meanwhile must not look like an answer that is only slow. */
function whole(stream: Readable, bytes: number, onShort: (missing: number) => void): Readable {
  let left = bytes
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length
  })
  stream.prependListener('end', () => {
    if (left > 0) onShort(left)
  })
  return stream.pause()
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

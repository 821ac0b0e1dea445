import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Bucket, OpenObject } from '../../buckets/bucket.ts'
import type { Clock } from '../../core/clock.ts'
import type { Handover } from '../../core/handover.ts'
import type { ByteRange } from '../../core/range.ts'
import type { Asset, Task } from '../../core/task.ts'
import type { Log } from '../../telemetry/log.ts'
import type { VariantKind } from '../../wire/videos.ts'
import { type Soundness, unusable } from './soundness.ts'

/** An asset of a finished task that somebody may have: the video, or a picture of it. */
interface Wanted {
  task: Task
  asset: Asset
  kind: VariantKind
  range: ByteRange | undefined
  /** Throws if it may not be had any more. */
  confirm(): Promise<unknown>
  reply: FastifyReply
  /** Sets the headers that say what it is, */
  describe(): FastifyReply
  /** and those that say which part of it is sent. */
  measured(): FastifyReply
}

interface Means {
  bucket: Bucket
  clock: Clock
  log: Log
  soundness: Soundness
}

export function chooseHandover(handover: Handover, means: Means): (wanted: Wanted) => Promise<FastifyReply> {
  const { bucket, clock } = means
  if (handover === 'proxy') return (wanted) => sendOurselves(wanted, means)
  if (handover === 'redirect') {
    const link = bucket.link?.bind(bucket)
    if (!link) throw new Error('this bucket has no links to redirect to')
    return (wanted) => redirect(wanted, link, clock)
  }
  const path = bucket.path?.bind(bucket)
  if (!path) throw new Error('this bucket has no folder that a front server could send from')
  const root = handover.accel.replace(/(?<!\/)\/*$/, '/')
  // Conditions were ours to check; ranges are for the front server, which also says that it has them.
  return async ({ asset, kind, describe }) =>
    describe()
      .removeHeader('accept-ranges')
      .header('x-accel-redirect', root + path(asset.key))
      .type(kind.type)
      .send()
}

async function sendOurselves({ task, asset, range, confirm, reply, measured }: Wanted, means: Means) {
  const { bucket, log, soundness } = means
  // Opened before anything is said about it: what can't be opened must not be described.
  const object = await openAsset(bucket, { asset, range, confirm })
  const bytes = range ? range.end - range.start + 1 : asset.bytes
  const stream = range ? object.stream : soundness.check(object.stream, asset)
  stream.once('error', (error) => {
    const cause = error.cause ?? error
    log.error('a stored video could not be sent', { task: task.id, key: asset.key, cause })
    if (!reply.raw.headersSent) undescribe(reply)
  })
  return measured().send(
    whole(stream, bytes, (missing) => {
      log.error('a stored video is shorter than it was', { task: task.id, key: asset.key, missing })
      reply.raw.destroy()
    }),
  )
}

/** An answer that becomes an error before its first byte must not be tagged as the video. */
function undescribe(reply: FastifyReply): void {
  for (const name of reply.raw.getHeaderNames()) {
    if (name === 'x-request-id' || name === 'vary' || name.startsWith('access-control-')) continue
    reply.removeHeader(name)
    reply.raw.removeHeader(name)
  }
}

/** The client sends its range there by itself. The link lives no longer than the video does, and is kept half that time. */
async function redirect(wanted: Wanted, link: NonNullable<Bucket['link']>, clock: Clock) {
  const { task, asset, kind, reply } = wanted
  const left = Math.floor(((task.expiresAt ?? 0) - clock.now()) / 1000)
  const expiresInSeconds = Math.max(1, Math.min(600, left))
  const filename = `${task.id}.${kind.ending}`
  const location = await link(asset.key, { expiresInSeconds, type: kind.type, filename })
  return reply.header('cache-control', `private, max-age=${Math.floor(expiresInSeconds / 2)}`).redirect(location, 302)
}

/** The object of an asset, if it is there and as long as it was. */
export async function openAsset(
  bucket: Bucket,
  { asset, range, confirm }: Pick<Wanted, 'asset' | 'confirm'> & { range?: ByteRange | undefined },
): Promise<OpenObject> {
  const object = await bucket.open(asset.key, range)
  if (!object) {
    // It may have expired, or been deleted, since the row was read.
    await confirm()
    throw unusable(`${asset.key} is missing from the bucket`)
  }
  if (object.bytes === asset.bytes) return object
  await object[Symbol.asyncDispose]()
  throw unusable(`${asset.key} has ${object.bytes} bytes, ${asset.bytes} were stored`)
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

import type { FastifyReply } from 'fastify'
import type { Bucket, OpenObject } from '../../buckets/bucket.ts'
import type { Clock } from '../../core/clock.ts'
import type { Handover } from '../../core/handover.ts'
import { type Outage, openOutage } from '../../core/outage.ts'
import { Problem } from '../../core/problem.ts'
import type { ByteRange } from '../../core/range.ts'
import type { Asset, Task } from '../../core/task.ts'
import { ownerOf } from '../../core/token.ts'
import { taskFields } from '../../core/trace.ts'
import type { Log } from '../../telemetry/log.ts'
import type { VariantKind } from '../../wire/videos.ts'
import type { ConnectionLimit } from '../crowding.ts'
import { openShare, type Share } from '../share.ts'
import { type Buffers, openBuffers } from './buffers.ts'
import { sendObject, waitForTurn } from './sending.ts'
import { type Soundness, unusable } from './soundness.ts'

/**
 * A client that reads slowly keeps its connection and an open file. One token with its shares of downloads, streams and
 * unfinished bodies still leaves connections to others.
 */
const mostDownloads = 20_000
const shareOfConnections = 0.4

/** One video may be unreadable while others are sent. */
const cutCalmMs = 60_000

/** A request for an asset of a finished task: the video, or a picture of it. */
interface AssetRequest {
  task: Task
  asset: Asset
  kind: VariantKind
  range: ByteRange | undefined
  /** Throws if the asset may no longer be sent. */
  confirm(): Promise<unknown>
  reply: FastifyReply
  /** Sets the headers that describe the asset. */
  describe(): FastifyReply
  /** Sets these and the headers of the part that is sent. */
  measured(): FastifyReply
}

interface Tools {
  bucket: Bucket
  clock: Clock
  log: Log
  soundness: Soundness
  /** Set if the system limits how many files may be open. */
  connections?: Pick<ConnectionLimit, 'most'> | undefined
}

export function chooseHandover(handover: Handover, tools: Tools): (request: AssetRequest) => Promise<FastifyReply> {
  const { bucket, clock } = tools
  if (handover === 'proxy') {
    const buffers = openBuffers()
    const lines = { down: 'a stored video could not be sent', up: 'stored videos are sent again' }
    const cuts = openOutage({ log: tools.log, clock, ...lines, calmMs: cutCalmMs })
    const most = Math.max(
      2,
      Math.min(mostDownloads, Math.floor((tools.connections?.most ?? Infinity) * shareOfConnections)),
    )
    const share = openShare({ most, mostOfOne: Math.ceil(most / 2), items: 'downloads' })
    return (request) => sendOurselves(request, { ...tools, buffers, cuts, share })
  }
  if (handover === 'redirect') {
    const link = bucket.link?.bind(bucket)
    if (!link) throw new Error('this bucket has no links to redirect to')
    return (request) => redirect(request, link, clock)
  }
  const path = bucket.path?.bind(bucket)
  if (!path) throw new Error('this bucket has no folder that a front server could send from')
  const root = handover.accel.replace(/(?<!\/)\/*$/, '/')
  // Conditions are checked here. The front server handles ranges, and sets `accept-ranges` itself.
  return async ({ asset, kind, describe }) =>
    describe()
      .removeHeader('accept-ranges')
      .header('x-accel-redirect', root + path(asset.key))
      .type(kind.type)
      .send()
}

async function sendOurselves(
  { task, asset, range, confirm, reply, measured }: AssetRequest,
  { bucket, soundness, buffers, cuts, share }: Tools & { buffers: Buffers; cuts: Outage; share: Share },
): Promise<FastifyReply> {
  const isAtOnce = reply.raw.socket !== null
  if (!(await waitForTurn(reply))) return reply.hijack()
  // The responses before this one may have taken hours.
  if (!isAtOnce) await confirm()
  using _place = share.take(ownerOf(reply.request.token))
  const object = await openAsset(bucket, { asset, range, confirm })
  using check = range ? undefined : soundness.begin(asset, object, task.owner)
  let isCut = false
  const sent = await sendObject({
    owner: task.owner,
    object,
    bytes: range ? range.end - range.start + 1 : asset.bytes,
    buffers,
    check,
    reply,
    describe: measured,
    onCut(error) {
      isCut = true
      const cause = error instanceof Problem ? (error.cause ?? error) : error
      const about = { request: reply.request.id, ...taskFields(task) }
      cuts.failed({ ...about, key: asset.key, cause }, task.id)
    },
  })
  if (!isCut) cuts.worked()
  return sent
}

/**
 * The client sends its range to the link. The link expires no later than the video, and is cached for half its life.
 */
async function redirect(request: AssetRequest, link: NonNullable<Bucket['link']>, clock: Clock) {
  const { task, asset, kind, reply } = request
  const left = Math.floor(((task.expiresAt ?? 0) - clock.now()) / 1000)
  const expiresInSeconds = Math.max(1, Math.min(600, left))
  const filename = `${task.id}.${kind.ending}`
  const location = await link(asset.key, { expiresInSeconds, type: kind.type, filename })
  return reply.header('cache-control', `private, max-age=${Math.floor(expiresInSeconds / 2)}`).redirect(location, 302)
}

/** Opens the object of an asset. Throws if it is missing or has another length. */
export async function openAsset(
  bucket: Bucket,
  { asset, range, confirm }: Pick<AssetRequest, 'asset' | 'confirm'> & { range?: ByteRange | undefined },
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

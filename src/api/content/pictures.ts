import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Bucket } from '../../buckets/bucket.ts'
import { openBounded } from '../../core/bounded.ts'
import { openFairTurns } from '../../core/fair.ts'
import { Problem } from '../../core/problem.ts'
import type { Asset, Task } from '../../core/task.ts'
import type { Media, Still } from '../../media/media.ts'
import { variants } from '../../wire/videos.ts'
import { openAsset } from './handover.ts'
import type { Check, Soundness } from './soundness.ts'

interface PictureDependencies {
  bucket: Bucket
  media: Media
  soundness: Soundness
  /** The folder for a copy of the video while a picture is made from it. */
  scratch: string
}

export interface Picture {
  task: Task
  video: Asset
  kind: Still
  /** Throws `video_expired` or `video_not_found` if the video no longer exists. */
  confirm(): Promise<unknown>
}

/** Pictures of finished videos. Each is created at the first request and stored beside its video. */
interface Pictures extends AsyncDisposable {
  find(picture: Picture): Promise<Asset>
  /** The next `find` reads the bucket again. */
  forget(asset: Asset): void
}

/**
 * Each takes a copy of a video in the scratch folder and a process that decodes it. One slot is left for other tokens.
 */
const limits = { slots: 2, mostHeld: 1, mostWaiting: 200, what: 'pictures' }
const turnMs = 30_000
/** If there are more, the oldest is dropped and read again when needed. */
const mostKnown = 10_000

export function openPictures(tools: PictureDependencies): Pictures {
  const { bucket } = tools
  const known = openBounded<Asset>(mostKnown)
  const underway = new Map<string, Promise<Asset>>()
  const turns = openFairTurns(limits)
  const closing = new AbortController()

  async function takeTurn({ task }: Picture): Promise<Disposable> {
    const patience = AbortSignal.timeout(turnMs)
    try {
      return await turns.take(task.owner, AbortSignal.any([patience, closing.signal]))
    } catch (thrown) {
      if (!patience.aborted) throw thrown
      throw new Problem('overloaded', 'Too many pictures at once. Try again shortly.', { retryable: true })
    }
  }

  async function obtain(picture: Picture, key: string): Promise<Asset> {
    const stored = await measure(bucket, key)
    if (stored) return stored
    using _turn = await takeTurn(picture)
    closing.signal.throwIfAborted()
    const bytes = await create(picture, tools, closing.signal)
    const asset = await keep(bucket, key, bytes, closing.signal)
    await removeIfGone(picture, bucket)
    return asset
  }

  return {
    async find(picture) {
      const key = keyOf(picture)
      const cached = known.get(key)
      if (cached) return cached
      const shared = underway.get(key) ?? obtain(picture, key).finally(() => underway.delete(key))
      underway.set(key, shared)
      const asset = await shared
      known.set(key, asset)
      return asset
    },
    forget: ({ key }) => known.delete(key),
    async [Symbol.asyncDispose]() {
      closing.abort(new Problem('overloaded', 'The service is stopping.', { retryable: true }))
      await Promise.allSettled(underway.values())
    },
  }
}

/** In the folder that is removed with the task. The digest keeps pictures of other videos apart. */
function keyOf({ task, video, kind }: Picture): string {
  return `${task.id}/${kind}.${video.sha256.slice(0, 16)}.${variants[kind].ending}`
}

/** The store does not know pictures, so the object is read once. Undefined if it does not exist. */
async function measure(bucket: Bucket, key: string): Promise<Asset | undefined> {
  await using object = await bucket.open(key)
  if (!object) return undefined
  const digest = createHash('sha256')
  for await (const chunk of object.stream as AsyncIterable<Buffer>) digest.update(chunk)
  return { key, bytes: object.bytes, sha256: digest.digest('hex') }
}

async function create({ task, video, kind, confirm }: Picture, tools: PictureDependencies, signal: AbortSignal) {
  const { bucket, media, soundness, scratch } = tools
  // Unique, because the listener for operators may create the same picture at the same time.
  const file = join(scratch, `${randomUUID()}.mp4`)
  try {
    await mkdir(scratch, { recursive: true })
    const object = await openAsset(bucket, { asset: video, confirm })
    using check = soundness.begin(video, object, task.owner)
    await pipeline(object.stream, checkedBy(check), createWriteStream(file), { signal })
    return await media.still(file, kind, signal)
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'unsupported_output') throw error
    // The child process died or hung. That may be the machine's fault and says nothing about the video.
    if (error.retryable)
      throw new Problem('overloaded', `The ${kind} could not be created now. Try again.`, {
        retryable: true,
        cause: error,
      })
    const message = `The ${kind} of this video could not be created. The video itself can be downloaded.`
    throw new Problem('internal', message, { cause: error })
  } finally {
    await rm(file, { force: true })
  }
}

function checkedBy(check: Check | undefined) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      await check?.add(chunk)
      yield chunk
    }
  }
}

/** Another process may have stored its own bytes first. The stored ones count. */
async function keep(bucket: Bucket, key: string, bytes: Uint8Array, signal: AbortSignal): Promise<Asset> {
  const put = () => bucket.put(key, [bytes], signal)
  try {
    return await put()
  } catch {
    signal.throwIfAborted()
    // Two puts at the same moment may both fail, and then there is no object yet.
    return (await measure(bucket, key)) ?? (await put())
  }
}

/** A video that was removed while its picture was created left the picture behind. */
async function removeIfGone({ task, confirm }: Picture, bucket: Bucket): Promise<void> {
  try {
    await confirm()
  } catch (error) {
    const { code } = Problem.from(error)
    if (code === 'video_expired' || code === 'video_not_found') await bucket.removeFolder(task.id)
    throw error
  }
}

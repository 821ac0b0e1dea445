import { createWriteStream } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Bucket } from '../buckets/bucket.ts'
import { describeDifferences } from '../core/catalog.ts'
import { Problem } from '../core/problem.ts'
import type { Asset, Task, VideoFacts } from '../core/task.ts'
import { expiryOf, lostAfterMs, nextFetch } from '../core/timing.ts'
import { accountOf, attemptOf, callOf, type Decision, type Worker } from './worker.ts'

/** Downloads a finished video, decodes it from the first to the last frame, and puts it into our bucket. */
export const collect: Worker = {
  name: 'collect',
  states: ['storing'],
  limit: 8,
  async run(task, tools, action) {
    const { signal } = action
    const { clock, bucket, media, catalog, scratch, retentionMs, maxVideoBytes } = tools
    const account = accountOf(task, tools, await attemptOf(task, action))
    const { provider } = account
    const call = callOf(account, task, tools, signal)
    const file = join(scratch, `${task.id}.${task.fence}.mp4`)
    try {
      await mkdir(scratch, { recursive: true })
      await spool(await provider.download(task.output, call), { file, maxBytes: maxVideoBytes }, signal)
      const { size, seconds, frameRate, codec } = await media.verify(file, task.owner, signal)
      // The fence is part of the key, so that a slow run that lost its lease can't replace these bytes.
      const video = await store(bucket, `${task.id}/video.${task.fence}.mp4`, file, signal)
      const videoFacts: VideoFacts = { ...size, duration: seconds, frameRate, codec, bytes: video.bytes }
      const differences = describeDifferences(task, videoFacts, catalog.entries.get(task.card)?.card)
      // Warnings about the request stay.
      const warnings = [...task.warnings, ...differences]
      const completedAt = clock.now()
      const expiresAt = expiryOf(completedAt, retentionMs)
      const times = { completedAt, expiresAt, dueAt: expiresAt, missingAt: null }
      return {
        change: { state: 'completed', video, videoFacts, warnings, output: null, ...times },
        ...(differences.length > 0 && { note: ['warning', differences.join(' ')] }),
        afterwards: async () => provider.forget?.(task.operation, call),
      }
    } catch (error) {
      if (error instanceof Problem && isUseless(error)) return pollAgain(task, error, clock.now())
      throw error
    } finally {
      await rm(file, { force: true })
    }
  },
}

/** The host responded, but not with a usable video. */
function isUseless({ code }: Problem): boolean {
  return code === 'output_unavailable' || code === 'unsupported_output'
}

/**
 * Links expire, and caches may serve half a file: for `lostAfterMs` the provider is polled for a fresh link. Time counts
 * here, not tries: tries also count broken connections, and the video may have been paid for.
 */
function pollAgain({ missingAt, tries }: Task, { code, message, cause }: Problem, now: number): Decision {
  const since = missingAt ?? now
  if (now >= since + lostAfterMs) throw new Problem(code, message, { cause })
  return {
    // The output stays: by it, the next poll knows that the result was missing, and not the job.
    change: { state: 'running', dueAt: now + nextFetch(now - since), missingAt: since, tries: tries + 1 },
    note: ['result unusable: requesting a new link', { code, message, ...whyOf(cause) }],
  }
}

/** For the operator: the host that is not allowed. */
function whyOf(cause: unknown): { why?: string } {
  const detail = cause instanceof Error && cause.name === 'UrlRefusal' ? cause.cause : undefined
  return typeof detail === 'string' ? { why: `${detail}; to allow it, add it to outbound.allow in filmgate.yaml` } : {}
}

/** Closes the file even if the bucket failed before it read a byte. `await using` would hide the error of the bucket. */
async function store(bucket: Bucket, key: string, file: string, signal: AbortSignal): Promise<Asset> {
  // Opened first: a stream that fails to open its file before it has a listener ends the whole process.
  const source = (await open(file)).createReadStream()
  try {
    return await bucket.put(key, source, signal)
  } finally {
    source.destroy()
  }
}

async function spool(
  response: Response,
  { file, maxBytes }: { file: string; maxBytes: number },
  signal: AbortSignal,
): Promise<void> {
  const announced = response.headers.get('content-length')
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxBytes) done(new Problem('unsupported_output', 'The generated video is too large to store.'))
      else done(null, chunk)
    },
  })
  const body = response.body ? Readable.fromWeb(response.body) : Readable.from([])
  await pipeline(body, count, createWriteStream(file), { signal })
  if (announced !== null && Number(announced) !== bytes) {
    throw new Problem('output_unavailable', 'The generated video could not be downloaded completely.', {
      retryable: true,
    })
  }
}

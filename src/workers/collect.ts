import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Bucket } from '../buckets/bucket.ts'
import { Problem } from '../core/problem.ts'
import type { Asset } from '../core/task.ts'
import { expiryOf } from '../core/timing.ts'
import type { Worker } from './worker.ts'

const maxVideoBytes = 4 * 2 ** 30

/** Copies a finished video into our bucket, once it has been shown to play from first to last frame. */
export const collect: Worker = {
  name: 'collect',
  states: ['storing'],
  limit: 4,
  async run(task, { clock, bucket, media, providers, scratch, retentionMs }, signal) {
    const provider = providers.get(task.provider)?.provider
    if (!provider)
      throw new Problem('provider_unavailable', 'The model is not available right now.', { retryable: true })
    const call = { signal, attemptId: task.id }
    const file = join(scratch, `${task.id}.${task.fence}.mp4`)
    try {
      await mkdir(scratch, { recursive: true })
      await spool(await provider.download(task.output, call), file, signal)
      await media.verify(file, signal)
      // The fence makes the key ours alone: a slow holder of a lost lease can't put other bytes under it.
      const video = await store(bucket, `${task.id}/video.${task.fence}.mp4`, file, signal)
      const completedAt = clock.now()
      const expiresAt = expiryOf(completedAt, retentionMs)
      return {
        change: { state: 'completed', video, completedAt, expiresAt, dueAt: expiresAt, output: null },
        afterwards: async () => provider.forget?.(task.operation, call),
      }
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'output_unavailable' || task.tries >= 3) throw error
      return { change: { state: 'running', dueAt: clock.now(), output: null, tries: task.tries + 1 } }
    } finally {
      await rm(file, { force: true })
    }
  },
}

/** Closes the file also where the bucket gave up before it read a byte; `await using` would hide the bucket's error. */
async function store(bucket: Bucket, key: string, file: string, signal: AbortSignal): Promise<Asset> {
  const source = createReadStream(file)
  try {
    return await bucket.put(key, source, signal)
  } finally {
    source.destroy()
  }
}

async function spool(response: Response, file: string, signal: AbortSignal): Promise<void> {
  const promised = response.headers.get('content-length')
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxVideoBytes) done(new Problem('unsupported_output', 'The generated video is too large to store.'))
      else done(null, chunk)
    },
  })
  const body = response.body ? Readable.fromWeb(response.body) : Readable.from([])
  await pipeline(body, count, createWriteStream(file), { signal })
  if (promised !== null && Number(promised) !== bytes) {
    throw new Problem('output_unavailable', 'The generated video could not be fetched whole.', { retryable: true })
  }
}

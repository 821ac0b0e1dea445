import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Bucket } from '../buckets/bucket.ts'
import { describeDifferences } from '../core/catalog.ts'
import { codeOf, Problem } from '../core/problem.ts'
import type { Asset, Task, VideoFacts } from '../core/task.ts'
import { resultUnusable } from '../core/timeline.ts'
import { expiryOf, lostAfterMs, nextFetch } from '../core/timing.ts'
import { defaultMode, resultLimits } from '../core/verification.ts'
import { accountOf, callOf, type Decision, keyOf, type Worker } from './worker.ts'

/** Downloads a finished video, verifies it, and puts it into our bucket. */
export const collect: Worker = {
  name: 'collect',
  states: ['storing'],
  limit: 32,
  async run(task, tools, action) {
    const { signal, span } = action
    const { clock, bucket, media, catalog, scratch, retentionMs, maxVideoBytes } = tools
    const account = accountOf(task, tools, await keyOf(task, tools, action))
    const { provider } = account
    const call = callOf(account, task, tools, signal)
    const file = join(scratch, `${task.id}.${task.fence}.mp4`)
    let isMoved = false
    try {
      const begunAt = clock.now()
      const download = () => provider.download(task.output, call)
      const { response, ...spooled } = await span.within('download', () =>
        spool(download, { file, maxBytes: maxVideoBytes }, signal),
      )
      tools.meter?.downloaded(account.name, spooled.bytes, clock.now() - begunAt)
      const { card } = catalog.entries.get(task.card) ?? {}
      const isWhole = response.headers.has('content-length')
      const arrival = { isLocal: account.upstream === null, url: response.url, isWhole }
      const limits = resultLimits(card)
      const how = { mode: account.verify ?? defaultMode(arrival), ...(limits && { limits }) }
      const { size, seconds, frameRate, codec, looks } = await span.within('verify', () =>
        media.verify(file, task.owner, signal, how),
      )
      // The fence is part of the key, so that a slow run that lost its lease can't replace these bytes.
      const video = { key: `${task.id}/video.${task.fence}.mp4`, ...spooled }
      isMoved = await span.within('store', () => store(bucket, video, file, signal))
      const videoFacts: VideoFacts = { ...size, duration: seconds, frameRate, codec, bytes: video.bytes }
      const differences = [...describeDifferences(task, videoFacts, card), ...(looks ? [appearances[looks]] : [])]
      // Warnings about the request stay.
      const warnings = [...task.warnings, ...differences]
      const completedAt = clock.now()
      const expiresAt = expiryOf(completedAt, retentionMs)
      const times = { completedAt, expiresAt, dueAt: expiresAt, missingAt: null }
      tools.keyVersions.delete(task.attempt ?? '')
      return {
        change: { state: 'completed', video, videoFacts, warnings, output: null, ...times },
        ...(differences.length > 0 && { note: ['warning', differences.join(' ')] }),
        afterwards: async () => provider.forget?.(task.operation, call),
      }
    } catch (error) {
      if (error instanceof Problem && isUseless(error)) return pollAgain(task, error, clock.now())
      throw error
    } finally {
      if (!isMoved) await rm(file, { force: true })
    }
  },
}

/** The request may have asked for that, so the task does not fail. */
const appearances = {
  black: 'The video looks black in every frame that was checked.',
  frozen: 'The video looks frozen: every frame that was checked shows the same picture.',
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
    note: [resultUnusable, { code, message, ...whyOf(cause) }],
  }
}

/** For the operator: the host that is not allowed. */
function whyOf(cause: unknown): { why?: string } {
  const detail = cause instanceof Error && cause.name === 'UrlRefusal' ? cause.cause : undefined
  return typeof detail === 'string' ? { why: `${detail}; to allow it, add it to outbound.allow in filmgate.yaml` } : {}
}

/** Returns whether the file itself is in the bucket now. */
async function store(bucket: Bucket, video: Asset, file: string, signal: AbortSignal): Promise<boolean> {
  if (await bucket.adopt?.(file, video)) return true
  await using opened = await open(file)
  const { bytes, sha256 } = await bucket.put(video.key, blocksOfFile(opened, video.bytes), signal)
  if (bytes !== video.bytes || sha256 !== video.sha256)
    throw Problem.ofStorage(new Error(`${file} has other bytes than were written to it`))
  return false
}

/** Each block is the same memory, which a stream would allocate for each. */
async function* blocksOfFile(file: FileHandle, bytes: number): AsyncGenerator<Uint8Array, undefined> {
  const block = Buffer.allocUnsafe(Math.max(blockBytes.least, Math.min(blockBytes.most, bytes)))
  for (;;) {
    const { bytesRead } = await file.read(block)
    if (bytesRead === 0) return
    yield block.subarray(0, bytesRead)
  }
}

/**
 * Writes the result into a file, as it arrives. Throws a Problem if it is not as long as announced. The file is opened first:
 * a response that is never read would keep its connection.
 */
async function spool(
  download: () => Promise<Response>,
  { file, maxBytes }: { file: string; maxBytes: number },
  signal: AbortSignal,
): Promise<Omit<Asset, 'key'> & { response: Response }> {
  await using opened = await openNew(file)
  const response = await download()
  const announced = response.headers.get('content-length')
  const digest = createHash('sha256')
  let bytes = 0
  for await (const block of blocksOf(response.body ?? [], announced)) {
    signal.throwIfAborted()
    bytes += block.length
    if (bytes > maxBytes) throw new Problem('unsupported_output', 'The generated video is too large to store.')
    digest.update(block)
    await opened.writeFile(block)
  }
  if (announced !== null && Number(announced) !== bytes) {
    throw new Problem('output_unavailable', 'The generated video could not be downloaded completely.', {
      retryable: true,
    })
  }
  return { response, bytes, sha256: digest.digest('hex') }
}

/** The folder may be missing: it need not survive the process, so an operator may have removed it. */
async function openNew(file: string): Promise<FileHandle> {
  return open(file, 'w').catch(async (error) => {
    if (codeOf(error) !== 'ENOENT') throw error
    await mkdir(dirname(file), { recursive: true })
    return open(file, 'w')
  })
}

/** A write of this size costs little more than one of a small chunk, as each goes through the thread pool. */
const blockBytes = { most: 256 * 1024, least: 16 * 1024 }

/** Each block is the same memory. Chunks are copied: a few bytes may keep a large buffer of the connection alive. */
async function* blocksOf(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  announced: string | null,
): AsyncGenerator<Uint8Array, undefined> {
  // Up to its announced length, so that many small results do not take much memory.
  const needed = Number(announced ?? blockBytes.most) || 0
  const block = Buffer.allocUnsafe(Math.max(blockBytes.least, Math.min(blockBytes.most, needed)))
  let filled = 0
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; ) {
      const copied = Math.min(chunk.length - at, block.length - filled)
      block.set(chunk.subarray(at, at + copied), filled)
      at += copied
      filled += copied
      if (filled < block.length) continue
      yield block
      filled = 0
    }
  if (filled > 0) yield block.subarray(0, filled)
}

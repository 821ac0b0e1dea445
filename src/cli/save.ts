import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../core/problem.ts'
import type { Variant } from '../wire/videos.ts'
import type { Client } from './client.ts'
import { diskFault, Failure, NetworkFailure } from './failure.ts'
import type { Watch } from './follow.ts'
import { patiently } from './patience.ts'
import { networkFailure } from './response.ts'
import { faultOfFile, followed } from './target.ts'
import type { Terminal } from './terminal.ts'

export interface Saved {
  path: string
  bytes: number
}

export interface SaveWatch extends Omit<Watch, 'onTask'> {
  /** The prefix of partial files, so that each command removes only its own. */
  parts?: string
  /** The default is the video itself. */
  variant?: Variant
  onBytes(done: number, total: number | null): void
}

/** Downloads a finished video. The file appears under its name when it is complete on the disk. */
export async function save(client: Client, id: string, path: string, watch: SaveWatch): Promise<Saved> {
  return patiently(() => saveOnce(client, id, path, watch), watch)
}

/** The partial files of a batch. Other commands may download into the same folder. */
export const batchParts = 'filmgate-batch'

async function saveOnce(client: Client, id: string, path: string, watch: SaveWatch): Promise<Saved> {
  const { variant = 'video' } = watch
  const fault = await faultOfFile(path)
  if (fault !== null) throw new Failure(`${path} could not be written: ${fault}`)
  const destination = await followed(path)
  // Not derived from the name of the video, which may have the maximum length.
  const part = join(dirname(destination), `.${watch.parts ?? 'filmgate'}-${randomBytes(4).toString('hex')}.part`)
  const response = await client.content(id, variant, watch.signal)
  const total = lengthOf(response)
  let file: FileHandle | undefined
  try {
    if (/^(application\/json|text\/)/.test(response.headers.get('content-type') ?? ''))
      throw new Failure('the server sent text instead of a video')
    if (variant !== 'video' && !response.headers.get('content-type')?.startsWith('image/'))
      throw new Failure(`the server did not send an image; it may not support --variant ${variant}`)
    file = await open(part, 'wx')
    const bytes = await copy(response, file, { ...watch, total, baseUrl: client.baseUrl })
    await file.sync()
    await file.close()
    await rename(part, destination)
    return { path, bytes }
  } catch (error) {
    await response.body?.cancel().catch(() => {})
    await file?.close().catch(() => {})
    await rm(part, { force: true }).catch(() => {})
    throw explain(error, path)
  }
}

interface Copying extends SaveWatch {
  total: number | null
  baseUrl: string
}

async function copy(response: Response, file: FileHandle, { total, baseUrl, ...watch }: Copying): Promise<number> {
  const reader = response.body?.getReader()
  let done = 0
  for (;;) {
    const chunk = await nextChunk(reader, baseUrl, watch)
    if (!chunk) break
    await file.writeFile(chunk)
    done += chunk.length
    watch.onBytes(done, total)
  }
  if (done === 0) throw new Failure('the server sent an empty video')
  if (total !== null && done !== total)
    throw new NetworkFailure(`the download ended after ${done} of ${total} bytes`, { sent: true })
  return done
}

/** A connection without data for a minute counts as broken. */
const idleMs = 60_000

type Reader = ReadableStreamDefaultReader<Uint8Array>

async function nextChunk(
  reader: Reader | undefined,
  baseUrl: string,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
) {
  const arrived = new AbortController()
  const idle = terminal.sleep(idleMs, AbortSignal.any([signal, arrived.signal])).then(() => 'idle' as const)
  try {
    const result = await Promise.race([reader?.read(), idle])
    signal.throwIfAborted()
    if (result === 'idle') throw networkFailure(new DOMException('', 'TimeoutError'), baseUrl)
    return result?.value
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof Failure ? error : networkFailure(error, baseUrl)
  } finally {
    arrived.abort()
  }
}

/** Null if the header is missing, or counts compressed bytes. */
function lengthOf({ headers }: Response): number | null {
  const text = headers.get('content-length')
  return text === null || headers.has('content-encoding') ? null : Number(text)
}

function explain(error: unknown, path: string): unknown {
  const code = codeOf(error)
  if (error instanceof Failure || code === undefined) return error
  const reason = diskFault(error) ?? (code === 'EACCES' ? 'permission denied' : code)
  return new Failure(`${path} could not be written: ${reason}`, { cause: error })
}

/** Removes the partial files of killed batches. Call it only with the lock of the folder. */
export async function sweepParts(folder: string): Promise<void> {
  const ours = new RegExp(`^\\.${batchParts}-[0-9a-f]{8}\\.part$`)
  for (const name of await readdir(folder)) if (ours.test(name)) await rm(join(folder, name), { force: true })
}

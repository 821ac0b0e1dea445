import { randomBytes } from 'node:crypto'
import { access, constants, type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Client } from './client.ts'
import { Failure, NetworkFailure, UsageFailure } from './failure.ts'
import type { Watch } from './follow.ts'
import { patiently } from './patience.ts'
import { networkFailure } from './refusal.ts'
import type { Terminal } from './terminal.ts'

/** Where a film goes: a folder, and its name there if one was asked for. */
export interface Target {
  folder: string
  name: string | null
}

export interface Saved {
  path: string
  bytes: number
}

interface SaveWatch extends Omit<Watch, 'onTask'> {
  onBytes(done: number, total: number | null): void
}

/** Reads -o, before anything is asked of a server: a film that can't be written should not be made. */
export async function findTarget(output: string | undefined): Promise<Target> {
  if (output === '-') throw new UsageFailure('a film is not written to stdout; give -o a file or a folder')
  const given = output ?? '.'
  const isFolder = await stat(given).then(
    (found) => found.isDirectory(),
    () => false,
  )
  const target = isFolder
    ? { folder: given, name: null }
    : { folder: dirname(given), name: given.endsWith('/') ? null : basename(given) }
  const folder = given.endsWith('/') ? given : target.folder
  try {
    await access(folder, constants.W_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new UsageFailure(
      code === 'ENOENT' ? `there is no folder ${folder}; make it first` : `the folder ${folder} can't be written to`,
    )
  }
  return { ...target, folder }
}

/** Fetches a finished film. Its name appears once the last byte is on the disk, and not before. */
export async function save(client: Client, id: string, path: string, watch: SaveWatch): Promise<Saved> {
  return patiently(() => saveOnce(client, id, path, watch), watch)
}

const partName = /^\..+\.[0-9a-f]{8}\.part$/

async function saveOnce(client: Client, id: string, path: string, watch: SaveWatch): Promise<Saved> {
  const part = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}.part`)
  const answer = await client.content(id, watch.signal)
  const total = lengthOf(answer)
  let file: FileHandle | undefined
  try {
    if (/^(application\/json|text\/)/.test(answer.headers.get('content-type') ?? ''))
      throw new Failure('the server sent text instead of a film')
    file = await open(part, 'wx')
    const bytes = await copy(answer, file, { ...watch, total, baseUrl: client.baseUrl })
    await file.sync()
    await file.close()
    await rename(part, path)
    return { path, bytes }
  } catch (error) {
    await answer.body?.cancel().catch(() => {})
    await file?.close().catch(() => {})
    await rm(part, { force: true }).catch(() => {})
    throw explain(error, path)
  }
}

interface Copying extends SaveWatch {
  total: number | null
  baseUrl: string
}

async function copy(answer: Response, file: FileHandle, { total, baseUrl, ...watch }: Copying): Promise<number> {
  const reader = answer.body?.getReader()
  let done = 0
  for (;;) {
    const chunk = await nextChunk(reader, baseUrl, watch)
    if (!chunk) break
    await file.writeFile(chunk)
    done += chunk.length
    watch.onBytes(done, total)
  }
  if (done === 0) throw new Failure('the server sent an empty film')
  if (total !== null && done !== total)
    throw new NetworkFailure(`the film was cut short at ${done} of ${total} bytes`, { sent: true })
  return done
}

/** A connection on which nothing moves for a minute is as good as broken. */
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
    if (result === 'idle') throw networkFailure(new Error(), { baseUrl, timedOut: true })
    return result?.value
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof Failure ? error : networkFailure(error, { baseUrl, timedOut: false })
  } finally {
    arrived.abort()
  }
}

/** Null where it is not said, or where what arrives is not what was counted. */
function lengthOf({ headers }: Response): number | null {
  const text = headers.get('content-length')
  return text === null || headers.has('content-encoding') ? null : Number(text)
}

function explain(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof Failure || typeof code !== 'string') return error
  const reasons: Record<string, string> = { ENOSPC: 'the disk is full', EACCES: 'it may not be written' }
  return new Failure(`${path} could not be written: ${reasons[code] ?? code}`, { cause: error })
}

/** Removes what killed downloads left behind. Only for a folder that no other process writes to. */
export async function sweepParts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (partName.test(name)) await rm(join(folder, name), { force: true })
}

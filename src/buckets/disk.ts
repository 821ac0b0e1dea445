import { createHash, hash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { codeOf, Problem } from '../core/problem.ts'
import type { ByteRange } from '../core/range.ts'
import { type Bucket, type OpenObject, splitKey } from './bucket.ts'

interface DiskOptions {
  /** The bucket's folder, created if it is missing. No other process may have it open. */
  folder: string
}

/** If this little does not fit, no video does. */
const probeBytes = 64 * 1024

/** Objects as files: `<two hex>/<folder>/<name>`, so that no directory gets too many entries. */
export async function openDisk({ folder: root }: DiskOptions): Promise<Bucket> {
  const incoming = join(root, 'incoming')
  // Unfinished files of a dead process were never readable.
  await rm(incoming, { recursive: true, force: true })
    .then(() => mkdir(incoming, { recursive: true }))
    .catch(ignoreStorageProblem)
  const move = openMoves(root)
  let count = 0

  return {
    async put(key, body, signal) {
      const { path } = pathsOf(root, key)
      const temporary = join(incoming, String(count++))
      try {
        // Each time, because an operator may have removed it.
        await mkdir(incoming, { recursive: true })
        const facts = await writeDurably(temporary, body, signal)
        await move(temporary, key)
        return { key, ...facts }
      } catch (error) {
        for (const file of [temporary, path]) await rm(file, { force: true })
        throw error
      }
    },
    async adopt(file, { key }) {
      const { path } = pathsOf(root, key)
      try {
        await sync(file)
        await move(file, key)
        return true
      } catch (error) {
        if (codeOf(error) === 'EXDEV') return false
        await rm(path, { force: true })
        throw error
      }
    },
    async open(key, range) {
      let file: FileHandle
      try {
        file = await open(pathsOf(root, key).path, constants.O_RDONLY | constants.O_NOFOLLOW)
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined
        throw error
      }
      const facts = await file.stat().catch(async (error) => {
        await file.close()
        throw error
      })
      return openFile(file, facts, range)
    },
    async removeFolder(name) {
      await rm(pathsOf(root, `${name}/x`).folder, { recursive: true, force: true })
    },
    async checkWritable() {
      const temporary = join(incoming, String(count++))
      try {
        await mkdir(incoming, { recursive: true })
        await writeFile(temporary, Buffer.alloc(probeBytes))
      } finally {
        await rm(temporary, { force: true })
      }
    },
    path: (key) => relative(root, pathsOf(root, key).path),
  }
}

function openFile(file: FileHandle, facts: Stats, range: ByteRange | undefined): OpenObject {
  const { size: bytes, ino, mtimeMs, ctimeMs } = facts
  let stream: Readable | undefined
  const { start, end } = range ?? { start: 0, end: bytes - 1 }
  let position = start
  return {
    bytes,
    // A file that is restored may have its old time of change. No program can set `ctime`.
    version: `${ino} ${bytes} ${mtimeMs} ${ctimeMs}`,
    get stream() {
      // Large reads, because each one goes through the thread pool.
      stream ??= file.createReadStream({ ...range, highWaterMark: 512 * 1024 })
      return stream
    },
    async read(into) {
      const { bytesRead } = await file.read(into, 0, Math.min(into.length, end + 1 - position), position)
      position += bytesRead
      return bytesRead
    },
    async [Symbol.asyncDispose]() {
      stream?.destroy()
      // Waits for a read that is under way.
      await file.close()
    },
  }
}

/** A disk that is full or read-only can still be read. */
function ignoreStorageProblem(error: unknown): void {
  if (Problem.from(error).code !== 'storage_unavailable') throw error
}

function pathsOf(root: string, key: string) {
  const { folder: owner, name } = splitKey(key)
  const shard = join(root, hash('sha256', owner).slice(0, 2))
  const folder = join(shard, owner)
  return { shard, folder, path: join(folder, name) }
}

async function writeDurably(path: string, body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, signal: AbortSignal) {
  const digest = createHash('sha256')
  let bytes = 0
  await using file = await open(path, 'wx')
  for await (const chunk of body) {
    signal.throwIfAborted()
    digest.update(chunk)
    bytes += chunk.length
    await file.writeFile(chunk)
  }
  await file.sync()
  return { bytes, sha256: digest.digest('hex') }
}

/** Moves a synced file to its key, durably. */
function openMoves(root: string) {
  /** Their entries in the root are on disk. */
  const durable = new Set<string>()
  return async (file: string, key: string): Promise<void> => {
    const { shard, folder, path } = pathsOf(root, key)
    await create(folder).catch(async (error) => {
      // It is the first one in its shard, or an operator has removed the others.
      if (codeOf(error) !== 'ENOENT') throw error
      await create(root)
      if (await create(shard)) durable.delete(shard)
      await create(folder)
    })
    await rename(file, path)
    // A rename is durable once its directory is synced, a new directory once its parents are.
    const parents = durable.has(shard) ? [folder, shard] : [folder, shard, root]
    await Promise.all(parents.map(sync))
    durable.add(shard)
  }
}

/** False if it exists. Not `recursive`, which never ends on a read-only disk. */
function create(folder: string): Promise<boolean> {
  return mkdir(folder).then(
    () => true,
    (error) => {
      if (codeOf(error) !== 'EEXIST') throw error
      return false
    },
  )
}

/** A file or a directory. */
async function sync(path: string): Promise<void> {
  await using opened = await open(path, constants.O_RDONLY)
  await opened.sync()
}

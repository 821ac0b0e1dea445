import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { codeOf, Problem } from '../core/problem.ts'
import { type Bucket, splitKey } from './bucket.ts'

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
  let count = 0

  return {
    async put(key, body, signal) {
      const { shard, folder, path } = pathsOf(root, key)
      const temporary = join(incoming, String(count++))
      try {
        // Each time, because an operator may have removed it.
        await mkdir(incoming, { recursive: true })
        const facts = await writeDurably(temporary, body, signal)
        await mkdir(folder, { recursive: true })
        await rename(temporary, path)
        // A rename is durable once its directory is synced, a new directory once its parents are.
        for (const directory of [folder, shard, root]) await syncDirectory(directory)
        return { key, ...facts }
      } catch (error) {
        for (const file of [temporary, path]) await rm(file, { force: true })
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
      const { size } = await file.stat().catch(async (error) => {
        await file.close()
        throw error
      })
      // Large reads, because each one goes through the thread pool.
      const stream = file.createReadStream({ ...range, highWaterMark: 512 * 1024 })
      return {
        bytes: size,
        stream,
        async [Symbol.asyncDispose]() {
          stream.destroy()
          await file.close()
        },
      }
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

/** A disk that is full or read-only can still be read. */
function ignoreStorageProblem(error: unknown): void {
  if (Problem.from(error).code !== 'storage_unavailable') throw error
}

function pathsOf(root: string, key: string) {
  const { folder: owner, name } = splitKey(key)
  const shard = join(root, createHash('sha256').update(owner).digest('hex').slice(0, 2))
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

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, constants.O_RDONLY)
  await directory.sync()
}

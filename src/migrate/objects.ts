import { createHash } from 'node:crypto'
import type { Bucket, OpenObject } from '../buckets/bucket.ts'
import { splitKey } from '../buckets/index.ts'
import { codeOf, Problem } from '../core/problem.ts'
import type { Row } from '../core/row.ts'
import type { Asset } from '../core/task.ts'
import type { MoveTools } from '../migrate.ts'
import type { Transfer } from '../stores/transfer/transfer.ts'
import { assetsOf, pagesOf, type TaskAsset, withRetries } from './rows.ts'

/** An object that could not be moved. */
export interface Fault {
  task: string
  key: string
  what: string
  /** The operator can fix it and run the move again. False if the source itself lacks the object. */
  blocks: boolean
}

export interface Moved {
  copied: number
  /** Already in the target, with the right bytes. */
  there: number
  bytes: number
  faults: Fault[]
}

interface Buckets {
  source: Bucket
  target: Bucket
}

interface Item extends TaskAsset {
  isPast: boolean
}

const atOnce = 4

/** Moves every object that a task names, and compares it with the checksum in its row. A fault does not stop the rest. */
export async function moveObjects(source: Transfer, buckets: Buckets, total: number, tools: MoveTools): Promise<Moved> {
  const moved: Moved = { copied: 0, there: 0, bytes: 0, faults: [] }
  let done = 0
  const onBytes = (bytes: number) => {
    done += bytes
    tools.report({ phase: 'videos', done, total })
  }
  onBytes(0)
  const items = itemsOf(source, moved.faults, tools)
  // A failure of one ends all of them.
  const failed = new AbortController()
  const signal = AbortSignal.any([tools.signal, failed.signal])
  const work = async () => {
    for await (const item of items) {
      signal.throwIfAborted()
      await moveOne(item, buckets, moved, { ...tools, signal, onBytes })
    }
  }
  const works = Array.from({ length: atOnce }, () =>
    work().catch((error) => {
      failed.abort(error)
      throw error
    }),
  )
  await Promise.allSettled(works)
  await Promise.all(works)
  moved.faults.sort((a, b) => (a.key < b.key ? -1 : 1))
  return moved
}

/** Shared by all workers: each gets the next item. */
function itemsOf(source: Transfer, faults: Fault[], tools: MoveTools): AsyncIterable<Item> {
  const found = findItems(source, faults, tools)
  // Without `return`: a worker that stops must not end the iterator for the others.
  return { [Symbol.asyncIterator]: () => ({ next: () => found.next() }) }
}

async function* findItems(source: Transfer, faults: Fault[], tools: MoveTools): AsyncGenerator<Item, void> {
  for await (const page of pagesOf(source, 'tasks', null, tools)) {
    for (const row of page) {
      const { assets, broken } = assetsOf(row)
      for (const item of assets) yield { ...item, isPast: isPast(row, tools.now) }
      for (const column of broken)
        faults.push({ task: String(row.id), key: column, what: "its row can't be read", blocks: false })
    }
  }
}

/** Clients can't read these objects any more, and a process that died may have removed them. */
function isPast({ deleted_at: deletedAt, state, expires_at: expiresAt }: Row, now: number): boolean {
  return deletedAt !== null || state === 'failed' || (typeof expiresAt === 'number' && expiresAt <= now)
}

interface ItemTools extends MoveTools {
  onBytes: (bytes: number) => void
}

async function moveOne({ task, asset, isPast }: Item, buckets: Buckets, moved: Moved, tools: ItemTools): Promise<void> {
  const { onBytes } = tools
  let counted = 0
  const count = (bytes: number) => {
    counted += bytes
    onBytes(bytes)
  }
  const again = () => count(-counted)
  try {
    const outcome = await withRetries(() => {
      again()
      return copy(asset, buckets, tools.signal, count)
    }, tools)
    moved[outcome] += 1
    moved.bytes += asset.bytes
  } catch (error) {
    if (!(error instanceof Unmovable)) throw error
    const { message, blocks } = error
    if (!isPast || blocks) moved.faults.push({ task, key: asset.key, what: message, blocks })
  }
  // Counted as done, also if it failed.
  count(asset.bytes - counted)
}

class Unmovable extends Error {
  readonly blocks: boolean
  constructor(message: string, { blocks = false } = {}) {
    super(message)
    this.blocks = blocks
  }
}

async function copy(
  asset: Asset,
  { source, target }: Buckets,
  signal: AbortSignal,
  count: (bytes: number) => void,
): Promise<'copied' | 'there'> {
  refuseOdd(asset.key)
  const there = await target.open(asset.key)
  if (there) {
    if (await hasBytes(there, asset, signal, count)) return 'there'
    throw new Unmovable('the target has other bytes under its key', { blocks: true })
  }
  const object = await source.open(asset.key)
  if (!object) throw new Unmovable('it is missing in the source')
  try {
    if (object.bytes !== asset.bytes)
      throw new Unmovable(`it is broken in the source: ${object.bytes} bytes instead of ${asset.bytes}`)
    await target.put(asset.key, checked(object, asset, count), signal)
    return 'copied'
  } finally {
    await object[Symbol.asyncDispose]()
  }
}

/** Buckets refuse such a key, so no object has it. */
function refuseOdd(key: string): void {
  try {
    splitKey(key)
  } catch {
    throw new Unmovable('its row has an invalid key for it')
  }
}

async function hasBytes(
  object: OpenObject,
  asset: Asset,
  signal: AbortSignal,
  count: (bytes: number) => void,
): Promise<boolean> {
  await using whole = object
  if (whole.bytes !== asset.bytes) return false
  const digest = createHash('sha256')
  for await (const chunk of whole.stream as AsyncIterable<Buffer>) {
    signal.throwIfAborted()
    digest.update(chunk)
    count(chunk.length)
  }
  return digest.digest('hex') === asset.sha256
}

/** The same bytes. Throws before the end if they differ from the checksum, so that nothing is stored. */
async function* checked({ stream }: OpenObject, { sha256 }: Asset, count: (bytes: number) => void) {
  const digest = createHash('sha256')
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      digest.update(chunk)
      count(chunk.length)
      yield chunk
    }
  } catch (error) {
    // A bucket may recover. A disk that can't read its own file does not.
    throw error instanceof Problem || codeOf(error) !== 'EIO' ? error : new Unmovable('it is broken in the source: EIO')
  }
  if (digest.digest('hex') !== sha256)
    throw new Unmovable('it is broken in the source: its bytes do not match its checksum')
}

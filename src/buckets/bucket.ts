import type { Readable } from 'node:stream'
import type { ByteRange } from '../core/range.ts'
import type { Asset } from '../core/task.ts'

/**
 * Stores bytes. A key is `<folder>/<name>`, both of `a-z 0-9 _ . -`, starting with a letter or digit. A failed write (disk
 * full or missing) throws an error that `Problem.from` maps to `storage_unavailable`, and leaves nothing to read.
 */
export interface Bucket {
  /** Stores all bytes durably, or nothing: a key is readable only once its object is complete. */
  put(key: string, body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Asset>
  /**
   * The same for a whole file with these facts: moves it. False if the file is on another file system; then nothing has
   * changed. Only for buckets with a folder.
   */
  adopt?(file: string, asset: Asset): Promise<boolean>
  /** Opens an object, or a part of it; undefined if it does not exist. A removal does not affect open readers. */
  open(key: string, range?: ByteRange): Promise<OpenObject | undefined>
  /** Removes every object of the folder. A missing folder is not an error. */
  removeFolder(folder: string): Promise<void>
  /** Throws like `put` if nothing can be stored now: writes a few bytes under a name that no task has. */
  checkWritable(): Promise<void>
  /** A URL that gives anyone the object until it expires. Only for storage that serves HTTP. */
  link?(key: string, options: LinkOptions): Promise<string>
  /** The object's path below the bucket's folder, for a front server that sends it. Only for buckets with a folder. */
  path?(key: string): string
}

export interface OpenObject extends AsyncDisposable {
  /** Of the whole object, even if a part was opened. */
  readonly bytes: number
  /** Another one if the object was replaced or changed, perhaps without this bucket. */
  readonly version: string
  /** Reading it to the end, or destroying it, closes the object. */
  readonly stream: Readable
  /**
   * Instead of the stream: reads on into `into`, which is used until this resolves. At least one byte, or 0 at the end.
   * Rejects if the object is closed meanwhile.
   */
  read(into: Buffer): Promise<number>
}

interface LinkOptions {
  expiresInSeconds: number
  /** The content type of the response. */
  type: string
  /** The file name in a browser. */
  filename?: string
}

/** Throws if the bucket cannot be used now: opens an object that does not exist. */
export async function probe(bucket: Bucket): Promise<void> {
  await (await bucket.open('probe/none'))?.[Symbol.asyncDispose]()
}

export function splitKey(key: string): { folder: string; name: string } {
  const [, folder, name] = /^([a-z0-9][a-z0-9_.-]*)\/([a-z0-9][a-z0-9_.-]*)$/.exec(key) ?? []
  if (!folder || !name) throw new Error(`not a key: ${key}`)
  return { folder, name }
}

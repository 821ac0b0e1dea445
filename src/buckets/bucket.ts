import type { Readable } from 'node:stream'
import type { ByteRange } from '../core/range.ts'
import type { Asset } from '../core/task.ts'

/**
 * Where bytes live. A key is `<folder>/<name>`, both of `a-z 0-9 _ . -`, starting with a letter or digit. What can't be
 * stored now (disk full, gone) throws what `Problem.from` calls `storage_unavailable`, and nothing of it can be read.
 */
export interface Bucket {
  /** Stores all bytes durably, or nothing: a key is readable only once its object is whole. */
  put(key: string, body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Asset>
  /** The object, or a part of it, opened for reading; undefined if there is none. A removal meanwhile cuts no reader. */
  open(key: string, range?: ByteRange): Promise<OpenObject | undefined>
  /** Removes every object of the folder; what is not there is no error. */
  removeFolder(folder: string): Promise<void>
  /** Throws what `put` would throw if nothing can be stored now: where it costs nothing to find out. */
  checkWritable?(): Promise<void>
  /** A URL that gives the object to whoever has it, until it expires: where the storage speaks HTTP itself. */
  link?(key: string, options: LinkOptions): Promise<string>
  /** The object's path below the bucket's folder, for a front server that sends it: where there is such a folder. */
  path?(key: string): string
}

export interface OpenObject extends AsyncDisposable {
  /** Of the whole object, whatever part was opened. */
  readonly bytes: number
  /** Reading it to the end, or destroying it, closes the object. */
  readonly stream: Readable
}

interface LinkOptions {
  expiresInSeconds: number
  /** The content type that it is delivered with. */
  type: string
  /** What a browser saves it as. */
  filename?: string
}

/** Throws if it can't be used now: asks for what is not there. */
export async function probe(bucket: Bucket): Promise<void> {
  await (await bucket.open('probe/none'))?.[Symbol.asyncDispose]()
}

export function splitKey(key: string): { folder: string; name: string } {
  const [, folder, name] = /^([a-z0-9][a-z0-9_.-]*)\/([a-z0-9][a-z0-9_.-]*)$/.exec(key) ?? []
  if (!folder || !name) throw new Error(`not a key: ${key}`)
  return { folder, name }
}

import type { Readable } from 'node:stream'
import type { Asset } from '../core/task.ts'

/**
 * Where bytes live. A key is `<folder>/<name>`, both of `a-z 0-9 _ . -`, starting with a letter or digit. What can't be
 * stored now (disk full, gone) throws what `Problem.from` calls `storage_unavailable`, and nothing of it can be read.
 */
export interface Bucket {
  /** Stores all bytes durably, or nothing: a key is readable only once its object is whole. */
  put(key: string, body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Asset>
  /** The object opened for reading, or undefined if there is none. It stays readable when it is removed meanwhile. */
  open(key: string): Promise<OpenObject | undefined>
  /** Removes every object of the folder; what is not there is no error. */
  removeFolder(folder: string): Promise<void>
}

export interface OpenObject extends AsyncDisposable {
  readonly bytes: number
  /** The bytes from `start` to `end`, both included. Reading to the end, or destroying the stream, closes the object. */
  stream(range?: { start: number; end: number }): Readable
}

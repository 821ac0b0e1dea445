import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface DataFolder extends Disposable {
  readonly path: string
  /** Where the bucket keeps its objects. */
  readonly bucket: string
  /** Where each account keeps what its provider needs, by its name. */
  readonly accounts: string
  /** Where answers of providers are kept that the store could not take. */
  readonly spill: string
  /** The file that says who it is, to others that share its store. */
  readonly identity: string
  /** The file of the models that engines told of. */
  readonly models: string
  /** Files that need not survive the process. */
  readonly scratch: string
}

/**
 * Makes the folder and takes it for this process alone. The lock is an exclusive transaction on a database of its own:
 * the kernel drops it when the process dies, however that happens, and two openers of the store itself would both
 * succeed.
 */
export function openDataFolder(given: string): DataFolder {
  const path = resolve(given)
  const inside = (name: string) => join(path, name)
  const folder = {
    ...{ path, bucket: inside('bucket'), accounts: inside('accounts') },
    ...{ spill: inside('spill'), scratch: inside('scratch'), identity: inside('identity') },
    models: inside('models.json'),
  }
  let lock: DatabaseSync | undefined
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    lock = new DatabaseSync(join(path, 'lock.db'), { timeout: 0 })
    // With something to write: on a file that may only be read it would lock nobody out.
    lock.exec('BEGIN EXCLUSIVE; PRAGMA user_version = 1')
    rmSync(folder.scratch, { recursive: true, force: true })
    mkdirSync(folder.scratch)
  } catch (error) {
    lock?.close()
    throw new Error(explain(path, error as Error & { errcode?: number; code?: string }), { cause: error })
  }
  return { ...folder, [Symbol.dispose]: () => lock.close() }
}

function explain(path: string, error: Error & { errcode?: number; code?: string }): string {
  const busy = 5
  if (error.errcode === busy) {
    return `another Filmgate is already running on the data folder ${path}; stop it, or choose another folder with --data`
  }
  return `the data folder ${path} can't be used (${error.message}); choose one that can be written with --data`
}

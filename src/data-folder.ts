import { accessSync, constants, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Problem } from './core/problem.ts'
import { keepOthersOut } from './data-folder/access.ts'

export interface DataFolder extends Disposable {
  readonly path: string
  /** Where the bucket keeps its objects. */
  readonly bucket: string
  /** Where each account keeps what its provider needs, by its name. */
  readonly accounts: string
  /** Where answers of providers are kept that the store could not take. */
  readonly spill: string
  /** The file of attempts that are committed and not sent. */
  readonly unsent: string
  /** The file that says who it is, to others that share its store. */
  readonly identity: string
  /** The file of the models that engines told of. */
  readonly models: string
  /** Files that need not survive the process. */
  readonly scratch: string
  /** What the operator should know of who can read it. */
  readonly warning: string | null
  /**
   * Takes the folder for this process alone, which opening it has done already unless it was on a read-only disk. Throws
   * if that is so still, or if another process uses it.
   */
  claim(): void
}

/**
 * Makes the folder and takes it for this process alone. The lock is an exclusive transaction on a database of its own:
 * the kernel drops it when the process dies, however that happens, and two openers of the store itself would both
 * succeed. On a read-only disk the lock is shared: it keeps out a process that could write, through another mount of that disk.
 */
export function openDataFolder(given: string): DataFolder {
  const path = resolve(given)
  const inside = (name: string) => join(path, name)
  const folder = {
    ...{ path, bucket: inside('bucket'), accounts: inside('accounts') },
    ...{ spill: inside('spill'), unsent: inside('unsent'), scratch: inside('scratch'), identity: inside('identity') },
    models: inside('models.json'),
  }
  const file = inside('lock.db')
  let isShared = false
  let lock: DatabaseSync
  const clearly = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      throw new Error(explain(path, error as Error & { errcode?: number }), { cause: error })
    }
  }
  clearly(() => {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  })
  const warning = keepOthersOut(path)
  clearly(() => {
    isShared = isReadOnly(path)
    lock = isShared ? lockShared(file) : lockAlone(file)
    if (!isShared) emptyScratch(folder.scratch)
  })
  return {
    ...{ ...folder, warning },
    claim() {
      if (!isShared) return
      // Its own share would be in the way.
      lock.close()
      try {
        lock = clearly(() => lockAlone(file))
        isShared = false
      } catch (error) {
        lock = lockShared(file)
        throw error
      }
    },
    [Symbol.dispose]: () => lock.close(),
  }
}

/** Of the disk itself: what only this account may not write is a mistake. */
function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
  return false
}

function lockAlone(file: string): DatabaseSync {
  // With something to write: on a file that may only be read it would lock nobody out. Nothing of it reaches the disk,
  // which may be full.
  return locked(
    new DatabaseSync(file, { timeout: 0 }),
    'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1',
  )
}

function lockShared(file: string): DatabaseSync {
  return locked(new DatabaseSync(file, { timeout: 0, readOnly: true }), 'BEGIN; SELECT count(*) FROM sqlite_schema')
}

function locked(database: DatabaseSync, by: string): DatabaseSync {
  try {
    database.exec(by)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Created when it is needed: a disk without room for it may have some later. */
function emptyScratch(scratch: string): void {
  try {
    rmSync(scratch, { recursive: true, force: true })
    mkdirSync(scratch)
  } catch (error) {
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  }
}

function explain(path: string, error: Error & { errcode?: number }): string {
  const busy = 5
  if (error.errcode === busy) {
    return `another Filmgate is already running on the data folder ${path}; stop it, or choose another folder with --data`
  }
  return `the data folder ${path} can't be used (${error.message}); choose one that can be written with --data`
}

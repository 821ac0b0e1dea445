import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Random } from './core/clock.ts'
import { Problem } from './core/problem.ts'

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

/**
 * The same for as long as the data folder: what is in it belongs to the process with that name. Where it can't be kept, on a
 * full or read-only disk, it is this process's only, and nothing else is kept there either.
 */
export function identityOf(file: string, random: Random): string {
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (kept !== '') return kept
  const name = Buffer.from(random(6)).toString('hex')
  try {
    // Whole or not at all: half a name would be another's.
    writeFileSync(`${file}.new`, name, { flush: true })
    renameSync(`${file}.new`, file)
  } catch (error) {
    rmSync(`${file}.new`, { force: true })
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  }
  return name
}

const others = 0o007
const group = 0o070
const setgid = 0o2000
const sticky = 0o1000

/** Names that the system creates in a new folder: the root of a disk has one. */
const ofTheDisk = ['lost+found']
/** Names by which a folder is known that an earlier start used, or that is a copy of one. */
const ours = ['lock.db', 'filmgate.db', 'bucket', 'spill']

/**
 * Keeps other users of the machine out of a data folder: it holds tokens and signing secrets. Whatever this process
 * creates from now on is as private as the folder. Returns a warning for the operator, or null. Throws where it can't,
 * or where it would lock others out of a folder that is not Filmgate's.
 */
export function keepOthersOut(path: string): string | null {
  const folder = statSync(path)
  const isShared = isSharedOnPurpose(folder)
  const removed = others | (isShared ? group & ~folder.mode : group)
  if ((folder.mode & removed) !== 0) tighten(path, folder, removed)
  process.umask(removed)
  for (const name of readdirSync(path)) tightenEntry(join(path, name), removed)
  if (!isShared || (folder.mode & setgid) !== 0) return null
  return `users of the group ${folder.gid} can read the data folder, tokens included; chmod 700 it if they should not`
}

/**
 * Whether the group has access because somebody decided so: Kubernetes marks the volumes of an `fsGroup` with setgid, and
 * a group that may do more than everybody has been given that. What an ordinary umask leaves is the same for both.
 */
function isSharedOnPurpose({ mode }: Stats): boolean {
  const given = (mode & group) >> 3
  return given !== 0 && ((mode & setgid) !== 0 || given !== (mode & others))
}

function tighten(path: string, { mode }: Stats, removed: number): void {
  const shown = (mode & 0o7777).toString(8).padStart(4, '0')
  const open = `the data folder ${path} can be read by other users of this machine (mode ${shown})`
  const present = readdirSync(path).filter((name) => !ofTheDisk.includes(name))
  const isOurs = ours.some((name) => present.includes(name)) && (mode & sticky) === 0
  if (present.length > 0 && !isOurs)
    throw new Error(`${open}, and has files that are not Filmgate's; choose a folder of its own with --data`)
  try {
    chmodSync(path, mode & 0o7777 & ~removed)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A volume of a pod belongs to root and is the pod's alone; on a disk that can't be written nothing is to be changed.
    if (code === 'EROFS' || (code === 'EPERM' && (mode & setgid) !== 0)) return
    throw new Error(`${open}, and does not belong to this user; chown it to this user, or choose another with --data`, {
      cause: error,
    })
  }
}

/** Files of earlier starts, which a looser umask made. */
function tightenEntry(path: string, removed: number): void {
  try {
    const { mode, uid } = lstatSync(path)
    const isOwn = uid === process.getuid?.()
    if (!isOwn || (mode & removed) === 0 || (mode & 0o170000) === 0o120000) return
    chmodSync(path, mode & 0o7777 & ~removed)
  } catch (error) {
    // A process that is about to end removes files of its database.
    if (!['EROFS', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

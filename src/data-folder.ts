import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
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
import { codeOf, Problem } from './core/problem.ts'

export interface DataFolder extends Disposable {
  readonly path: string
  /** The objects of the bucket. */
  readonly bucket: string
  /** A folder for each account, by its name. */
  readonly accounts: string
  /** Responses of providers that the store could not record yet. */
  readonly spill: string
  /** The file of attempts that are committed and not sent. */
  readonly unsent: string
  /** The file with the name of this process, for processes that share its store. */
  readonly identity: string
  /** The file of the models that engines list. */
  readonly models: string
  /** The file of the alarms about the store. */
  readonly alarms: string
  /** The file of the key that encrypts secrets of the store. */
  readonly secretKey: string
  /** Files that need not survive the process. */
  readonly scratch: string
  /** A warning for the operator about access to the folder. */
  readonly warning: string | null
  /**
   * Locks the folder for this process. Opening it has done that already, except on a read-only disk. Throws if the disk
   * is still read-only, or if another process uses the folder.
   */
  claim(): void
}

/**
 * Creates the folder and locks it for this process. The lock is an exclusive transaction on a database of its own: the
 * kernel releases it when the process dies. The store itself would let two processes open it. On a read-only disk the
 * lock is shared: it keeps out a process that writes through another mount of the disk.
 */
export function openDataFolder(given: string): DataFolder {
  const path = resolve(given)
  const inside = (name: string) => join(path, name)
  const folder = {
    path,
    bucket: inside('bucket'),
    accounts: inside('accounts'),
    spill: inside('spill'),
    unsent: inside('unsent'),
    scratch: inside('scratch'),
    identity: inside('identity'),
    models: inside('models.json'),
    alarms: inside('alarms.json'),
    secretKey: inside('secret.key'),
  }
  const file = inside('lock.db')
  let isShared = false
  let lock: DatabaseSync
  const explained = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      throw new Error(explain(path, error as Error & { errcode?: number }), { cause: error })
    }
  }
  explained(() => {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  })
  const warning = keepOthersOut(path)
  explained(() => {
    isShared = isReadOnly(path)
    lock = isShared ? lockShared(file) : lockAlone(file)
    if (!isShared) emptyScratch(folder.scratch)
  })
  return {
    ...folder,
    warning,
    claim() {
      if (!isShared) return
      // Its own shared lock would block the exclusive one.
      lock.close()
      try {
        lock = explained(() => lockAlone(file))
        isShared = false
      } catch (error) {
        lock = lockShared(file)
        throw error
      }
    },
    [Symbol.dispose]: () => lock.close(),
  }
}

/** Whether the disk itself is read-only. Missing permissions are a mistake. */
function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
  } catch (error) {
    return codeOf(error) === 'EROFS'
  }
  return false
}

function lockAlone(file: string): DatabaseSync {
  // With a write: on a read-only file the transaction alone would lock no other process out. The write never reaches
  // the disk, which may be full.
  return locked(
    new DatabaseSync(file, { timeout: 0 }),
    'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1',
  )
}

function lockShared(file: string): DatabaseSync {
  return locked(new DatabaseSync(file, { timeout: 0, readOnly: true }), 'BEGIN; SELECT count(*) FROM sqlite_schema')
}

function locked(database: DatabaseSync, sql: string): DatabaseSync {
  try {
    database.exec(sql)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** On a full disk it is created later, when it is needed. */
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
  return `the data folder ${path} can't be used (${error.message}); choose a writable folder with --data`
}

/**
 * The name of a data folder, which owns the files in it. On a full or read-only disk the name lasts only as long as the
 * process, but then no files are kept there either.
 */
export function identityOf(file: string, random: Random): string {
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (kept !== '') return kept
  const name = Buffer.from(random(6)).toString('hex')
  try {
    // By a rename, because a partial name would be that of another folder.
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

/** Files of the system, in the root of a disk. */
const systemNames = ['lost+found']
/** A folder with one of these was used by Filmgate, or is a copy of such a folder. */
const ownNames = ['lock.db', 'filmgate.db', 'bucket', 'spill']

/**
 * Removes the access of other users to a data folder: it holds tokens and signing secrets. Files that this process
 * creates from now on are as private as the folder. Returns a warning for the operator, or null. Throws if it fails, or
 * if the folder has files of other programs.
 */
export function keepOthersOut(path: string): string | null {
  const folder = statSync(path)
  const isShared = isSharedWithGroup(folder)
  const removed = others | (isShared ? group & ~folder.mode : group)
  if ((folder.mode & removed) !== 0) tighten(path, folder, removed)
  process.umask(removed)
  for (const name of readdirSync(path)) tightenEntry(join(path, name), removed)
  if (!isShared || (folder.mode & setgid) !== 0) return null
  return `users of the group ${folder.gid} can read the data folder, tokens included; chmod 700 it if they should not`
}

/**
 * Whether the group has access on purpose: Kubernetes marks the volumes of an `fsGroup` with setgid, and a group with
 * more access than other users was given it. An ordinary umask leaves both the same.
 */
function isSharedWithGroup({ mode }: Stats): boolean {
  const given = (mode & group) >> 3
  return given !== 0 && ((mode & setgid) !== 0 || given !== (mode & others))
}

function tighten(path: string, { mode }: Stats, removed: number): void {
  const shown = (mode & 0o7777).toString(8).padStart(4, '0')
  const open = `the data folder ${path} can be read by other users of this machine (mode ${shown})`
  const present = readdirSync(path).filter((name) => !systemNames.includes(name))
  const isOwn = ownNames.some((name) => present.includes(name)) && (mode & sticky) === 0
  if (present.length > 0 && !isOwn)
    throw new Error(`${open}, and has files that are not Filmgate's; choose a folder of its own with --data`)
  try {
    chmodSync(path, mode & 0o7777 & ~removed)
  } catch (error) {
    const code = codeOf(error)
    // The volume of a pod belongs to root, but only the pod has it. A read-only disk can't be changed.
    if (code === 'EROFS' || (code === 'EPERM' && (mode & setgid) !== 0)) return
    throw new Error(`${open}, and does not belong to this user; chown it to this user, or choose another with --data`, {
      cause: error,
    })
  }
}

/** For files that an earlier start created with another umask. */
function tightenEntry(path: string, removed: number): void {
  try {
    const { mode, uid } = lstatSync(path)
    const isOwn = uid === process.getuid?.()
    if (!isOwn || (mode & removed) === 0 || (mode & 0o170000) === 0o120000) return
    chmodSync(path, mode & 0o7777 & ~removed)
  } catch (error) {
    // A process that is ending removes files of its database.
    if (!['EROFS', 'ENOENT'].includes(codeOf(error) ?? '')) throw error
  }
}

/** A new or renamed file survives a power cut only once its folder is synced. */
export function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

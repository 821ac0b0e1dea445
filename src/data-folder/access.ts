import { chmodSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'

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

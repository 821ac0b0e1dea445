import { access, constants, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { codeOf } from '../core/problem.ts'
import { UsageFailure } from './failure.ts'

/** Where a video is saved: a folder, and the name if `-o` gives one. */
export interface Target {
  folder: string
  name: string | null
}

/** Reads `-o` before any request: a video that can't be saved should not be created. */
export async function findTarget(output: string | undefined): Promise<Target> {
  if (output === '') throw new UsageFailure('-o is empty; give it a file or a folder')
  if (output === '-') throw new UsageFailure("a video can't be written to stdout; give -o a file or a folder")
  const given = output ?? '.'
  const fault = await faultOfFile(given)
  const isFolder = given.endsWith('/') || fault === folderFault
  if (fault !== null && !isFolder) throw new UsageFailure(`-o ${given}: ${fault}`)
  const target = isFolder ? { folder: given, name: null } : { folder: dirname(given), name: basename(given) }
  await checkFolder(target.folder)
  // The partial file is written beside the video itself, where a link leads.
  if (target.name !== null) await checkFolder(dirname(await followed(given)))
  return target
}

const folderFault = 'it is a folder'

/** Why a video can't be saved under this path, or null. A file is replaced; writing to a device may never end. */
export async function faultOfFile(path: string): Promise<string | null> {
  try {
    const found = await stat(path)
    if (found.isFile()) return null
    return found.isDirectory() ? folderFault : 'it is neither a file nor a folder'
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    const reasons: Record<string, string> = {
      ENAMETOOLONG: 'the name is too long',
      ENOTDIR: `${dirname(path)} is not a folder`,
      ELOOP: 'its links form a loop',
      EACCES: 'permission denied',
    }
    return code === 'ENOENT' ? null : (reasons[code] ?? code)
  }
}

async function checkFolder(folder: string): Promise<void> {
  try {
    // With the slash, a file fails.
    await access(`${folder}/`, constants.W_OK | constants.X_OK)
  } catch (cause) {
    const code = codeOf(cause)
    if (code === 'ENOENT') throw new UsageFailure(`there is no folder ${folder}; create it first`)
    throw new UsageFailure(
      code === 'ENOTDIR' ? `${folder} is not a folder` : `the folder ${folder} can't be written to (${code})`,
    )
  }
}

/** Where a path leads through links, even if nothing exists there yet. */
export async function followed(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const next = await readlink(path).catch(() => null)
    return next === null ? path : followed(resolve(dirname(path), next))
  }
}

import { access, constants, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { UsageFailure } from './failure.ts'

/** Where a film goes: a folder, and its name there if one was asked for. */
export interface Target {
  folder: string
  name: string | null
}

/** Reads -o, before anything is asked of a server: a film that can't be written should not be made. */
export async function findTarget(output: string | undefined): Promise<Target> {
  if (output === '') throw new UsageFailure('-o is empty; give it a file or a folder')
  if (output === '-') throw new UsageFailure('a film is not written to stdout; give -o a file or a folder')
  const given = output ?? '.'
  const fault = await faultOfFile(given)
  const isFolder = given.endsWith('/') || fault === folderFault
  if (fault !== null && !isFolder) throw new UsageFailure(`-o ${given}: ${fault}`)
  const target = isFolder ? { folder: given, name: null } : { folder: dirname(given), name: basename(given) }
  await checkFolder(target.folder)
  // The part is written beside the film itself, wherever a link leads.
  if (target.name !== null) await checkFolder(dirname(await followed(given)))
  return target
}

const folderFault = 'it is a folder'

/** Why a film can't be called that, or null; only something that is no file would be lost, or never end. */
export async function faultOfFile(path: string): Promise<string | null> {
  try {
    const found = await stat(path)
    if (found.isFile()) return null
    return found.isDirectory() ? folderFault : 'it is no file, and a film is written to nothing else'
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const reasons: Record<string, string> = {
      ENAMETOOLONG: 'the name is too long',
      ENOTDIR: `${dirname(path)} is no folder`,
      ELOOP: 'its links lead in a circle',
      EACCES: 'it may not be looked at',
    }
    return code === 'ENOENT' ? null : (reasons[code] ?? code)
  }
}

async function checkFolder(folder: string): Promise<void> {
  try {
    // With the slash, a file is none.
    await access(`${folder}/`, constants.W_OK | constants.X_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new UsageFailure(`there is no folder ${folder}; make it first`)
    throw new UsageFailure(
      code === 'ENOTDIR' ? `${folder} is no folder` : `the folder ${folder} can't be written to (${code})`,
    )
  }
}

/** Where a path leads through links, even if there is nothing yet. */
export async function followed(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const next = await readlink(path).catch(() => null)
    return next === null ? path : followed(resolve(dirname(path), next))
  }
}

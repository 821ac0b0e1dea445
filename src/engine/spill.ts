import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { AttemptFact } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'

/**
 * What providers answered and the store could not take, one file for each, on disk before anything else is done: it may
 * be the only trace of work that was paid for. It is told to the store when that is back, or at the next start.
 */
export interface Spill {
  keep(fact: AttemptFact): void
  drop(attempt: string): void
  /** Keeps it for people, and tells it to nobody any more. */
  setAside(attempt: string): void
  all(): AttemptFact[]
}

export function openSpill(folder: string, onDamaged: (file: string) => void): Spill {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    // A disk that is full or can only be read may have room when something has to be kept.
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  }
  const pathOf = (attempt: string) => join(folder, `${attempt.replace(/[^\w-]/g, '_')}.json`)
  return {
    keep(fact) {
      mkdirSync(folder, { recursive: true })
      const path = pathOf(fact.id)
      const file = openSync(`${path}.part`, 'w')
      try {
        // Not writeSync: on a disk that is nearly full it may write a part, and say so by a number alone.
        writeFileSync(file, JSON.stringify(fact))
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(`${path}.part`, path)
      syncFolder(folder)
    },
    drop: (attempt) => rmSync(pathOf(attempt), { force: true }),
    setAside: (attempt) => renameSync(pathOf(attempt), `${pathOf(attempt)}.refused`),
    all: () =>
      (existsSync(folder) ? readdirSync(folder) : [])
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => {
          try {
            return [JSON.parse(readFileSync(join(folder, name), 'utf8')) as AttemptFact]
          } catch {
            // Damaged since: nothing that is in it could be believed, and it must not keep the others from being told.
            const file = join(folder, `${name}.damaged`)
            renameSync(join(folder, name), file)
            onDamaged(file)
            return []
          }
        }),
  }
}

/** A rename is on disk when its folder is. */
function syncFolder(folder: string): void {
  const directory = openSync(folder, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

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
import { syncFolder } from '../data-folder.ts'

/**
 * Responses of providers that the store could not accept, one file each. A file is on disk before anything else happens:
 * it may be the only trace of work that was paid for. It is recorded once the store is back, or at the next start.
 */
export interface Spill {
  keep(fact: AttemptFact): void
  drop(attempt: string): void
  /** Renames the file: it is not replayed again, and people can still read it. */
  setAside(attempt: string): void
  all(): AttemptFact[]
}

export function openSpill(folder: string, onDamaged: (file: string) => void): Spill {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    // A disk that is full or read-only now may be writable when `keep` is called.
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  }
  const pathOf = (attempt: string) => join(folder, `${attempt.replace(/[^\w-]/g, '_')}.json`)
  return {
    keep(fact) {
      mkdirSync(folder, { recursive: true })
      const path = pathOf(fact.id)
      const file = openSync(`${path}.part`, 'w')
      try {
        // Not writeSync: on a disk that is nearly full it may write only a part, without an error.
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
            // Damaged: its content can't be trusted, and it must not keep the other files from being recorded.
            const file = join(folder, `${name}.damaged`)
            renameSync(join(folder, name), file)
            onDamaged(file)
            return []
          }
        }),
  }
}

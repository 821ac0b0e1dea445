import { cp } from 'node:fs/promises'
import { probe } from './buckets/index.ts'
import { type Moved, moveObjects } from './migrate/objects.ts'
import { nameOf, openPlace, type Place, type Sides, targetOf } from './migrate/places.ts'
import { type Compared, checksumOf, compare, copyRows, type Sums, survey } from './migrate/rows.ts'
import { awayTable } from './stores/transfer/transfer.ts'

export { explainS3 } from './buckets/index.ts'
export type { Fault, Moved } from './migrate/objects.ts'
export { isSame, type Place } from './migrate/places.ts'
export type { Compared } from './migrate/rows.ts'

/** A move of a whole service from one place to another, where neither is in use. */
export interface Move {
  from: Place
  to: Place
}

/** What a move needs of the outside. */
export interface MoveTools {
  now: number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  report(progress: Progress): void
}

/** Rows, or bytes while films are copied; the total is null as long as nobody has counted. */
export interface Progress {
  phase: 'counting' | 'rows' | 'films' | 'checking'
  done: number
  total: number | null
}

export interface Outcome {
  /** Whether rows were moved; else they stay where they are, and so for objects. */
  rows: Compared[] | null
  objects: Moved | null
  /** The target can be used. */
  finished: boolean
  /** Nothing was done: an earlier run of the same move had finished. */
  repeated?: boolean
}

/**
 * Begun anew after it was cut off, it goes on. The target must be empty, or what such a move left; nothing there is ever
 * overwritten. Of the source nothing is changed but its schema, which is brought up to date as by any start, and in the end
 * a mark that keeps services off it.
 */
export async function migrate({ from, to }: Move, tools: MoveTools): Promise<Outcome> {
  await using sides = await openPlace({ from, to })
  const { source, target } = sides
  if (await isDone(sides, targetOf({ from, to }))) return { rows: null, objects: null, finished: true, repeated: true }
  // A mistake in its name must not be told only after all rows were copied.
  if (sides.buckets) await probe(sides.buckets.target)
  const counted = await survey(source, tools)
  if (target) await prepare(sides, nameOf(from), counted.sums)
  if (target) await copyRows({ source, target }, counted, tools)
  if (sides.folders) await copyAccounts(sides.folders)
  const objects = sides.buckets ? await moveObjects(source, sides.buckets, counted.bytes, tools) : null
  const rows = target ? await compare({ source, target }, counted, tools) : null
  const equal = rows?.every(({ same }) => same) ?? true
  const finished = equal && !objects?.faults.some(({ blocks }) => blocks)
  // What differs was changed by somebody meanwhile: the next run copies all rows anew.
  if (target && !equal) await target.begin({ source: nameOf(from), checksum: '' })
  if (target && finished) {
    await source.retire(targetOf({ from, to }))
    await target.finish()
  }
  return { rows, objects, finished }
}

/**
 * Whether this very move was done before. To anywhere else, rows that have moved must not go again: two services would
 * own the same tasks. One that was cut off between its last two steps goes on.
 */
async function isDone({ source, target }: Sides, wanted: string): Promise<boolean> {
  const moved = await source.retired()
  if (moved === null) return false
  const found = moved === wanted ? await target?.look() : undefined
  if (typeof found === 'object') return 'table' in found
  const where = found === 'empty' ? `${moved}, where there is nothing now` : moved
  throw new Error(`the source was moved already, to ${where}. ${again}`)
}

const again = `To move it all the same, while no service uses those rows, drop the table ${awayTable} of the source`

/** Marks the target as ours. What an earlier run left is kept only if the source has not changed since. */
async function prepare({ target }: Pick<Sides, 'target'>, source: string, sums: Sums): Promise<void> {
  const checksum = checksumOf(sums)
  const found = await target?.look()
  if (found === 'empty' || found === undefined) return target?.begin({ source, checksum })
  if ('table' in found)
    throw new Error(
      `the target is not empty: its table ${found.table} has rows that no move left; choose an empty data folder or ` +
        'database (drop it and create it again), and move before a service is first started there',
    )
  if (found.source !== source)
    throw new Error(`the target holds an unfinished move of ${found.source}; choose an empty one, or finish that first`)
  if (found.checksum === checksum) return
  await target?.clear()
  await target?.begin({ source, checksum })
}

/** What accounts were working on. A file that was cut off is copied again. */
async function copyAccounts({ from, to }: { from: string; to: string }): Promise<void> {
  await cp(from, to, { recursive: true, preserveTimestamps: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

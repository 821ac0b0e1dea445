import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { probe } from './buckets/index.ts'
import { codeOf } from './core/problem.ts'
import { type Moved, moveObjects } from './migrate/objects.ts'
import { nameOf, openSides, type Place, type Sides, targetOf } from './migrate/places.ts'
import { type Compared, checksumOf, compare, copyRows, type Sums, survey } from './migrate/rows.ts'
import { awayTable } from './stores/transfer/transfer.ts'

export { explainS3 } from './buckets/index.ts'
export type { Fault, Moved } from './migrate/objects.ts'
export { isSame, type Place } from './migrate/places.ts'
export type { Compared } from './migrate/rows.ts'

/** A move of a whole service. Neither side is in use. */
export interface Move {
  from: Place
  to: Place
}

/** The clock and the screen of a move. */
export interface MoveTools {
  now: number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  report(progress: Progress): void
}

/** Rows, or bytes while videos are copied. The total is null until it is counted. */
export interface Progress {
  phase: 'counting' | 'rows' | 'videos' | 'checking'
  done: number
  total: number | null
}

export interface Outcome {
  /** Null if the rows stay where they are. */
  rows: Compared[] | null
  /** Null if the objects stay where they are. */
  objects: Moved | null
  /** The target can be used. */
  finished: boolean
  /** An earlier run of the same move had finished, so nothing was done. */
  repeated?: boolean
}

/**
 * Starts or continues a move. The target must be empty, or left by an interrupted move; nothing there is overwritten. In
 * the source only the schema is updated, as by any start, and at the end a mark keeps services from starting on it.
 */
export async function migrate({ from, to }: Move, tools: MoveTools): Promise<Outcome> {
  await using sides = await openSides({ from, to })
  const { source, target } = sides
  if (await isDone(sides, targetOf({ from, to }))) return { rows: null, objects: null, finished: true, repeated: true }
  // First, so that a mistake in its name is reported before all rows are copied.
  if (sides.buckets) await probe(sides.buckets.target)
  const counted = await survey(source, tools)
  if (target) await prepare(sides, nameOf(from), counted.sums)
  if (target) await copyRows({ source, target }, counted, tools)
  if (sides.folders) await copyAccounts(sides.folders)
  if (sides.keys) copyKeys(sides.keys)
  const objects = sides.buckets ? await moveObjects(source, sides.buckets, counted.bytes, tools) : null
  const rows = target ? await compare({ source, target }, counted, tools) : null
  const equal = rows?.every(({ same }) => same) ?? true
  const finished = equal && !objects?.faults.some(({ blocks }) => blocks)
  // The source changed during the move: the next run copies all rows again.
  if (target && !equal) await target.begin({ source: nameOf(from), checksum: '' })
  if (target && finished) {
    await source.retire(targetOf({ from, to }))
    await target.finish()
  }
  return { rows, objects, finished }
}

/**
 * Whether this move has finished before. Rows must not move again to another target, or two services would own the same
 * tasks. A move that was interrupted between its last two steps continues.
 */
async function isDone({ source, target }: Sides, wanted: string): Promise<boolean> {
  const moved = await source.retired()
  if (moved === null) return false
  const found = moved === wanted ? await target?.look() : undefined
  if (typeof found === 'object') return 'table' in found
  const where = found === 'empty' ? `${moved}, which is empty now` : moved
  throw new Error(`the source was moved already, to ${where}. ${again}`)
}

const again = `To move it again, make sure that no service uses the moved rows, and drop the table ${awayTable} of the source`

/** Marks the target. Rows of an earlier run are kept only if the source has not changed since. */
async function prepare({ target }: Pick<Sides, 'target'>, source: string, sums: Sums): Promise<void> {
  const checksum = checksumOf(sums)
  const found = await target?.look()
  if (found === 'empty' || found === undefined) return target?.begin({ source, checksum })
  if ('table' in found)
    throw new Error(
      `the target is not empty: its table ${found.table} has rows that are not of a move; choose an empty data folder or ` +
        'database (drop it and create it again), and move before a service is first started there',
    )
  if (found.source !== source)
    throw new Error(
      `the target has an unfinished move of ${found.source}; choose an empty target, or finish that move first`,
    )
  if (found.checksum === checksum) return
  await target?.clear()
  await target?.begin({ source, checksum })
}

/** The files of the accounts. A partial copy is replaced. */
async function copyAccounts({ from, to }: { from: string; to: string }): Promise<void> {
  await cp(from, to, { recursive: true, preserveTimestamps: true }).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
}

/** The moved secrets need the keys of the source. The target may have a key of its own, if a service only lived there. */
function copyKeys({ from, to }: { from: string; to: string }): void {
  if (!existsSync(from)) return
  const lines = [from, to].flatMap((file) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []))
  const keys = [...new Set(lines.filter((line) => line.trim() !== ''))]
  writeFileSync(`${to}.new`, `${keys.join('\n')}\n`, { mode: 0o600, flush: true })
  renameSync(`${to}.new`, to)
}

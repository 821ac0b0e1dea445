import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { StoredPlace } from '../../core/row.ts'
import { idOf } from '../../core/token.ts'
import type { TaskStore } from '../../stores/store.ts'
import { OperatorStorage } from '../../wire/storage.ts'
import type { PieceTurns } from '../pieces.ts'
import type { Route } from '../route.ts'
import { iso } from '../wire.ts'

interface StorageDependencies {
  store: Pick<TaskStore, 'storedExpiries'>
  clock: Pick<Clock, 'now'>
  turns: PieceTurns
  bucketLimit?: number
}

const hourMs = 3_600_000
/** A step reads this many rows in a few milliseconds. */
const stepRows = 1_000
/** Sums are used for as long, at least, or for many times as long as they took: consoles read them again and again. */
const [freshMs, rests] = [10_000, 50]

interface Sums {
  at: number
  tookMs: number
  /** By the hour since the epoch. */
  hours: Map<number | null, { tasks: number; bytes: number }>
}

export function storageRoute(dependencies: StorageDependencies): Route {
  const { bucketLimit = 0 } = dependencies
  const sums = openSums(dependencies)
  return {
    at: 'GET /operator/v1/storage',
    id: 'showStorage',
    summary: 'Show what is stored',
    description: 'How many bytes are stored, and how many of them expire in which hour.',
    responses: { 200: { description: 'The sums.', schema: OperatorStorage } },
    errors: ['storage_unavailable'],
    handler: async ({ token }: FastifyRequest) => toStorage(await sums(idOf(token)), bucketLimit),
  }
}

/** Requests that come while sums are read share them. */
function openSums({ store, clock, turns }: StorageDependencies) {
  let last: Sums | undefined
  let reading: Promise<Sums> | undefined

  async function read(line: string): Promise<Sums> {
    const begin = clock.now()
    const hours: Sums['hours'] = new Map()
    let after: StoredPlace | null = { owner: '', id: '' }
    while (after !== null) {
      const place: StoredPlace = after
      const step = await turns.read(line, () => store.storedExpiries(place, stepRows))
      for (const { hour, tasks, bytes } of step.sums) {
        const known = hours.get(hour) ?? { tasks: 0, bytes: 0 }
        hours.set(hour, { tasks: known.tasks + tasks, bytes: known.bytes + bytes })
      }
      after = step.next
      // Lets other work of this thread run first.
      await new Promise(setImmediate)
    }
    const at = clock.now()
    last = { at, tookMs: Math.max(0, at - begin), hours }
    return last
  }

  return async (line: string): Promise<Sums> => {
    // The clock may have been set back.
    if (last && Math.abs(clock.now() - last.at) < Math.max(freshMs, last.tookMs * rests)) return last
    reading ??= read(line).finally(() => {
      reading = undefined
    })
    return reading
  }
}

function toStorage({ at, hours }: Sums, bucketLimit: number): OperatorStorage {
  const kept = hours.get(null) ?? { tasks: 0, bytes: 0 }
  const expiries = [...hours].flatMap(([hour, sum]) => (hour === null ? [] : [{ hour, ...sum }]))
  return {
    object: 'operator.storage',
    at: iso(at),
    stored_bytes: expiries.reduce((all, one) => all + one.bytes, kept.bytes),
    bucket_limit: bucketLimit === 0 ? null : bucketLimit,
    kept,
    expiries: expiries
      .sort((one, other) => one.hour - other.hour)
      .map((one) => ({ from: iso(one.hour * hourMs), videos: one.tasks, bytes: one.bytes })),
  }
}

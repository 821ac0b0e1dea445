import { setImmediate } from 'node:timers/promises'
import { openBounded } from '../core/bounded.ts'
import type { Clock } from '../core/clock.ts'
import { openOutage } from '../core/outage.ts'
import { Problem } from '../core/problem.ts'
import { storageQuotaReached } from '../core/quotas.ts'
import type { StoredPlace } from '../core/row.ts'
import type { TaskStore } from '../stores/store.ts'
import type { Alarms } from '../telemetry/alarms.ts'
import type { Log } from '../telemetry/log.ts'

export interface StoredBytes {
  /**
   * Throws if as many bytes of the owner are stored as may be, or of all owners together. Only new work is refused: a video in
   * progress is stored even if it exceeds a limit. Otherwise the bytes of the upload count at once; the returned function
   * has to be called with what was stored of it, 0 if nothing was.
   */
  admit(owner: string, most: number | undefined, uploadBytes: number): Promise<(storedBytes: number) => void>
  /** Throws if as many bytes of all owners are stored as may be. */
  checkAll(): Promise<void>
  /** How many bytes of all owners were stored at the last sum. */
  all(): Promise<number>
  /** How many bytes of the owner are stored now. */
  of(owner: string): Promise<number>
}

interface StoredOptions {
  store: Pick<TaskStore, 'sumStored'>
  /** No video is accepted while that many bytes of all owners are stored, or more; 0, the default, is no limit. */
  bucketLimit?: number
  clock: Clock
  log: Log
  alarms?: Alarms
}

interface Sum {
  bytes: number
  at: number
  tookMs: number
}

/** What this process knows about the bytes of an owner. */
interface Count {
  sum: Sum | null
  /** Uploads of submits under way. */
  reserved: number
  /** What submits of this process stored after the last sum began, or the one that runs: it may lack them. */
  since: number
  /** What they stored before the sum that runs began: it has them. */
  before: number
}

/**
 * How long a sum is used, at least. A sum that takes longer is used for longer, so that sums take a hundredth of the time, but
 * not for so long that a limit would mean nothing.
 */
const [freshMs, staleMs] = [1_000, 30_000]
/** The same at a limit, where a client may wait for the videos that it deleted. */
const [rests, restsAtLimit] = [100, 10]
/** If the last sum took this long, a submit is compared with it while the next one runs. */
const slowMs = 250
/** How many rows a step reads: on SQLite no poll is served meanwhile. */
const stepRows = 5_000
const mostOwners = 10_000
/** In place of the name of an owner, which is never empty. */
const everyone = ''
const newCount = (): Count => ({ sum: null, reserved: 0, since: 0, before: 0 })

/** The bytes in the bucket, by the rows of tasks: see decision 0029. */
export function openStoredBytes({ store, bucketLimit = 0, clock, log, alarms }: StoredOptions): StoredBytes {
  const counts = openBounded<Count>(mostOwners)
  const ofAll = newCount()
  const running = new Map<string, Promise<number>>()
  const lines = {
    down: 'the bucket has reached its limit: no new videos are accepted',
    up: 'the bucket is below its limit again: new videos are accepted',
  }
  const outage = openOutage({ log, clock, ...lines })

  function countOf(owner: string): Count {
    const known = owner === everyone ? ofAll : counts.get(owner)
    if (known) return known
    const count = newCount()
    counts.set(owner, count)
    return count
  }

  async function sum(owner: string, count: Count): Promise<number> {
    const begin = clock.now()
    count.before = count.since
    count.since = 0
    try {
      const bytes = await sumRows(owner)
      const at = clock.now()
      count.sum = { bytes, at, tookMs: Math.max(0, at - begin) }
      return bytes
    } catch (error) {
      count.since += count.before
      throw error
    } finally {
      count.before = 0
    }
  }

  async function sumRows(owner: string): Promise<number> {
    const of = owner === everyone ? 'all' : 'owner'
    let bytes = 0
    let after: StoredPlace = { owner, id: '' }
    for (;;) {
      const step = await store.sumStored(of, after, stepRows)
      bytes += step.bytes
      if (step.next === null) return bytes
      after = step.next
      await setImmediate()
    }
  }

  /** Requests that need the same sum share it. */
  function sumOnce(owner: string, count = countOf(owner)): Promise<number> {
    const known = running.get(owner)
    if (known) return known
    const summing = sum(owner, count).finally(() => running.delete(owner))
    running.set(owner, summing)
    return summing
  }

  function bytesOf({ sum, reserved, since, before }: Count): number {
    return (sum?.bytes ?? 0) + reserved + since + before
  }

  /** The count of an owner, with a sum to compare with a limit. */
  async function countFor(owner: string, most: number): Promise<Count> {
    const count = countOf(owner)
    const { sum: last } = count
    if (!last) {
      await sumOnce(owner, count)
      // It may have been dropped, and another count have the sum that ran.
      return count.sum ? count : countFor(owner, most)
    }
    // The clock may have been set back.
    const ageMs = Math.abs(clock.now() - last.at)
    const usedMs = Math.max(freshMs, last.tookMs * (bytesOf(count) < most ? rests : restsAtLimit))
    if (ageMs < Math.min(usedMs, staleMs)) return count
    const next = sumOnce(owner, count)
    if (last.tookMs < slowMs || ageMs >= staleMs + last.tookMs) await next
    // If the store is unavailable, the submit itself says so.
    else next.catch(() => {})
    return count
  }

  function checkBucket(): void {
    const bytes = bytesOf(ofAll)
    if (bytes < bucketLimit) {
      outage.worked()
      alarms?.clear('bucket_limit', 'bucket')
      return
    }
    outage.failed({ storedBytes: bytes, bucketLimit })
    alarms?.raise('bucket_limit', 'bucket', { stored_bytes: bytes, bucket_limit: bucketLimit })
    throw new Problem('storage_unavailable', bucketFull, { retryable: true })
  }

  return {
    async admit(owner, most, uploadBytes) {
      if (bucketLimit > 0) await countFor(everyone, bucketLimit)
      const own = most === undefined ? counts.get(owner) : await countFor(owner, most)
      // Nothing is awaited from here on: requests at the same time see the bytes of each other.
      if (bucketLimit > 0) checkBucket()
      if (most !== undefined && own && bytesOf(own) >= most) throw storageQuotaReached(bytesOf(own), most)
      const counted = [ofAll, ...(own ? [own] : [])]
      for (const count of counted) count.reserved += uploadBytes
      return (storedBytes) => {
        for (const count of counted) {
          count.reserved -= uploadBytes
          count.since += storedBytes
        }
      }
    },
    async checkAll() {
      if (bucketLimit === 0) return
      await countFor(everyone, bucketLimit)
      checkBucket()
    },
    async all() {
      return bytesOf(await countFor(everyone, Number.POSITIVE_INFINITY))
    },
    of: (owner) => sumOnce(owner),
  }
}

const bucketFull =
  'The storage of the service has reached its limit, so no new videos are accepted. Videos in progress continue. Try again later.'

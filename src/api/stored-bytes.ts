import { setImmediate } from 'node:timers/promises'
import { openBounded } from '../core/bounded.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { storageQuotaReached } from '../core/quotas.ts'
import type { StoredPlace, TaskStore } from '../stores/store.ts'
import type { Alarms } from '../telemetry/alarms.ts'
import type { Log } from '../telemetry/log.ts'

export interface StoredBytes {
  /**
   * Throws if as many bytes of the owner are stored as may be, or of all owners together. Only new work is refused: a video in
   * progress is stored even if it exceeds a limit.
   */
  check(owner: string, most: number | undefined): Promise<void>
  /** Throws if as many bytes of all owners are stored as may be. */
  checkAll(): Promise<void>
  /** How many bytes of all owners are stored, a little while ago. */
  all(): Promise<number>
  /** How many bytes of the owner are stored now. */
  of(owner: string): Promise<number>
}

export interface StoredOptions {
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

/** How long a sum is used, at least. A sum that takes longer is used for longer, so that sums take a hundredth of the time. */
const freshMs = 1_000
/** The same at a limit, where a client may wait for the videos that it deleted. */
const [share, shareAtLimit] = [100, 10]
/** How many rows a step reads: on SQLite no poll is served meanwhile. */
const stepRows = 5_000
const mostOwners = 10_000
/** In place of the name of an owner, which is never empty. */
const everyone = ''

/** The bytes in the bucket, by the rows of tasks: see decision 0029. */
export function openStoredBytes({ store, bucketLimit = 0, clock, log, alarms }: StoredOptions): StoredBytes {
  const sums = openBounded<Sum>(mostOwners)
  const running = new Map<string, Promise<number>>()
  let isFull = false

  async function sum(owner: string): Promise<number> {
    const of = owner === everyone ? 'all' : 'owner'
    const begin = clock.now()
    let bytes = 0
    let after: StoredPlace = { owner, id: '' }
    for (;;) {
      const step = await store.sumStored(of, after, stepRows)
      bytes += step.bytes
      if (step.next === null) break
      after = step.next
      await setImmediate()
    }
    const at = clock.now()
    sums.set(owner, { bytes, at, tookMs: Math.max(0, at - begin) })
    return bytes
  }

  /** Requests that need the same sum share it. */
  function sumOnce(owner: string): Promise<number> {
    const known = running.get(owner)
    if (known) return known
    const summing = sum(owner).finally(() => running.delete(owner))
    running.set(owner, summing)
    return summing
  }

  async function bytesOf(owner: string, most: number): Promise<number> {
    const known = sums.get(owner)
    if (!known) return sumOnce(owner)
    const { bytes, at, tookMs } = known
    const usedMs = Math.max(freshMs, tookMs * (bytes < most ? share : shareAtLimit))
    // The clock may have been set back.
    return Math.abs(clock.now() - at) < usedMs ? bytes : sumOnce(owner)
  }

  async function checkBucket(): Promise<void> {
    if (bucketLimit === 0) return
    const bytes = await bytesOf(everyone, bucketLimit)
    const wasFull = isFull
    isFull = bytes >= bucketLimit
    if (isFull) alarms?.raise('bucket_limit', 'bucket', { stored_bytes: bytes, bucket_limit: bucketLimit })
    else alarms?.clear('bucket_limit', 'bucket')
    if (isFull && !wasFull)
      log.error('the bucket has reached its limit: no new videos are accepted', { storedBytes: bytes, bucketLimit })
    if (wasFull && !isFull) log.info('the bucket is below its limit again: new videos are accepted')
    if (isFull) throw new Problem('storage_unavailable', bucketFull, { retryable: true })
  }

  return {
    async check(owner, most) {
      await checkBucket()
      if (most === undefined) return
      const bytes = await bytesOf(owner, most)
      if (bytes >= most) throw storageQuotaReached(bytes, most)
    },
    checkAll: checkBucket,
    all: () => bytesOf(everyone, Number.POSITIVE_INFINITY),
    of: sumOnce,
  }
}

const bucketFull =
  'The storage of the service has reached its limit, so no new videos are accepted. Videos in progress continue. Try again later.'

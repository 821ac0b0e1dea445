import { statfs } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { Alarms } from '../telemetry/alarms.ts'
import type { Log } from '../telemetry/log.ts'

const checkAgainMs = 1_000

interface FreeSpace {
  folder: string
  reserveBytes: number
  clock: Clock
  log: Log
  alarms: Alarms
  /** The name of this machine, for alarms. */
  machine: string
}

/**
 * Refuses new videos while the disk of the data folder has less space than the reserve, which running tasks need to end.
 * If the free space can't be read, it counts as enough: the write itself reports the fault.
 */
export function openFreeSpace(options: FreeSpace): () => Promise<void> {
  const { folder, reserveBytes, clock, log, alarms, machine } = options
  let isEnough = true
  let checkedAt = Number.NEGATIVE_INFINITY
  async function check(): Promise<void> {
    const { bavail, bsize } = await statfs(folder)
    const before = isEnough
    isEnough = bavail * bsize >= reserveBytes
    if (isEnough) alarms.clear('disk_low', machine)
    else alarms.raise('disk_low', machine, { free_bytes: bavail * bsize, reserve_bytes: reserveBytes })
    if (before && !isEnough)
      log.error('the disk is almost full: no new videos are accepted', { freeBytes: bavail * bsize, reserveBytes })
    if (!before && isEnough) log.info('the disk has space again: new videos are accepted')
  }
  return async () => {
    if (reserveBytes === 0) return
    const now = clock.now()
    // The clock may have been set back.
    if (Math.abs(now - checkedAt) >= checkAgainMs) {
      checkedAt = now
      await check().catch(() => {})
    }
    if (!isEnough) throw new Problem('storage_unavailable', message, { retryable: true })
  }
}

const message =
  'The disk of the service is almost full, so no new videos are accepted. Videos in progress continue. Try again later.'

import { statfs } from 'node:fs/promises'
import type { Clock } from '../core/clock.ts'
import { openOutage } from '../core/outage.ts'
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
  /** The subject of alarms about this process. */
  machine: string
}

/**
 * Refuses new videos while the disk of the data folder has less space than the reserve, which running tasks need to end.
 * If the free space can't be read, it counts as enough: the write itself reports the fault.
 */
export function openFreeSpace(options: FreeSpace): () => Promise<void> {
  const { folder, reserveBytes, clock, log, alarms, machine } = options
  const lines = {
    down: 'the disk is almost full: no new videos are accepted',
    up: 'the disk has space again: new videos are accepted',
  }
  const outage = openOutage({ log, clock, ...lines })
  let isEnough = true
  let checkedAt = Number.NEGATIVE_INFINITY
  async function check(): Promise<void> {
    const { bavail, bsize } = await statfs(folder)
    const freeBytes = bavail * bsize
    isEnough = freeBytes >= reserveBytes
    if (isEnough) {
      outage.worked()
      alarms.clear('disk_low', machine)
    } else {
      outage.failed({ freeBytes, reserveBytes })
      alarms.raise('disk_low', machine, { free_bytes: freeBytes, reserve_bytes: reserveBytes })
    }
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

import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../telemetry/log.ts'

interface OpenFiles {
  /** How many this process may have open at once. */
  limit: number
  /** How many it has. */
  used: number
}

/** Undefined if the system has no /proc, or sets no limit. */
function readOpenFiles(): OpenFiles | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : { limit: Number(soft), used: readdirSync('/proc/self/fd').length }
  } catch {
    return undefined
  }
}

/** Below this limit the operator is warned. */
const fewFiles = 1_024

/** The minimum for workers: to draw, verify and store a video, and to send a request to a provider. */
const workerFiles = 12
const fewestConnections = 6

/** Each connection may need a second file, for the video that it downloads. */
function connectionsWithin({ limit, used }: OpenFiles): number {
  return Math.max(fewestConnections, Math.floor((limit - used - workerFiles) / 2))
}

/** How many connections the limit of open files allows. Logs a warning if it is low. */
export function limitConnections(clock: Clock, log: Log): { connections?: { most: number; clock: Clock } } {
  const files = readOpenFiles()
  if (!files) return {}
  const most = connectionsWithin(files)
  if (files.limit < fewFiles)
    log.warn(
      `only ${files.limit} files may be open at once, so that only ${most} clients may be connected; raise the limit ` +
        '(LimitNOFILE= in systemd, ulimits: in Compose, ulimit -n in a shell)',
      { ...files },
    )
  return { connections: { most, clock } }
}

/** How many files one action may open: a connection to a provider, or a child process with its pipes. */
const actionFiles = 6
const checkAgainMs = 100

/**
 * Whether this process can open the files of another action. Without this check it would claim tasks, fail, and return
 * each with a longer wait, while other processes could run them.
 */
export function openFilesLeft(clock: Clock, log: Log): () => boolean {
  let isEnough = true
  let checkedAt = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock.now()
    if (Math.abs(now - checkedAt) < checkAgainMs) return isEnough
    checkedAt = now
    const before = isEnough
    isEnough = canOpen(actionFiles)
    if (before && !isEnough)
      log.error('no open files left: this process claims no new work', { limit: readOpenFiles()?.limit })
    if (!before && isEnough) log.info('files can be opened again')
    return isEnough
  }
}

function canOpen(count: number): boolean {
  const files: number[] = []
  try {
    while (files.length < count) files.push(openSync(devNull, 'r'))
    return true
  } catch {
    return false
  } finally {
    for (const file of files) closeSync(file)
  }
}

import { openBounded } from './bounded.ts'
import { Problem } from './problem.ts'
import { type CapRefusal, overCap } from './spend.ts'

/*
 * How many tasks of an owner may wait at once, and how many of its bytes may be stored. A task waits in the states `fetching`
 * and `queued`: see decision 0028.
 */

/** The owner has that many waiting tasks, or more. */
interface QueueRefusal {
  readonly mostQueued: number
}

/** Why a new task is not admitted. */
export type Refusal = CapRefusal | QueueRefusal

export function problemOf(refusal: Refusal): Problem {
  return 'cap' in refusal ? overCap(refusal) : queueFull(refusal)
}

export function storageQuotaReached(bytes: number, most: number): Problem {
  const message =
    `Your project stores ${bytes} bytes of videos and uploads, and the limit of this token is ${most} bytes (\`stored_bytes\`). ` +
    'Delete videos, wait until some expire, or ask your operator to raise the limit.'
  return new Problem('storage_quota_exceeded', message)
}

function queueFull({ mostQueued }: QueueRefusal): Problem {
  const message =
    `Your project has ${mostQueued} or more videos in the queue, and the limit of this token is ${mostQueued} (\`queued\`). ` +
    'Try again when some of them have started, delete queued videos, or ask your operator to raise the limit.'
  return new Problem('queue_full', message, { retryable: true })
}

/**
 * What a process knows about the number of waiting tasks of each owner. It counts them in the store only if this does not
 * prove that there is room: a count reads as many entries of an index as tasks wait.
 */
export interface QueueCounts {
  /**
   * Whether one more task of the owner fits for certain; without a limit it does. If so, it counts as inserted. Throws
   * `queue_full` if the owner was found at such a limit a moment ago: another count would read many entries.
   */
  admits(owner: string, most: number | undefined): boolean
  /** The store has refused a task of the owner. */
  refuse(owner: string, most: number): void
  /** Counts a task as inserted, if anything is known about its owner. */
  add(owner: string): void
  /** How many tasks were counted as inserted so far. Read it before the store counts. */
  mark(owner: string): number
  /** The store has counted, after `mark` was read. */
  learn(owner: string, counted: number, mark: number): void
}

interface Known {
  counted: number
  countedAt: number
  /** The mark of that count. */
  base: number
  added: number
  /** The limit that was reached, and when. */
  full?: { most: number; at: number }
}

interface CountOptions {
  /** How many processes may insert as many tasks as this one before each of them counts again. */
  processes: number
  /** A count is used for this long. */
  freshMs: number
  now: () => number
}

/** For so long a large queue stays full. A small one is counted each time: its client may have just deleted a task. */
const fullMs = 250
const largeQueue = 1_000

/** About 1 MB. An owner that is forgotten is counted again. */
const mostOwners = 10_000

/** Tasks that leave the queue make the real number smaller: what is known is a maximum until the next count. */
export function openQueueCounts({ processes, freshMs, now }: CountOptions): QueueCounts {
  const all = openBounded<Known>(mostOwners)
  function knownOf(owner: string): Known {
    const known = all.get(owner) ?? { counted: Number.POSITIVE_INFINITY, countedAt: 0, base: 0, added: 0 }
    all.set(owner, known)
    return known
  }
  function add(owner: string): void {
    const known = all.get(owner)
    if (known) known.added += 1
  }
  function isFull(owner: string, most: number): boolean {
    const full = all.get(owner)?.full
    return full !== undefined && most <= full.most && Math.abs(now() - full.at) < fullMs
  }
  return {
    admits(owner, most) {
      if (most === undefined) {
        add(owner)
        return true
      }
      if (isFull(owner, most)) throw queueFull({ mostQueued: most })
      const { counted, countedAt, base, added } = knownOf(owner)
      const fits = counted + processes * (added + 1 - base) <= most && Math.abs(now() - countedAt) <= freshMs
      if (fits) add(owner)
      return fits
    },
    refuse(owner, most) {
      if (most >= largeQueue) knownOf(owner).full = { most, at: now() }
    },
    add,
    mark: (owner) => knownOf(owner).added,
    learn(owner, counted, mark) {
      const known = knownOf(owner)
      // An earlier count may arrive later. A forgotten owner begins at 0 again.
      if (mark < known.base || mark > known.added) return
      Object.assign(known, { counted, countedAt: now(), base: mark })
    },
  }
}

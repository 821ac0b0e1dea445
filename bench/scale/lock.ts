/*
 * Simulates the claims of queued tasks, claim by claim: all workers of an installation make them in turn, under one lock. A
 * formula is not enough, because claims are not random: a worker that waits does nothing else, the queue grows meanwhile,
 * and the number of claimed tasks decides how long the lock is held.
 */
export interface LockOptions {
  workers: number
  /** New tasks. Infinite if the queue never runs out. */
  perSecond: number
  /** How long a claim holds the lock on average, by the number of queued and of claimed tasks. */
  holdMs: (queued: number, taken: number) => number
  /** The shortest time between two claims of a worker. */
  thinkMs: number
  /** How often a worker is woken: it then claims, if tasks are queued. */
  ringsPerSecond: number
  /** How many tasks one claim may take. */
  limit: number
  /** How many tasks a worker may send at once, and how long each takes. */
  room: number
  sendMs: number
  /** How long a claimed task still looks queued. */
  openMs: number
  chance: () => number
}

export interface LockResult {
  /** Share of the time in which the lock is held. */
  busy: number
  waitMs: number
  waitP99Ms: number
  /** The time between two rounds of a worker. */
  cycleMs: number
  batch: number
  /** Claimed tasks. */
  perSecond: number
  /** How long a task is queued although slots are free. */
  queuedMs: number
  /** Claims that timed out. */
  failed: number
}

/** Like `withinMs` of a claim in `src/stores/postgres/claims.ts`. */
const patienceMs = 3_000
/** Like `idleMs` of the engine: after this long a worker looks even if nothing woke it. */
const idleMs = 1_000
const [warmUpMs, measuredMs] = [30_000, 120_000]

interface Worker {
  /** When it requests the lock. */
  at: number
  sending: { until: number; count: number }[]
}

export function simulateLock(options: LockOptions): LockResult {
  const { chance, limit } = options
  const line = openLine(Array.from({ length: options.workers }, () => ({ at: chance() * idleMs, sending: [] })))
  const seen: Seen = { waits: [], busyMs: 0, taken: 0, queuedMs: 0, failed: 0, rounds: 0 }
  let [free, queued, last, seenUntil] = [0, 0, 0, 0]
  for (;;) {
    const worker = line.first()
    if (Math.max(worker.at, free) > warmUpMs + measuredMs) break
    // While the lock is held, tasks are queued: the holder saw them, too.
    if (worker.at >= free) {
      const come = arrivals((options.perSecond * (worker.at - last)) / 1000, chance)
      if (worker.at > warmUpMs) seen.queuedMs += queued * (worker.at - last)
      queued += come
      last = worker.at
      if (worker.at > warmUpMs) seen.rounds += 1
      if (queued === 0 && worker.at >= seenUntil) {
        line.again(worker.at + nap(options))
        continue
      }
    } else if (worker.at > warmUpMs) seen.rounds += 1
    const start = Math.max(worker.at, free)
    const wait = start - worker.at
    const counts = start > warmUpMs
    if (wait > patienceMs) {
      if (counts) seen.failed += 1
      line.again(worker.at + patienceMs + nap(options))
      continue
    }
    queued += arrivals((options.perSecond * (start - last)) / 1000, chance)
    if (counts) seen.queuedMs += queued * (start - last)
    last = start
    worker.sending = worker.sending.filter(({ until }) => until > start)
    const sending = worker.sending.reduce((sum, { count }) => sum + count, 0)
    const taken = Math.min(limit, queued, options.room - sending)
    const hold = options.holdMs(Math.min(queued, 1e9), taken) * spread(chance)
    queued -= taken
    free = start + hold
    if (taken > 0) seenUntil = Math.max(seenUntil, free + options.openMs)
    if (taken > 0) worker.sending.push({ until: free + options.sendMs, count: taken })
    if (counts) {
      seen.waits.push(wait)
      seen.busyMs += hold
      seen.taken += taken
    }
    line.again(free + nap(options))
  }
  return summarise(seen, options.workers)
}

interface Seen extends Record<'busyMs' | 'taken' | 'queuedMs' | 'failed' | 'rounds', number> {
  waits: number[]
}

function summarise({ waits, busyMs, taken, queuedMs, failed, rounds }: Seen, workers: number): LockResult {
  waits.sort((a, b) => a - b)
  return {
    busy: busyMs / measuredMs,
    waitMs: waits.reduce((sum, wait) => sum + wait, 0) / Math.max(1, waits.length),
    waitP99Ms: waits[Math.floor(waits.length * 0.99)] ?? 0,
    cycleMs: (workers * measuredMs) / Math.max(1, rounds),
    batch: taken / Math.max(1, waits.length),
    perSecond: (taken / measuredMs) * 1000,
    queuedMs: taken > 0 ? queuedMs / taken : 0,
    failed,
  }
}

/** The time until something wakes the worker, at most `idleMs`. */
function nap({ thinkMs, ringsPerSecond, chance }: LockOptions): number {
  return Math.max(thinkMs, Math.min(idleMs, (-Math.log(1 - chance()) / ringsPerSecond) * 1000))
}

/** A factor with mean 1 and standard deviation 1/2: the mean of four exponential ones. */
function spread(chance: () => number): number {
  return -Math.log((1 - chance()) * (1 - chance()) * (1 - chance()) * (1 - chance())) / 4
}

/** A random number of arrivals, Poisson-distributed with this mean. */
function arrivals(mean: number, chance: () => number): number {
  // 0 × infinity: no time has passed, and the rate is infinite.
  if (Number.isNaN(mean)) return 0
  if (mean === Number.POSITIVE_INFINITY) return mean
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance())
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal))
  }
  let count = 0
  for (let left = Math.exp(-mean), product = chance(); product > left; product *= chance()) count += 1
  return count
}

/** A heap by `at`: PostgreSQL grants a lock in the order of the requests. */
function openLine(workers: Worker[]) {
  const heap = workers.sort((a, b) => a.at - b.at)
  return {
    first: () => heap[0] as Worker,
    /** Moves the first worker to its next request. */
    again(at: number): void {
      const worker = heap[0] as Worker
      worker.at = at
      let place = 0
      for (;;) {
        const [left, right] = [2 * place + 1, 2 * place + 2]
        const child = (heap[right]?.at ?? Infinity) < (heap[left]?.at ?? Infinity) ? right : left
        const next = heap[child]
        if (!next || next.at >= at) return
        heap[place] = next
        heap[child] = worker
        place = child
      }
    },
  }
}

import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import { type Child, ChildLost, startChild } from './process.ts'
import type { Answer, Request } from './protocol.ts'

/** Jobs of one sort in the order they came, each alone in a child, and no more children than the lane is wide. */
export interface Lane extends AsyncDisposable {
  /** Rejects with the reason of the signal when it aborts, wherever the job is by then. */
  run(job: Job, signal: AbortSignal): Promise<Answer>
  children(): { pid: number; job: Request['kind'] | null }[]
}

export interface Job {
  request: Request
  /** A child that says nothing for so long hangs, and is killed. */
  silenceMs: number
  onProgress(percent: number): void
  /** What it means that the child crashed or hung or, if it was killed, that somebody else ended it. */
  lost(cause: string, killed: boolean): Problem
}

const idleMs = 30_000

interface Seat {
  child: Child
  job: Request['kind'] | null
  /** Ends the rest of an idle child. */
  wake: AbortController
}

export function openLane(clock: Clock, width: number): Lane {
  const seats = new Set<Seat>()
  const turns = openTurns(width)
  const closing = new AbortController()

  function seat(): Seat {
    const rested = [...seats].findLast((other) => other.job === null && other.child.usable)
    if (rested) {
      rested.wake.abort()
      rested.child.hold(true)
      return rested
    }
    const fresh: Seat = { child: startChild(), job: null, wake: new AbortController() }
    seats.add(fresh)
    void fresh.child.gone.then(() => {
      seats.delete(fresh)
      fresh.wake.abort()
    })
    return fresh
  }

  /** Its sleep and the child itself are let go of: an idle lane keeps no process alive. */
  async function rest(idle: Seat): Promise<void> {
    idle.job = null
    if (!idle.child.usable) return
    idle.child.hold(false)
    idle.wake = new AbortController()
    const { signal } = idle.wake
    await clock.sleep(idleMs, signal)
    if (!signal.aborted) idle.child.kill()
  }

  async function work(job: Job, signal: AbortSignal): Promise<Answer> {
    const taken = seat()
    taken.job = job.request.kind
    const { child } = taken
    const stop = AbortSignal.any([signal, closing.signal])
    stop.addEventListener('abort', child.kill, { once: true })
    using watch = watchSilence(clock, job.silenceMs, child)
    try {
      return await child.run(job.request, (percent) => {
        watch.heard()
        job.onProgress(percent)
      })
    } catch (thrown) {
      if (!(thrown instanceof ChildLost)) throw thrown
      stop.throwIfAborted()
      if (!watch.hung) throw job.lost(thrown.message, thrown.killed)
      throw job.lost(`no sign of life for ${job.silenceMs / 1000} s; ${thrown.message}`, false)
    } finally {
      stop.removeEventListener('abort', child.kill)
      void rest(taken)
    }
  }

  return {
    async run(job, signal) {
      const stop = AbortSignal.any([signal, closing.signal])
      await turns.take(stop)
      try {
        // The turn may have come in the same moment as the end.
        stop.throwIfAborted()
        return await work(job, signal)
      } finally {
        turns.give()
      }
    },
    children: () => [...seats].map(({ child, job }) => ({ pid: child.pid, job })),
    async [Symbol.asyncDispose]() {
      closing.abort(new Problem('internal', 'The service is stopping.', { retryable: true }))
      const leaving = [...seats].map(({ child }) => child)
      for (const child of leaving) {
        child.hold(true)
        child.kill()
      }
      await Promise.all(leaving.map((child) => child.gone))
    },
  }
}

interface SilenceWatch extends Disposable {
  readonly hung: boolean
  heard(): void
}

function watchSilence(clock: Clock, silenceMs: number, child: Child): SilenceWatch {
  const over = new AbortController()
  let last = clock.now()
  let hung = false
  async function watch(): Promise<void> {
    for (let left = silenceMs; left > 0; left = last + silenceMs - clock.now()) {
      await clock.sleep(left, over.signal)
      if (over.signal.aborted) return
    }
    hung = true
    child.kill()
  }
  void watch()
  return {
    get hung() {
      return hung
    },
    heard() {
      last = clock.now()
    },
    [Symbol.dispose]: () => over.abort(),
  }
}

interface Turns {
  /** Resolves in the order of asking; rejects with the reason of the signal. */
  take(signal: AbortSignal): Promise<void>
  give(): void
}

function openTurns(width: number): Turns {
  let free = width
  const waiting = new Set<() => void>()
  return {
    async take(signal) {
      signal.throwIfAborted()
      if (free > 0) {
        free -= 1
        return
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const leave = () => {
        waiting.delete(resolve)
        reject(signal.reason)
      }
      waiting.add(resolve)
      signal.addEventListener('abort', leave, { once: true })
      await promise.finally(() => signal.removeEventListener('abort', leave))
    },
    give() {
      const [next] = waiting
      if (!next) {
        free += 1
        return
      }
      waiting.delete(next)
      next()
    },
  }
}

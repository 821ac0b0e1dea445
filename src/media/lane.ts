import type { Clock } from '../core/clock.ts'
import { openFairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { type Child, ChildLost, startChild } from './process.ts'
import type { Answer, Request } from './protocol.ts'

/** Jobs of one sort, each alone in a child, and no more children than the lane is wide. Owners take turns. */
export interface Lane extends AsyncDisposable {
  /**
   * Rejects with the reason of the signal when it aborts, wherever the job is by then, and with `rate_limit_exceeded` if
   * the owner has too many jobs waiting.
   */
  run(job: Job, signal: AbortSignal): Promise<Answer>
  children(): { pid: number; job: Request['kind'] | null }[]
}

export interface Job {
  request: Request
  /** Who asked for it; jobs of the same owner run in the order they came. */
  owner: string
  /** A child that says nothing is killed: when it used so much CPU time meanwhile, or after so long. */
  silence: { cpuMs: number; wallMs: number }
  onProgress(percent: number): void
  lost(cause: string, loss: Loss): Problem
}

/**
 * How a child was lost. `crashed` and `hung` (it used its CPU time and said nothing) may be the fault of its job. `killed`
 * (by the machine) and `starved` (it got too little CPU time) are not.
 */
export type Loss = 'crashed' | 'hung' | 'killed' | 'starved'

const idleMs = 30_000
/** Answers to clients come before films, and a film no later than what is written of it: the store's writer has the same. */
const usualNice = 10

interface Seat {
  child: Child
  job: Request['kind'] | null
  /** Ends the rest of an idle child. */
  wake: AbortController
}

interface LaneOptions {
  clock: Clock
  width: number
  /** How far its children yield to this process, and to those of other lanes. */
  nice?: number
  /** Whether a child is ready for the next job also while none waits here: those that wait elsewhere are not seen. */
  hasSpare?: boolean
  /** How many jobs of one owner may run and wait, and what they are about; without it there is no limit. */
  line?: { mostHeld: number; mostWaiting: number; what: string }
}

export function openLane({ clock, width, nice = usualNice, hasSpare = false, line }: LaneOptions): Lane {
  const seats = new Set<Seat>()
  const turns = openFairTurns({ slots: width, ...line })
  const closing = new AbortController()
  let waiting = 0

  /** The oldest: the first job of a child takes several times as long as the next ones. */
  function idleSeat(): Seat | undefined {
    return [...seats].find((other) => other.job === null && other.child.usable)
  }

  function seat(kind: Request['kind']): Seat {
    const rested = idleSeat()
    if (!rested) return freshSeat(kind)
    rested.wake.abort()
    rested.child.hold(true)
    return rested
  }

  /** While the jobs of one owner wait, the next owner has a slot: its job must not wait for a child to start, either. */
  function startSpare(kind: Request['kind']): void {
    if (seats.size < width && !idleSeat() && !closing.signal.aborted) void rest(freshSeat(kind))
  }

  function freshSeat(kind: Request['kind']): Seat {
    const fresh: Seat = { child: startChild(clock, kind, nice), job: null, wake: new AbortController() }
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
    do await clock.sleep(idleMs, signal)
    while (!signal.aborted && waiting > 0)
    if (!signal.aborted) idle.child.kill()
  }

  async function turn({ request, owner }: Job, signal: AbortSignal): Promise<Disposable> {
    waiting += 1
    try {
      if (seats.size > 0) startSpare(request.kind)
      return await turns.take(owner, signal)
    } finally {
      waiting -= 1
    }
  }

  async function work(job: Job, signal: AbortSignal): Promise<Answer> {
    const taken = seat(job.request.kind)
    taken.job = job.request.kind
    if (waiting > 0 || hasSpare) startSpare(job.request.kind)
    const { child } = taken
    const stop = AbortSignal.any([signal, closing.signal])
    stop.addEventListener('abort', child.kill, { once: true })
    using watch = watchSilence(clock, job.silence, child)
    try {
      return await child.run(job.request, (percent) => {
        watch.heard()
        job.onProgress(percent)
      })
    } catch (thrown) {
      if (!(thrown instanceof ChildLost)) throw thrown
      stop.throwIfAborted()
      if (!watch.end) throw job.lost(thrown.message, thrown.killed ? 'killed' : 'crashed')
      const { cpuMs, wallMs } = job.silence
      const how = watch.end === 'hung' ? `in ${cpuMs / 1000} s of CPU time` : `for ${wallMs / 1000} s`
      throw job.lost(`no sign of life ${how}; ${thrown.message}`, watch.end)
    } finally {
      stop.removeEventListener('abort', child.kill)
      void rest(taken)
    }
  }

  return {
    async run(job, signal) {
      using _turn = await turn(job, AbortSignal.any([signal, closing.signal]))
      return await work(job, signal)
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

interface Watch extends Disposable {
  readonly end: 'hung' | 'starved' | null
  heard(): void
}

/** How often a child that has been silent for long is looked at. */
const lookMs = 1_000

/** A starved child and one that hangs are both silent: only the CPU time that a child used tells them apart. */
function watchSilence(clock: Clock, { cpuMs, wallMs }: Job['silence'], child: Child): Watch {
  const over = new AbortController()
  let last = clock.now()
  let usedAtLast = child.cpuMs()
  let end: Watch['end'] = null
  const judge = (): Watch['end'] => {
    const silentMs = clock.now() - last
    if (silentMs >= cpuMs && child.cpuMs() - usedAtLast >= cpuMs) return 'hung'
    return silentMs >= wallMs ? 'starved' : null
  }
  async function watch(): Promise<void> {
    while (end === null) {
      await clock.sleep(Math.max(lookMs, last + cpuMs - clock.now()), over.signal)
      if (over.signal.aborted) return
      end = judge()
    }
    child.kill()
  }
  void watch()
  return {
    get end() {
      return end
    },
    heard() {
      last = clock.now()
      usedAtLast = child.cpuMs()
    },
    [Symbol.dispose]: () => over.abort(),
  }
}

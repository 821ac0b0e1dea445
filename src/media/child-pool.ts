import type { Clock } from '../core/clock.ts'
import { openFairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { type Child, ChildLost, startChild } from './process.ts'
import type { JobRequest, JobResult } from './protocol.ts'

/** Runs jobs of one sort, each in a child of its own, with at most `width` children. Owners take turns. */
export interface ChildPool extends AsyncDisposable {
  /**
   * Rejects with the reason of the signal when it aborts, waiting or running, and with `rate_limit_exceeded` if the owner
   * has too many jobs waiting.
   */
  run(job: Job, signal: AbortSignal): Promise<JobResult>
  children(): { pid: number; job: JobRequest['kind'] | null }[]
}

export interface Job {
  request: JobRequest
  /** Jobs of one owner run in the order of their arrival. */
  owner: string
  /** A child that sends no message is killed after it used this much CPU time, or after this much time. */
  silence: { cpuMs: number; wallMs: number }
  onProgress(percent: number): void
  lost(cause: string, loss: Loss): Problem
}

/**
 * How a child was lost. `crashed` and `hung` (it used its CPU time without a message) may be the fault of its job.
 * `killed` (by the machine) and `starved` (it got too little CPU time) are not.
 */
export type Loss = 'crashed' | 'hung' | 'killed' | 'starved'

const idleMs = 30_000
/** Responses to clients come before films. The store's writer has the same priority as a film. */
const usualNice = 10

interface ChildSlot {
  child: Child
  job: JobRequest['kind'] | null
  /** How many it has begun. */
  jobs: number
  /** Ends the sleep of an idle child. */
  wake: AbortController
}

interface ChildPoolOptions {
  clock: Clock
  width: number
  /** The priority of its children below this process. */
  nice?: number
  /** Keeps a child ready for the next job even if no job waits here: jobs may wait elsewhere. */
  hasSpare?: boolean
  /** A child ends after so many jobs: what its decoders and its heap keep can't grow without end. */
  mostJobs?: number
  /** How many jobs of one owner may run and wait, and what messages call them. Without it there is no limit. */
  queue?: { mostHeld: number; mostWaiting: number; what: string }
}

export function openChildPool({
  clock,
  width,
  nice = usualNice,
  hasSpare = false,
  mostJobs = 10_000,
  queue,
}: ChildPoolOptions): ChildPool {
  const slots = new Set<ChildSlot>()
  const turns = openFairTurns({ slots: width, ...queue })
  const closing = new AbortController()
  let waiting = 0

  /** The oldest one: the first job of a child takes several times as long as the next ones. */
  function idleSlot(): ChildSlot | undefined {
    return [...slots].find((other) => other.job === null && other.child.usable)
  }

  function acquireSlot(kind: JobRequest['kind']): ChildSlot {
    const idle = idleSlot()
    if (!idle) return startSlot(kind)
    idle.wake.abort('a job')
    idle.child.hold(true)
    return idle
  }

  /** While the jobs of one owner wait, the next owner has a free slot. Its job must not wait for a child to start either. */
  function startSpare(kind: JobRequest['kind']): void {
    if (slots.size < width && !idleSlot() && !closing.signal.aborted) void rest(startSlot(kind))
  }

  function startSlot(kind: JobRequest['kind']): ChildSlot {
    const fresh: ChildSlot = { child: startChild(clock, kind, nice), job: null, jobs: 0, wake: new AbortController() }
    slots.add(fresh)
    void fresh.child.gone.then(() => {
      slots.delete(fresh)
      fresh.wake.abort('gone')
    })
    return fresh
  }

  /** Neither the sleep nor the child keeps this process alive. */
  async function rest(idle: ChildSlot): Promise<void> {
    idle.job = null
    if (!idle.child.usable) return
    if (idle.jobs >= mostJobs) return idle.child.kill()
    idle.child.hold(false)
    idle.wake = new AbortController()
    const { signal } = idle.wake
    do await clock.sleep(idleMs, signal)
    while (!signal.aborted && waiting > 0)
    if (!signal.aborted) idle.child.kill()
  }

  async function takeTurn({ request, owner }: Job, signal: AbortSignal): Promise<Disposable> {
    waiting += 1
    try {
      if (slots.size > 0) startSpare(request.kind)
      return await turns.take(owner, signal)
    } finally {
      waiting -= 1
    }
  }

  async function runInChild(job: Job, signal: AbortSignal): Promise<JobResult> {
    const slot = acquireSlot(job.request.kind)
    slot.job = job.request.kind
    slot.jobs += 1
    if (waiting > 0 || hasSpare) startSpare(job.request.kind)
    const { child } = slot
    const stop = AbortSignal.any([signal, closing.signal])
    stop.addEventListener('abort', child.kill, { once: true })
    using watch = watchSilence(clock, job.silence, child)
    try {
      return await child.run(job.request, (percent) => {
        watch.messageReceived()
        job.onProgress(percent)
      })
    } catch (thrown) {
      if (!(thrown instanceof ChildLost)) throw thrown
      stop.throwIfAborted()
      if (!watch.end) throw job.lost(thrown.message, thrown.killed ? 'killed' : 'crashed')
      const { cpuMs, wallMs } = job.silence
      const period = watch.end === 'hung' ? `in ${cpuMs / 1000} s of CPU time` : `for ${wallMs / 1000} s`
      throw job.lost(`no progress ${period}; ${thrown.message}`, watch.end)
    } finally {
      stop.removeEventListener('abort', child.kill)
      void rest(slot)
    }
  }

  return {
    async run(job, signal) {
      using _turn = await takeTurn(job, AbortSignal.any([signal, closing.signal]))
      return await runInChild(job, signal)
    },
    children: () => [...slots].map(({ child, job }) => ({ pid: child.pid, job })),
    async [Symbol.asyncDispose]() {
      closing.abort(new Problem('internal', 'The service is stopping.', { retryable: true }))
      const children = [...slots].map(({ child }) => child)
      for (const child of children) {
        child.hold(true)
        child.kill()
      }
      await Promise.all(children.map((child) => child.gone))
    },
  }
}

interface SilenceWatch extends Disposable {
  readonly end: 'hung' | 'starved' | null
  messageReceived(): void
}

/** How often a silent child is checked once it may have used its CPU time. */
const checkMs = 1_000

/** A starved child and a hung one are both silent. Only the used CPU time shows the difference. */
function watchSilence(clock: Clock, { cpuMs, wallMs }: Job['silence'], child: Child): SilenceWatch {
  const over = new AbortController()
  let last = clock.now()
  let usedAtLast = child.cpuMs()
  let end: SilenceWatch['end'] = null
  const endNow = (): SilenceWatch['end'] => {
    const silentMs = clock.now() - last
    if (silentMs >= cpuMs && child.cpuMs() - usedAtLast >= cpuMs) return 'hung'
    return silentMs >= wallMs ? 'starved' : null
  }
  async function watch(): Promise<void> {
    while (end === null) {
      // A clock that was set back must not let it sleep longer.
      last = Math.min(last, clock.now())
      await clock.sleep(Math.max(checkMs, last + cpuMs - clock.now()), over.signal)
      if (over.signal.aborted) return
      end = endNow()
    }
    child.kill()
  }
  void watch()
  return {
    get end() {
      return end
    },
    messageReceived() {
      last = clock.now()
      usedAtLast = child.cpuMs()
    },
    [Symbol.dispose]: () => over.abort('over'),
  }
}

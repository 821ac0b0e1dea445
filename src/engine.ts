import { type Bell, openBell } from './core/bell.ts'
import { waitAtMost } from './core/clock.ts'
import { openOutage } from './core/outage.ts'
import { Problem } from './core/problem.ts'
import { graceMs, renewMs } from './core/timing.ts'
import { openClaims } from './engine/claims.ts'
import { openLanes } from './engine/lanes.ts'
import { openOnward } from './engine/onward.ts'
import { type EngineOptions, idleMs } from './engine/options.ts'
import { openOutcomes } from './engine/outcome.ts'
import { openRecords } from './engine/records.ts'
import { replay } from './engine/replay.ts'
import { openRuns, type Runs } from './engine/runs.ts'

export type { EngineOptions } from './engine/options.ts'

/** Disposing drains: no new claims; running actions get `graceMs` to end; the rest is aborted, and its leases run out. */
type Engine = AsyncDisposable

/**
 * claim → run → record, for every lane. The only place that retries. One loop and one renewal timer serve all tasks, so
 * that thousands of running tasks need no timer each.
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { store, clock } = options
  const stop = new AbortController()
  const ended = new AbortController()
  const bell = openBell(clock, options.spacing)
  const replayOnce = openReplay(options)
  await replayOnce().catch((error) => postponeReplay(options, error))
  const lanes = await openLanes(options)
  const outcomes = openOutcomes(options)
  const records = openRecords(options, outcomes)
  const mayClaim = () => !records.stuck && options.hasFiles() && !stop.signal.aborted
  const nextLane = openOnward({ lanes, mayClaim })
  const runs = openRuns(options, { outcomes, records, nextLane, onEnd: bell.ring })
  const claim = openClaims(options, { lanes, runs, mayClaim })
  // The replay comes first: what an earlier process learnt about an attempt decides what is done with its task.
  const claimDue = async () => {
    await replayOnce()
    return claim()
  }
  const stopListening = store.onDue(bell.ring)
  const claiming = keepClaiming(options, { claimDue, bell, signal: stop.signal })
  const renewing = keepRenewing(options, runs, ended.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      stopListening()
      await claiming
      const actions = Promise.all([...runs.active].map(({ done }) => done))
      await waitAtMost(graceMs, actions, clock)
      for (const { abort } of runs.active) abort.abort()
      await actions
      ended.abort()
      await renewing
    },
  }
}

/** Replays at each call until a replay has succeeded. */
function openReplay(options: EngineOptions): () => Promise<void> {
  let isDone = false
  return async () => {
    if (isDone) return
    await replay(options)
    isDone = true
  }
}

/** A store that can't be written does not stop the start: it can still be read. */
function postponeReplay({ log }: EngineOptions, error: unknown): void {
  if (Problem.from(error).code !== 'storage_unavailable') throw error
  log.warn('spilled responses will be recorded later', { error })
}

async function keepClaiming(
  { store, clock, log }: EngineOptions,
  { claimDue, bell, signal }: { claimDue: () => Promise<number>; bell: Bell; signal: AbortSignal },
): Promise<void> {
  let last = clock.now()
  let isSetBack = false
  const outage = openOutage({ log, clock, down: 'claim failed', up: 'claims succeed again' })
  while (!signal.aborted) {
    bell.mute()
    let delay = idleMs
    try {
      isSetBack ||= clock.now() < last - idleMs
      last = clock.now()
      delay = await claimDue()
      // Without this, unfinished tasks stay due at times that the clock reaches much later.
      if (isSetBack) await store.repairDueTimes(clock.now())
      isSetBack = false
      outage.worked()
    } catch (error) {
      outage.failed({ error })
    }
    await bell.wait(delay, signal)
    // The writes of one commit and the ends of their runs ring one after another: one round serves them all.
    await new Promise(setImmediate)
  }
}

async function keepRenewing({ clock, log }: EngineOptions, runs: Runs, signal: AbortSignal): Promise<void> {
  const outage = openOutage({ log, clock, down: 'leases could not be renewed', up: 'leases are renewed again' })
  for (;;) {
    await clock.sleep(renewMs, signal)
    if (signal.aborted) return
    if (runs.active.size === 0) continue
    await runs.renew().then(outage.worked, (error) => outage.failed({ error }))
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../window.ts'
import { type Measure, moment, type Watch } from './duel.ts'

/** What was measured of one measure in one phase. */
export interface Times {
  count: number
  p50: number
  p99: number
  /** Those that had not ended when the phase did: they count with the time that they had taken by then. */
  unfinished: number
  /** What went wrong, each once. */
  failures: string[]
}

export interface Phase {
  /** Of each measure. */
  count: number
  /** None is begun later. */
  withinMs: number
  lanes: number
}

/** Between the starts of two in one lane, so that a phase has room for a stall. */
const everyMs = 50

/** What is under way by then has so long to end. */
const graceMs = 5_000

/** One after another in each lane, and each measure in turn. */
export async function measureAll(measures: readonly Measure[], phase: Phase): Promise<Map<Measure, Times>> {
  const rounds = Math.ceil(phase.count / phase.lanes)
  const tallies = new Map(measures.map((measure) => [measure, new Tally()]))
  const over = AbortSignal.timeout(phase.withinMs)
  const signal = AbortSignal.timeout(phase.withinMs + graceMs)
  const lane = async () => {
    for (let round = 0; round < rounds; round += 1)
      for (const [measure, tally] of tallies) if (!over.aborted) await measureOnce(measure, tally, signal)
  }
  await Promise.all(Array.from({ length: phase.lanes }, lane))
  return new Map([...tallies].map(([measure, tally]) => [measure, tally.times()]))
}

async function measureOnce({ run }: Measure, tally: Tally, signal: AbortSignal): Promise<void> {
  const begun = moment()
  const watch: Watch = { begun }
  const since = (end: number) => Math.max(0, end - (watch.begun ?? end))
  try {
    const end = await run(watch, signal)
    tally.values.push(since(end))
  } catch (error) {
    if (signal.aborted) {
      if (watch.begun !== undefined) tally.unfinished.push(since(moment()))
      return
    }
    tally.values.push(since(moment()))
    tally.failures.add(error instanceof Error ? error.message : String(error))
  }
  await pause(Math.max(0, everyMs - (moment() - begun)), undefined, { signal }).catch(() => {})
}

class Tally {
  readonly values: number[] = []
  readonly unfinished: number[] = []
  readonly failures = new Set<string>()

  times(): Times {
    const sorted = [...this.values, ...this.unfinished].sort((a, b) => a - b)
    return {
      count: sorted.length,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      unfinished: this.unfinished.length,
      failures: [...this.failures],
    }
  }
}

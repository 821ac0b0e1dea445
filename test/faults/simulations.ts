import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { OnUnknown, Recovery } from '../../src/core/attempt.ts'
import { crashPoints } from './life.ts'
import { judge } from './oracle.ts'
import { simulate } from './simulation.ts'

/** A row of the table: all worlds with one kind of provider. */
export interface Summary {
  name: string
  tasks: number
  accepts: number
  crashes: number
  unknown: number
  orphans: number
  resubmits: number
  stranded: number
  unaskedRepeats: number
  wrongBytes: number
  violations: string[]
  /** Pairs of crash point and fault that occurred. */
  covered: Set<string>
}

interface Job {
  name: string
  recovery: Recovery
  onUnknown: OnUnknown
  tasks: number
  seed: number
}

const sorts: [name: string, recovery: Recovery, onUnknown: OnUnknown][] = [
  ['key', 'key', 'hold'],
  ['lookup', 'lookup', 'hold'],
  ['list', 'list', 'hold'],
  ['list, resubmit', 'list', 'resubmit'],
  ['none, hold', 'none', 'hold'],
  ['none, resubmit', 'none', 'resubmit'],
]
/** Small worlds: searches through the history of a large one take long. */
const worldTasks = 250

/** At least this many submits, over all kinds of providers, on all cores. */
export async function runSimulations(options: {
  submits: number
  seed: number
  onWorld: (done: number) => void
}): Promise<Summary[]> {
  const worlds = Math.ceil(options.submits / worldTasks / sorts.length)
  const jobs: Job[] = sorts.flatMap(([name, recovery, onUnknown]) =>
    Array.from({ length: worlds }, (_, at) => ({
      name,
      recovery,
      onUnknown,
      tasks: worldTasks,
      seed: options.seed + at * 7,
    })),
  )
  const summaries = new Map(sorts.map(([name]) => [name, emptySummary(name)]))
  let done = 0
  const work = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      add(summaries.get(job.name), await inThread(job))
      done += job.tasks
      options.onWorld(done)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return [...summaries.values()]
}

function emptySummary(name: string): Summary {
  const none = Object.fromEntries(counted.map((field) => [field, 0])) as Record<(typeof counted)[number], number>
  return { name, ...none, violations: [], covered: new Set() }
}

const counted = [
  ...(['tasks', 'accepts', 'crashes', 'unknown', 'orphans', 'resubmits', 'stranded'] as const),
  ...(['unaskedRepeats', 'wrongBytes'] as const),
] as const

function add(sum: Summary | undefined, part: Summary): void {
  if (!sum) return
  for (const field of counted) sum[field] += part[field]
  sum.violations.push(...part.violations)
  for (const pair of part.covered) sum.covered.add(pair)
}

function inThread(job: Job): Promise<Summary> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: job })
    thread.once('message', resolve).once('error', reject)
  })
}

/** How many pairs of crash point and fault there are, with no fault as one. */
export function pairsOf(faults: number): number {
  return crashPoints.length * (faults + 1)
}

if (!isMainThread && workerData?.recovery) {
  const job = workerData as Job
  const history = await simulate(job)
  const verdict = judge(history)
  const summary: Summary = { name: job.name, crashes: history.lives - 1, covered: history.covered, ...verdict }
  parentPort?.postMessage(summary)
}

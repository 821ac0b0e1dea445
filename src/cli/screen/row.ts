import type { Trouble } from '../patience.ts'
import type { Task } from '../video.ts'
import type { BarView } from './bar.ts'
import { type Sample, timeLeft, withSample } from './estimate.ts'
import { printable } from './text.ts'
import { bytes, roughly } from './wording.ts'

/** Shows progress on stderr: bars in a terminal, lines elsewhere. */
export interface Progress extends Disposable {
  /** A video to show; its label is null if there is only one. */
  row(label: string | null): Row
  /** A line that stays. */
  note(text: string): void
  /** The line below the bars; only in a terminal. */
  total(text: () => string): void
  /** A question below the bars, until it is disposed. */
  question(text: string): Disposable
}

/** One video. `follow` and `save` call its callbacks. */
export interface Row extends Disposable {
  readonly facts: Readonly<RowFacts>
  onTask(task: Task): void
  onBytes(done: number, total: number | null): void
  onTrouble(trouble: Trouble | null): void
}

type Phase = 'sending' | 'queued' | 'drawing' | 'downloading'

/** What is known of a video, for bars and lines. */
export interface RowFacts {
  label: string | null
  phase: Phase
  percent: number | null
  startedAt: number
  samples: readonly Sample[]
  /** Why the video is not finished yet. */
  reason: string | null
  /** Shown beside a bar without a percentage. */
  detail: string | null
  /** A failure that will be retried. */
  trouble: string | null
}

interface RowOwner {
  now(): number
  /** Called after each change, with the facts before and after it. */
  onChange?(before: RowFacts, after: RowFacts): void
  onEnd?(): void
}

export function openRow(label: string | null, { now, onChange, onEnd }: RowOwner): Row {
  const facts: RowFacts = {
    label: label && printable(label),
    phase: 'sending',
    percent: null,
    startedAt: now(),
    samples: [],
    reason: null,
    detail: null,
    trouble: null,
  }
  const change = (changes: Partial<RowFacts>) => {
    const before = { ...facts }
    Object.assign(facts, changes)
    onChange?.(before, facts)
  }
  return {
    facts,
    onTask: (task) => change(factsOf(task, facts.samples, now())),
    onBytes: (done, total) => change({ phase: 'downloading', samples: [], reason: null, ...amount(done, total) }),
    onTrouble: (trouble) => change({ trouble: trouble && describe(trouble) }),
    [Symbol.dispose]: () => onEnd?.(),
  }
}

function factsOf(task: Task, samples: readonly Sample[], now: number): Partial<RowFacts> {
  const { reason } = task
  if (task.status === 'queued') return { phase: 'queued', percent: null, reason }
  // Finished: the download sets the next phase.
  if (task.status !== 'in_progress') return {}
  const percent = task.progress === null ? null : Math.min(100, Math.max(0, task.progress))
  const known = percent === null ? samples : withSample(samples, { at: now, percent })
  return { phase: 'drawing', percent, reason, samples: known }
}

function amount(done: number, total: number | null): Partial<RowFacts> {
  const of = total === null ? '' : ` of ${bytes(total)}`
  return { percent: total === null ? null : (done / Math.max(1, total)) * 100, detail: `${bytes(done)}${of}` }
}

function describe({ message, againInMs }: Trouble): string {
  return printable(`again in ${roughly(againInMs)}: ${message}`)
}

export function viewOf(facts: RowFacts, now: number, frame: number): BarView {
  return {
    label: facts.label,
    phase: facts.phase,
    fraction: facts.percent === null ? null : facts.percent / 100,
    elapsedMs: now - facts.startedAt,
    leftMs: facts.phase === 'drawing' ? timeLeft(facts.samples, now) : null,
    detail: facts.detail ?? facts.reason,
    trouble: facts.trouble,
    frame,
  }
}

import type { Trouble } from '../patience.ts'
import type { Task } from '../video.ts'
import type { BarView } from './bar.ts'
import { type Sample, timeLeft, withSample } from './estimate.ts'
import { printable } from './text.ts'
import { bytes, roughly } from './wording.ts'

/** Shows what is going on, on stderr: bars in a terminal, lines elsewhere. */
export interface Progress extends Disposable {
  /** A film to be watched; its label is null where there is only one. */
  row(label: string | null): Row
  /** A line that stays. */
  note(text: string): void
  /** The line below the bars; only in a terminal. */
  total(text: () => string): void
  /** A question below the bars; disposed, it goes. */
  question(text: string): Disposable
}

/** One film being watched. Its callbacks are those that `follow` and `save` call. */
export interface Row extends Disposable {
  readonly facts: Readonly<RowFacts>
  onTask(task: Task): void
  onBytes(done: number, total: number | null): void
  onTrouble(trouble: Trouble | null): void
}

type Phase = 'sending' | 'queued' | 'drawing' | 'downloading'

/** What is known of a film, for whoever shows it. */
export interface RowFacts {
  label: string | null
  phase: Phase
  percent: number | null
  startedAt: number
  samples: readonly Sample[]
  /** What goes beside a bar that has no percents. */
  detail: string | null
  /** What went wrong and will be tried again. */
  trouble: string | null
}

interface RowOwner {
  now(): number
  /** Called with what was known before each change. */
  onChange?(before: RowFacts, after: RowFacts): void
  onEnd?(): void
}

export function openRow(label: string | null, { now, onChange, onEnd }: RowOwner): Row {
  const facts: RowFacts = {
    ...{
      label: label && printable(label),
      phase: 'sending',
      percent: null,
      startedAt: now(),
      samples: [],
      detail: null,
      trouble: null,
    },
  }
  const change = (changes: Partial<RowFacts>) => {
    const before = { ...facts }
    Object.assign(facts, changes)
    onChange?.(before, facts)
  }
  return {
    facts,
    onTask: (task) => change(factsOf(task, facts.samples, now())),
    onBytes: (done, total) => change({ phase: 'downloading', samples: [], ...amount(done, total) }),
    onTrouble: (trouble) => change({ trouble: trouble && describe(trouble) }),
    [Symbol.dispose]: () => onEnd?.(),
  }
}

function factsOf(task: Task, samples: readonly Sample[], now: number): Partial<RowFacts> {
  if (task.status === 'queued') return { phase: 'queued', percent: null }
  // Nothing is drawn any more: what comes next, comes by itself.
  if (task.status !== 'in_progress') return {}
  const percent = task.progress === null ? null : Math.min(100, Math.max(0, task.progress))
  return { phase: 'drawing', percent, samples: percent === null ? samples : withSample(samples, { at: now, percent }) }
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
    detail: facts.detail,
    trouble: facts.trouble,
    frame,
  }
}

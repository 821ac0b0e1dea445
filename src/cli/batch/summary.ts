import { exits } from '../failure.ts'
import { type Column, table } from '../screen/table.ts'
import { type Colour, painter } from '../screen/text.ts'
import { clockTime } from '../screen/wording.ts'
import type { Terminal } from '../terminal.ts'
import type { Outcome } from './run.ts'

type Shown = Outcome['status'] | 'already there'

/** In the order of the tally. */
const colours: Record<Shown, Colour> = {
  done: 'green',
  'already there': 'green',
  failed: 'red',
  error: 'red',
  unknown: 'yellow',
  'left running': 'cyan',
  'not started': 'dim',
}

/** Distinguishes videos that an earlier run has downloaded. */
export function shownStatus({ status, already }: Outcome): Shown {
  return already ? 'already there' : status
}

/** The table at the end. */
export function summary(outcomes: readonly Outcome[], terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const columns: Column<Outcome>[] = [
    { title: 'LINE', text: ({ line }) => String(line.number), align: 'right' },
    { title: 'FILE', text: ({ line, file }) => file ?? `(${line.label})`, least: 12, cut: 'middle' },
    { title: 'STATUS', text: shownStatus, paint: (outcome, text) => paint(colours[shownStatus(outcome)], text) },
    {
      title: 'TOOK',
      align: 'right',
      extra: true,
      text: ({ tookMs }) => (tookMs === null ? '' : clockTime(tookMs)),
    },
    { title: 'ERROR', text: ({ error }) => error ?? '', least: 8 },
  ]
  const kept = outcomes.some(({ error }) => error) ? columns : columns.slice(0, -1)
  return table(outcomes, kept, { columns: terminal.stdoutIsTerminal ? terminal.size().columns : null, paint })
}

/** `4 done, 1 failed, 1 not started`. */
export function tally(outcomes: readonly Outcome[]): string {
  const counts = Map.groupBy(outcomes, shownStatus)
  const order = Object.keys(colours) as Shown[]
  return order.flatMap((status) => (counts.has(status) ? [`${counts.get(status)?.length} ${status}`] : [])).join(', ')
}

/** The line below the bars. */
export function totalLine(outcomes: readonly Outcome[], all: number, elapsedMs: number): string {
  const waiting = all - outcomes.length
  const counts = tally(outcomes)
  return `${outcomes.length} of ${all}${counts ? `: ${counts}` : ''}${waiting > 0 ? `, ${waiting} to go` : ''}  ${clockTime(elapsedMs)}`
}

export function toJson({ line, status, id, file, tookMs, error }: Outcome, pathOf: (file: string) => string) {
  const seconds = tookMs === null ? null : Math.round(tookMs / 1000)
  return { line: line.number, status, id, file: file === null ? null : pathOf(file), seconds_taken: seconds, error }
}

export function exitCodeOf(outcomes: readonly Outcome[], interrupted: boolean): number {
  if (outcomes.every(({ status }) => status === 'done')) return exits.done
  if (interrupted) return exits.interrupted
  return outcomes.some(({ status }) => status === 'failed') ? exits.videoFailed : exits.error
}

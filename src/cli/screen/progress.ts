import type { Terminal } from '../terminal.ts'
import { openLive } from './live.ts'
import { openRow, type Progress, type RowFacts } from './row.ts'
import { printable } from './text.ts'

/** Bars in a terminal, lines elsewhere. `quiet`: no lines for percentages, for many videos at once. */
export function openProgress(terminal: Terminal, { quiet = false }: { quiet?: boolean } = {}): Progress {
  return terminal.live ? openLive(terminal) : openPlain(terminal, quiet)
}

/** Lines for a log: for each change of status, each 10 % and each failed request. */
function openPlain(terminal: Terminal, quiet: boolean): Progress {
  return {
    row(label) {
      const onChange = (before: RowFacts, after: RowFacts) => {
        const text = lineFor(before, after, quiet)
        if (text !== null) terminal.err(`${printable(`${label === null ? '' : `${label}: `}${text}`)}\n`)
      }
      return openRow(label, { now: terminal.now, onChange })
    },
    note: (text) => terminal.err(`${printable(text)}\n`),
    total() {},
    question: () => ({ [Symbol.dispose]() {} }),
    [Symbol.dispose]() {},
  }
}

export function lineFor(before: RowFacts, after: RowFacts, quiet: boolean): string | null {
  if (after.trouble !== null && after.trouble !== before.trouble) return after.trouble
  if (after.phase !== before.phase) return after.phase
  const tens = (percent: number | null) => Math.floor((percent ?? 0) / 10)
  const passed = after.phase === 'drawing' && tens(after.percent) > tens(before.percent)
  return passed && !quiet ? `${after.phase} ${tens(after.percent) * 10} %` : null
}

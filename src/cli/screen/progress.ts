import type { Terminal } from '../terminal.ts'
import { openLive } from './live.ts'
import { openRow, type Progress, type RowFacts } from './row.ts'
import { printable } from './text.ts'

/** Bars in a terminal, lines elsewhere. `quiet`: no lines for percentages and reasons, for many videos at once. */
export function openProgress(terminal: Terminal, { quiet = false }: { quiet?: boolean } = {}): Progress {
  return terminal.live ? openLive(terminal) : openPlain(terminal, quiet)
}

/** Lines for a log: for each change of status, each reason to wait, each 10 % and each failed request. */
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
  const { phase, percent, reason, trouble } = after
  if (trouble !== null && trouble !== before.trouble) return trouble
  if (quiet) return phase === before.phase ? null : phase
  if (reason !== null && reason !== before.reason) return `${phase}: ${reason}`
  if (phase !== before.phase) return phase
  const tens = (some: number | null) => Math.floor((some ?? 0) / 10)
  const passed = phase === 'drawing' && tens(percent) > tens(before.percent)
  return passed ? `${phase} ${tens(percent) * 10} %` : null
}

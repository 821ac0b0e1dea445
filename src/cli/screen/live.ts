import type { Terminal } from '../terminal.ts'
import { renderBar } from './bar.ts'
import { openRow, type Progress, type RowFacts, viewOf } from './row.ts'
import { fit, painter, printable, widthOf } from './text.ts'

const frameMs = 120
const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
/** Terminals that support it show a frame only when it is complete; others ignore it. */
const [beginFrame, endFrame] = ['\x1b[?2026h', '\x1b[?2026l']

/**
 * Bars at the bottom of a terminal. Nothing is cleared before it is drawn again, so nothing flickers. The cursor stays
 * at the start of the last line, so that the next frame replaces an echoed ^C.
 */
export function openLive(terminal: Terminal): Progress {
  const paint = painter(terminal.colour.stderr)
  const rows: Readonly<RowFacts>[] = []
  let total: (() => string) | null = null
  let question: string | null = null
  let drawn: string[] = []
  let frame = 0
  // It only grows: bars that jump when videos come and go are hard to read.
  let labelWidth = 0

  function lines(): string[] {
    const { columns, rows: height } = terminal.size()
    // The last column stays free: some terminals wrap on it.
    const width = columns - 1
    labelWidth = Math.max(labelWidth, ...rows.map(({ label }) => widthOf(label ?? '')))
    const look = { columns: width, unicode: terminal.unicode, paint, labelWidth }
    const below = [...(total ? [total()] : []), ...(question ? [question] : [])].map((text) => fit(text, width))
    const shown = rows.slice(0, Math.max(1, height - 1 - below.length))
    const bars = shown.map((facts) => renderBar(viewOf(facts, terminal.now(), frame), look))
    const asked = question === null ? [] : [paint('yellow', below.pop() ?? '')]
    return [...bars, ...below.map((text) => paint('dim', text)), ...asked]
  }

  /** `above` is printed once and scrolls away with everything else. */
  function draw(above = ''): void {
    const next = lines()
    const text = [...(above === '' ? [] : [above]), ...next].map((line) => `${line}\x1b[K`).join('\n')
    terminal.err(`${beginFrame}${toTop()}${text}\x1b[J\r${endFrame}`)
    drawn = next
  }

  /** Moves to the first line that was drawn. A window that became narrower has wrapped the lines. */
  function toTop(): string {
    const { columns } = terminal.size()
    const height = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
    return `\r${height > 1 ? `\x1b[${height - 1}A` : ''}`
  }

  /** Leaves the drawn lines to the shell; the next frame starts below its output. */
  function suspend(): void {
    terminal.err(`\n${showCursor}`)
    drawn = []
  }

  const stopped = new AbortController()
  async function animate(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (rows.length > 0 || question !== null) draw()
      await terminal.sleep(frameMs, stopped.signal)
      frame += 1
    }
  }

  terminal.err(hideCursor)
  const watched = [
    terminal.onResize(() => draw()),
    terminal.onExit(() => terminal.err(showCursor)),
    terminal.onSuspend(suspend, () => terminal.err(hideCursor)),
  ]
  void animate()
  return {
    row(label) {
      const end = () => void rows.splice(rows.indexOf(row.facts), 1)
      const row = openRow(label, { now: terminal.now, onEnd: end })
      rows.push(row.facts)
      return row
    },
    note: (text) => draw(printable(text)),
    total(text) {
      total = text
    },
    question(text) {
      question = text
      draw()
      return {
        [Symbol.dispose]() {
          question = null
        },
      }
    },
    [Symbol.dispose]() {
      stopped.abort()
      for (const one of watched) one[Symbol.dispose]()
      terminal.err(`${toTop()}\x1b[J${showCursor}`)
      drawn = []
    },
  }
}

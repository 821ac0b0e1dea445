import type { Progress } from '../../migrate.ts'
import { renderBar } from '../screen/bar.ts'
import { type Sample, timeLeft, withSample } from '../screen/estimate.ts'
import { painter } from '../screen/text.ts'
import { bytes, clockTime, roughly } from '../screen/wording.ts'
import type { Terminal } from '../terminal.ts'

interface MoveProgress extends Disposable {
  report(progress: Progress): void
}

const frameMs = 120

/** What a move is at, on stderr: a bar in a terminal, elsewhere a line for each phase and each 10 %. */
export function openMoveProgress(terminal: Terminal): MoveProgress {
  const startedAt = terminal.now()
  let phase: Progress['phase'] | null = null
  let samples: readonly Sample[] = []
  let [drawnAt, tens, frame] = [0, 0, 0]

  function draw(progress: Progress, left: number | null, now: number): void {
    const { done, total } = progress
    if (now - drawnAt < frameMs && done !== total) return
    drawnAt = now
    frame += 1
    const fraction = total ? done / total : null
    const detail = [amountOf(progress), ...(left === null ? [] : [`${roughly(left)} left`])].join(', ')
    const view = { label: null, phase: progress.phase, fraction, elapsedMs: now - startedAt, leftMs: null, detail }
    const look = {
      columns: terminal.size().columns - 1,
      unicode: terminal.unicode,
      paint: painter(terminal.colour.stderr),
    }
    terminal.err(`\r${renderBar({ ...view, trouble: null, frame }, look)}\x1b[K`)
  }

  function print(progress: Progress, isNew: boolean, left: number | null, now: number): void {
    const passed = percentOf(progress) >= tens + 10
    if (!isNew && !passed) return
    tens = Math.floor(percentOf(progress) / 10) * 10
    const parts = [`${clockTime(now - startedAt)} ${progress.phase}`, isNew ? '' : `${tens} %:`, amountOf(progress)]
    terminal.err(`${parts.filter(Boolean).join(' ')}${left === null ? '' : `, ${roughly(left)} left`}\n`)
  }

  return {
    report(progress) {
      const now = terminal.now()
      const isNew = progress.phase !== phase
      if (isNew) [phase, samples, tens] = [progress.phase, [], 0]
      samples = withSample(samples, { at: now, percent: percentOf(progress) })
      const left = progress.done === progress.total ? null : timeLeft(samples, now)
      if (terminal.live) draw(progress, left, now)
      else print(progress, isNew, left, now)
    },
    [Symbol.dispose]() {
      if (terminal.live) terminal.err('\r\x1b[K')
    },
  }
}

function percentOf({ done, total }: Progress): number {
  return total ? Math.min(100, (done / total) * 100) : 0
}

function amountOf({ phase, done, total }: Progress): string {
  if (phase === 'films') return `${bytes(done)} of ${bytes(total ?? 0)}`
  return total === null ? (done === 0 ? '' : `${done} rows`) : `${done} of ${total} rows`
}

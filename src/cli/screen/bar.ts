import { fit, type Paint, padEnd, widthOf } from './text.ts'
import { clockTime, roughly } from './wording.ts'

export interface BarView {
  /** The name of the video, if there are several. */
  label: string | null
  phase: string
  /** 0 to 1, or null while it is unknown. */
  fraction: number | null
  elapsedMs: number
  leftMs: number | null
  /** Shown instead of the time that is left. */
  detail: string | null
  /** A failure that will be retried, shown instead of both. */
  trouble: string | null
  /** The frame number of the spinner. */
  frame: number
}

interface BarLook {
  columns: number
  unicode: boolean
  paint: Paint
  /** The width of the longest label, so that bars align. */
  labelWidth?: number
}

const phaseWidth = 'downloading'.length
const tailWidth = 'almost done'.length
const [leastBar, mostBar] = [8, 40]

/** One line, never wider than the screen. On a narrow screen the least important parts are left out first. */
export function renderBar(view: BarView, { columns, unicode, paint, labelWidth = 0 }: BarLook): string {
  const { label, phase, fraction, elapsedMs, leftMs, detail, trouble } = view
  const percent = fraction === null ? '' : `${Math.floor(fraction * 100)}%`
  const left = leftMs === null ? '' : leftMs < 500 ? 'almost done' : `${roughly(leftMs)} left`
  const alone = label === null
  const narrow = columns < 60
  const shownLabel = Math.min(labelWidth, narrow ? 12 : 26)
  const parts = {
    label: alone ? '' : padEnd(fit(label, shownLabel), shownLabel),
    // A label leaves no room for both, and a percentage implies the phase.
    phase: narrow ? (alone || fraction === null ? phase : '') : padEnd(phase, phaseWidth),
    percent: percent.padStart(4),
    elapsed: clockTime(elapsedMs).padStart(5),
    // Padded, so that several bars end in the same column.
    tail: trouble ?? detail ?? (alone ? left : padEnd(left, tailWidth)),
  }
  const room = () =>
    columns - 2 - Object.values(parts).reduce((sum, part) => sum + (part === '' ? 0 : widthOf(part) + 1), 0)
  if (room() < leastBar && trouble === null) parts.tail = ''
  if (room() < leastBar) parts.elapsed = ''
  // The failure is more important than the bar.
  if (room() < 0) parts.tail = fit(parts.tail, Math.max(0, widthOf(parts.tail) + room()))
  if (room() < 0) parts.label = fit(parts.label.trimEnd(), Math.max(0, widthOf(parts.label) + room()))
  const width = Math.min(mostBar, room())
  const line = [
    spinner(view, { unicode, paint }),
    paint('bold', parts.label),
    parts.phase,
    width < leastBar || (narrow && parts.percent.trim() === '' && !alone)
      ? ''
      : gauge(fraction, width, { unicode, paint }),
    parts.percent,
    paint('dim', parts.elapsed),
    paint(trouble === null ? 'dim' : 'yellow', parts.tail),
  ]
  return line
    .filter((part) => part !== '')
    .join(' ')
    .trimEnd()
}

function spinner({ frame }: BarView, { unicode, paint }: { unicode: boolean; paint: Paint }): string {
  const shapes = unicode ? '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏' : '|/-\\'
  return paint('cyan', shapes[frame % shapes.length] ?? '')
}

/** The bar itself, in steps of half a cell. */
export function gauge(
  fraction: number | null,
  width: number,
  { unicode, paint }: { unicode: boolean; paint: Paint },
): string {
  const halves = Math.round(Math.min(1, Math.max(0, fraction ?? 0)) * width * 2)
  const full = Math.floor(halves / 2)
  const half = halves % 2
  const rest = width - full - half
  if (!unicode) return `${paint('cyan', '#'.repeat(full + half))}${paint('dim', '-'.repeat(rest))}`
  // One thin line in two colours, readable on dark and light screens. Without colours the rest is dotted.
  const empty = paint('dim', 'x') === 'x' ? '┄' : '━'
  return `${paint('cyan', '━'.repeat(full) + (half ? '╸' : ''))}${paint('dim', empty.repeat(rest))}`
}

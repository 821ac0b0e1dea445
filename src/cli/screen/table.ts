import { type Colour, fit, fitMiddle, type Paint, padEnd, padStart, printable, widthOf } from './text.ts'

export interface Column<Row> {
  title: string
  text(row: Row): string
  align?: 'right'
  /** The least width that a narrow terminal may cut it to; columns without one are never cut. */
  least?: number
  /** Where it is cut: at the end, unless the end is what tells it from others. */
  cut?: 'middle'
  /** Left out where the screen is too narrow for all, the last first. */
  extra?: true
  paint?(row: Row, text: string): string
}

interface Look {
  /** Null: nobody's screen, nothing is cut. */
  columns: number | null
  paint: Paint
}

/** Aligned lines under a heading, cut to the screen. */
export function table<Row>(rows: readonly Row[], all: readonly Column<Row>[], { columns: room, paint }: Look): string {
  // Not all at once: a call takes only so many arguments.
  const widthIn = (column: Column<Row>) =>
    rows.reduce((most, row) => Math.max(most, widthOf(printable(column.text(row)))), widthOf(column.title))
  const columns = all.map((column) => ({ ...column, width: widthIn(column) }))
  if (room !== null) {
    leaveOut(columns, room)
    squeeze(columns, room)
  }
  const line = (cell: (column: (typeof columns)[number]) => string) => `${columns.map(cell).join('  ').trimEnd()}\n`
  const place = (text: string, column: (typeof columns)[number]) => {
    const { align, cut, width } = column
    const last = column === columns.at(-1)
    const fitted = cut === 'middle' ? fitMiddle(text, width) : fit(text, width)
    if (align === 'right') return padStart(fitted, width)
    return last ? fitted : padEnd(fitted, width)
  }
  const heading = line((column) => paint('dim', place(column.title, column)))
  const body = rows.map((row) =>
    line((column) => {
      const text = place(printable(column.text(row)), column)
      return column.paint?.(row, text) ?? text
    }),
  )
  return [heading, ...body].join('')
}

interface Fitting {
  width: number
  least?: number
  extra?: true
}

function leaveOut(columns: Fitting[], room: number): void {
  const leastOf = ({ width, least = width }: Fitting) => Math.min(width, least)
  while (totalOf(columns.map(leastOf)) > room) {
    const last = columns.findLastIndex(({ extra }) => extra)
    if (last < 0) return
    columns.splice(last, 1)
  }
}

/** Takes from the widest column that may give, until all fit. */
function squeeze(columns: Fitting[], room: number): void {
  while (totalOf(columns.map(({ width }) => width)) > room) {
    const giving = columns.filter(({ width, least = width }) => width > least)
    const widest = giving.toSorted((a, b) => b.width - a.width)[0]
    if (!widest) return
    widest.width -= 1
  }
}

function totalOf(widths: number[]): number {
  return widths.reduce((sum, width) => sum + width + 2, -2)
}

/** `name  value` lines, for one thing; a colour is for the value. */
export function facts(
  pairs: readonly (readonly [name: string, value: string, colour?: Colour])[],
  paint: Paint,
): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  const shown = (value: string, colour?: Colour) => (colour ? paint(colour, printable(value)) : printable(value))
  return pairs.map(([name, value, colour]) => `${paint('dim', name.padEnd(width))}  ${shown(value, colour)}\n`).join('')
}

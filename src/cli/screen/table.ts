import type { Terminal } from '../terminal.ts'
import { type Colour, fit, fitMiddle, type Paint, padEnd, padStart, printable, widthOf } from './text.ts'

export interface Column<Row> {
  title: string
  text(row: Row): string
  align?: 'right'
  /** The minimum width on a narrow screen. Columns without it are never cut. */
  least?: number
  /** Where a text is cut. The default is the end; the middle is for names that differ at the end. */
  cut?: 'middle'
  /** Left out if the screen is too narrow, the last column first. */
  extra?: true
  paint?(row: Row, text: string): string
}

interface Look {
  /** Null if it is not for a screen: nothing is cut. */
  columns: number | null
  paint: Paint
}

/** Aligned columns with a heading, cut to the screen. */
export function table<Row>(rows: readonly Row[], all: readonly Column<Row>[], { columns: room, paint }: Look): string {
  // Not `Math.max(...rows)`: the number of arguments of a call is limited.
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

/** Narrows the widest column that may be cut, until all fit. */
function squeeze(columns: Fitting[], room: number): void {
  while (totalOf(columns.map(({ width }) => width)) > room) {
    const cuttable = columns.filter(({ width, least = width }) => width > least)
    const widest = cuttable.toSorted((a, b) => b.width - a.width)[0]
    if (!widest) return
    widest.width -= 1
  }
}

function totalOf(widths: number[]): number {
  return widths.reduce((sum, width) => sum + width + 2, -2)
}

/** `name  value` lines, without those that have no value. The colour is for the value. */
export function facts(
  given: readonly (readonly [name: string, value: string, colour?: Colour])[],
  paint: Paint,
): string {
  const pairs = given.filter(([, value]) => value !== '')
  const width = Math.max(...pairs.map(([name]) => name.length))
  const shown = (value: string, colour?: Colour) => (colour ? paint(colour, printable(value)) : printable(value))
  return pairs.map(([name, value, colour]) => `${paint('dim', name.padEnd(width))}  ${shown(value, colour)}\n`).join('')
}

/** The width of the screen; null if the output is not for a screen. */
export function roomOf(terminal: Pick<Terminal, 'stdoutIsTerminal' | 'size'>): number | null {
  return terminal.stdoutIsTerminal ? terminal.size().columns : null
}

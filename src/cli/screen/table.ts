import type { Terminal } from '../terminal.ts'
import { type Colour, fit, fitMiddle, type Paint, padEnd, padStart, painter, printable, widthOf, wrap } from './text.ts'

export interface Column<Row> {
  title: string
  text(row: Row): string
  align?: 'right'
  /** The minimum width on a narrow screen. Columns without it are never cut. */
  least?: number
  /** Where a text is cut. The default is the end; the middle is for names that differ at the end. */
  cut?: 'middle'
  /** Left out if the screen is too narrow: first those without a value, then the last column. */
  extra?: true
  /** On a line below its row, if the screen is too narrow for all columns that are not extra. */
  below?: true
  /** Broken into lines, not cut. Only for the last column. */
  wrap?: true
  paint?(row: Row, text: string): string
}

export interface Look {
  /** Null if it is not for a screen: nothing is cut. */
  columns: number | null
  paint: Paint
}

/** Aligned columns with a heading, cut to the screen. */
export function table<Row>(rows: readonly Row[], all: readonly Column<Row>[], { columns: room, paint }: Look): string {
  const textOf = (row: Row, column: Column<Row>) => printable(column.text(row))
  // Not `Math.max(...rows)`: the number of arguments of a call is limited.
  const widthIn = (column: Column<Row>) => rows.reduce((most, row) => Math.max(most, widthOf(textOf(row, column))), 0)
  const measured = all.map((column) => {
    const widest = widthIn(column)
    return { ...column, width: Math.max(widest, widthOf(column.title)), isEmpty: widest === 0 }
  })
  const { columns, below } = room === null ? { columns: measured, below: [] } : arrange(measured, room)
  const line = (cell: (column: (typeof columns)[number]) => string) => `${columns.map(cell).join('  ').trimEnd()}\n`
  const indent = ' '.repeat(totalOf(columns.slice(0, -1).map(({ width }) => width)) + 2)
  const place = (text: string, column: (typeof columns)[number]) => {
    const { align, cut, width } = column
    const last = column === columns.at(-1)
    if (column.wrap) return wrap(text, width).join(`\n${indent}`)
    const fitted = cut === 'middle' ? fitMiddle(text, width) : fit(text, width)
    if (align === 'right') return padStart(fitted, width)
    return last ? fitted : padEnd(fitted, width)
  }
  const heading = line((column) => paint('dim', place(column.title, column)))
  const body = rows.map((row) => {
    const first = line((column) => {
      const text = place(textOf(row, column), column)
      return column.paint?.(row, text) ?? text
    })
    const rest = below.map((column) => textOf(row, column)).filter((text) => text !== '')
    return rest.length === 0 ? first : `${first}  ${fit(rest.join(' · '), (room ?? 0) - 2)}\n`
  })
  return [heading, ...body].join('')
}

/** Less of a text says nothing. */
const leastOfAll = 6

interface Fitting {
  width: number
  isEmpty: boolean
  least?: number
  extra?: true
  below?: true
}

/** The columns that fit on the screen with their widths there, and those that move below each row. */
function arrange<C extends Fitting>(all: readonly C[], room: number): { columns: C[]; below: C[] } {
  const isTooNarrow = totalOf(all.filter(({ extra }) => !extra).map(leastOf)) > room
  const below = isTooNarrow ? all.filter((column) => column.below) : []
  const columns = all.filter((column) => !below.includes(column))
  leaveOut(columns, room)
  squeeze(columns, room)
  return { columns, below }
}

function leastOf({ width, least = width }: Fitting): number {
  return Math.min(width, least)
}

function leaveOut(columns: Fitting[], room: number): void {
  while (totalOf(columns.map(leastOf)) > room) {
    const empty = columns.findLastIndex(({ extra, isEmpty }) => extra && isEmpty)
    const last = empty < 0 ? columns.findLastIndex(({ extra }) => extra) : empty
    if (last < 0) return
    columns.splice(last, 1)
  }
}

/** Narrows the widest column that may be cut, until all fit. Only if that is not enough, one gets less than its minimum. */
function squeeze(columns: Fitting[], room: number): void {
  const widestOf = (some: Fitting[]) => some.toSorted((a, b) => b.width - a.width)[0]
  while (totalOf(columns.map(({ width }) => width)) > room) {
    const widest =
      widestOf(columns.filter((column) => column.width > leastOf(column))) ??
      widestOf(columns.filter(({ least, width }) => least !== undefined && width > leastOfAll))
    if (!widest) return
    widest.width -= 1
  }
}

function totalOf(widths: number[]): number {
  return widths.reduce((sum, width) => sum + width + 2, -2)
}

/** `name  value` lines, without those that have no value. The colour is for the value. Long values have several lines. */
export function facts(
  given: readonly (readonly [name: string, value: string, colour?: Colour])[],
  { columns, paint }: Look,
): string {
  const pairs = given.filter(([, value]) => value !== '')
  const width = Math.max(...pairs.map(([name]) => name.length))
  const shown = (value: string, colour?: Colour) =>
    (columns === null ? [printable(value)] : wrap(printable(value), columns - width - 2))
      .map((line) => (colour ? paint(colour, line) : line))
      .join(`\n${' '.repeat(width + 2)}`)
  return pairs.map(([name, value, colour]) => `${paint('dim', name.padEnd(width))}  ${shown(value, colour)}\n`).join('')
}

/** For stdout. */
export function lookOf(terminal: Pick<Terminal, 'stdoutIsTerminal' | 'size' | 'colour'>): Look {
  return { columns: roomOf(terminal), paint: painter(terminal.colour.stdout) }
}

/** The width of the screen; null if the output is not for a screen. */
export function roomOf(terminal: Pick<Terminal, 'stdoutIsTerminal' | 'size'>): number | null {
  return terminal.stdoutIsTerminal ? terminal.size().columns : null
}

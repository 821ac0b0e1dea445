import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Series } from './chart.tsx'

interface Plotted {
  times: readonly number[]
  range: [from: number, until: number]
  unit: 'day' | 'hour'
  timeName: string
  series: readonly Series[]
  format(value: number): string
  isCount: boolean
  locale: string
  height: number
}

const [hourMs, dayMs] = [3_600_000, 86_400_000]
const dayIncrements = [1, 2, 5, 10, 30, 100].map((count) => count * dayMs)
const countIncrements = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((count) => count * 10 ** power)).flat()
const hourIncrements = [1, 2, 3, 6, 12].map((count) => count * hourMs)

/** Draws in the colours of the theme at that time. The legend has the values below the pointer, else the newest ones. */
export function plot(element: HTMLElement, plotted: Plotted): UPlot {
  const { times, range, unit, timeName, series, format, isCount, locale, height } = plotted
  const style = getComputedStyle(element)
  // The canvas can't read `light-dark()`, the style of an element can.
  const colourOf = (name: string) => {
    element.style.setProperty('color', `var(${name})`)
    const { color } = style
    const read = String(color)
    element.style.removeProperty('color')
    return read
  }
  const { tick, whole } = formatsOf(unit, locale)
  const axis = { stroke: colourOf('--quiet'), grid: { stroke: colourOf('--line'), width: 1 }, ticks: { show: false } }
  return new UPlot(
    {
      width: element.clientWidth,
      height,
      padding: [8, 24, 0, 0],
      cursor: { y: false },
      scales: { x: { time: false, range }, y: { range: (_, _least, most) => [0, (most || 1) * 1.15] } },
      axes: [
        {
          ...axis,
          size: 28,
          space: 64,
          incrs: unit === 'day' ? dayIncrements : [...hourIncrements, ...dayIncrements],
          values: (_, ticks, _axis, _space, increment) => ticks.map((at) => tick(at, increment)),
        },
        {
          ...axis,
          size: (_, labels) => widthOf(labels ?? []),
          values: (_, ticks) => ticks.map(format),
          ...(isCount && { incrs: countIncrements }),
        },
      ],
      series: [
        { label: timeName, value: (_, at) => whole(at ?? times.at(-1) ?? range[1]) },
        ...series.map(({ name, colour, values }, at) => {
          const stroke = colourOf(colour)
          return {
            label: name,
            stroke,
            width: 1.5,
            points: { show: true, fill: stroke, size: hasLine(values) ? 5 : loneSize(series.length - 1 - at) },
            value: (_: UPlot, pointed: number | null, _series: number, at: number | null) => {
              const value = (at === null ? values.at(-1) : pointed) ?? null
              return value === null ? '–' : format(value)
            },
          }
        }),
      ],
    },
    [[...times], ...series.map(({ values }) => [...values])],
    element,
  )
}

/** Two values that are next to each other. Without them, only points are drawn. */
function hasLine(values: Series['values']): boolean {
  return values.some((value, at) => value !== null && (values[at + 1] ?? null) !== null)
}

/** In pixels. A point that is drawn earlier is larger, so that an equal value of a later series does not cover it. */
function loneSize(laterSeries: number): number {
  return 10 + 6 * laterSeries
}

/** As wide as the longest label: 20, US$1,200.00, 1 min 40 s. */
function widthOf(labels: readonly string[]): number {
  return Math.max(44, ...labels.map((label) => label.length * 7 + 16))
}

/** Days are those of UTC, as the service counts them; hours are in the reader's zone. */
function formatsOf(unit: Plotted['unit'], locale: string) {
  const zone = unit === 'day' ? ({ timeZone: 'UTC' } as const) : {}
  const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', ...zone })
  const hour = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
  return {
    tick: (at: number, increment: number) => (increment < dayMs ? hour : day).format(at),
    whole: (at: number) => (unit === 'day' ? day.format(at) : `${day.format(at)}, ${hour.format(at)}`),
  }
}

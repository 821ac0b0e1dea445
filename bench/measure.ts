/** One line of the report: a figure, the limit that it must keep, if any, and the spread of the repetitions. */
export interface Line {
  name: string
  value: number
  unit: string
  /** Absent for a figure without a limit, which is only for calculations. */
  must?: { atLeast: number } | { atMost: number }
  goal?: number
  spread: [low: number, high: number]
  detail: string
}

/** Ratios of two figures that are measured in turn, so that noise of the machine affects both. */
export async function compare(
  rounds: number,
  ours: () => Promise<number>,
  limit: () => Promise<number>,
): Promise<{ ratio: number; spread: [number, number]; ours: number; limit: number }> {
  const pairs: { ours: number; limit: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const [first, second] = round % 2 === 0 ? [limit, ours] : [ours, limit]
    const [one, other] = [await first(), await second()]
    pairs.push(round % 2 === 0 ? { limit: one, ours: other } : { ours: one, limit: other })
  }
  const ratios = pairs.map((pair) => pair.ours / pair.limit)
  return {
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    ours: median(pairs.map((pair) => pair.ours)),
    limit: median(pairs.map((pair) => pair.limit)),
  }
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** `share` is 0.5 for the median, and 0.99 for what one in a hundred exceeds. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The value and the spread of a line, from its repetitions. */
export function middle(values: readonly number[]): Pick<Line, 'value' | 'spread'> {
  return { value: median(values), spread: [Math.min(...values), Math.max(...values)] }
}

export function holds({ value, must }: Line): boolean {
  if (!must) return true
  return 'atLeast' in must ? value >= must.atLeast : value <= must.atMost
}

/** The report as a Markdown table, for the terminal and for the file. */
export function toTable(lines: readonly Line[]): string {
  const rows = lines.map((line) => {
    const [low, high] = line.spread.map(round)
    const goal = line.goal === undefined ? '' : `${line.goal}`
    return [
      line.name,
      `${round(line.value)}${line.unit}`,
      `${low} … ${high}`,
      mustOf(line),
      goal,
      !line.must ? '' : holds(line) ? 'holds' : 'MISSED',
      line.detail,
    ]
  })
  const head = ['what', 'median', 'spread', 'must', 'goal', '', 'how']
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const format = (row: string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  return [format(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(format)].join('\n')
}

function mustOf({ must }: Line): string {
  if (!must) return ''
  return 'atLeast' in must ? `≥ ${must.atLeast}` : `≤ ${must.atMost}`
}

function round(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(2)
}

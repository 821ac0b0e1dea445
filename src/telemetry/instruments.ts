import { createRequire } from 'node:module'
import type * as promClient from 'prom-client'
import type { Family } from './families.ts'

// The package as a whole also loads what is not used here, among it OpenTelemetry's API: 80 more modules at each start.
const load = createRequire(import.meta.url)
const Registry: typeof promClient.Registry = load('prom-client/lib/registry.js')
const Counter: typeof promClient.Counter = load('prom-client/lib/counter.js')
const Histogram: typeof promClient.Histogram = load('prom-client/lib/histogram.js')

type LabelsOf<One extends Family> = { readonly [Name in One['labels'][number]]: string }

/** A value of a family. */
export interface Sample {
  readonly value: number
  readonly labels?: Readonly<Record<string, string>>
  /** Its name, if it is not the name of the family: `…_sum`. */
  readonly metricName?: string
}

/** Creates the metrics of one service. Its registry is not the global one: a process may have several services. */
export interface Instruments {
  counter<const One extends Family>(family: One): (labels: LabelsOf<One>, amount?: number) => void
  histogram<const One extends Family>(family: One): (labels: LabelsOf<One>, value: number) => void
  /** A family whose values are read at each scrape. A series without a value is absent. */
  sampled(family: Family, read: () => readonly Sample[] | Promise<readonly Sample[]>): void
  /** In the text format 0.0.4. */
  render(): Promise<string>
}

/** `current` returns whether a series stays: what its labels name may have been removed. */
export function openInstruments(current: () => (labels: Readonly<Record<string, string>>) => boolean): Instruments {
  const registry = new Registry()
  const series = new Map<string, { labels: Readonly<Record<string, string>>; remove: () => void }>()
  const settingsOf = ({ name, help, labels }: Family) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  })
  /** Remembers the series, to remove it when it is out of date. */
  const note = (name: string, labels: Readonly<Record<string, string>>, remove: () => void) => {
    const key = [name, ...Object.values(labels)].join('\n')
    if (!series.has(key)) series.set(key, { labels, remove })
  }

  return {
    counter(family) {
      const metric = new Counter(settingsOf(family))
      return (labels, amount = 1) => {
        metric.inc(labels, amount)
        note(family.name, labels, () => metric.remove(labels))
      }
    },
    histogram(family) {
      const metric = new Histogram({ ...settingsOf(family), buckets: [...(family.buckets ?? [])] })
      return (labels, value) => {
        metric.observe(labels, Math.max(0, value))
        note(family.name, labels, () => metric.remove(labels))
      }
    },
    sampled({ name, help, type }, read) {
      const metric = { name, help, type, get: async () => ({ name, help, type, values: await read() }) }
      // A registry needs no more than this of a metric. Its own gauges can't be without a value.
      registry.registerMetric(metric as unknown as promClient.Metric)
    },
    render() {
      const isCurrent = current()
      for (const [key, { labels, remove }] of series)
        if (!isCurrent(labels)) {
          remove()
          series.delete(key)
        }
      return registry.metrics()
    },
  }
}

/**
 * The same text as OpenMetrics 1.0. The registry could write it, but would rename its counters for all later texts in the
 * other format.
 */
export function toOpenMetrics(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '')
  return `${lines.map((line) => line.replace(/^(# (?:HELP|TYPE) \w+)_total /, '$1 ')).join('\n')}\n# EOF\n`
}

/** A sample for each value of a label, with the sum of its values. */
export function toSamples(label: string, values: readonly (readonly [name: string, value: number])[]): Sample[] {
  const sums = new Map<string, number>()
  for (const [name, value] of values) sums.set(name, (sums.get(name) ?? 0) + value)
  return [...sums].map(([name, value]) => ({ labels: { [label]: name }, value }))
}

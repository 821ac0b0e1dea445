import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { Counter, Histogram, Registry } from 'prom-client'
import { families } from '../src/telemetry/families.ts'
import { openInstruments } from '../src/telemetry/instruments.ts'
import { openRequests } from '../src/telemetry/requests.ts'
import { type Line, middle } from './measure.ts'

/*
 * What it costs to count one poll and its duration: by our own plain numbers, by prom-client and by OpenTelemetry's SDK, in
 * turn in one process. Decision 0032 has the figures.
 */

const labels = { route: '/v1/videos/:id', method: 'GET' }
const answered = { ...labels, status: '200' }
const { requests, requestSeconds } = families
const boundaries = [...requestSeconds.buckets]

/** Counts one poll. */
type Meter = () => void

export async function benchMeters({ rounds, polls }: { rounds: number; polls: number }): Promise<Line[]> {
  const { provider, meter: otel } = openTelemetry()
  const meters = { 'plain numbers': plain(), 'prom-client': promClient(), OpenTelemetry: otel }
  const found = new Map<string, number[]>(Object.keys(meters).map((name) => [name, []]))
  // The first round only warms up.
  for (let round = 0; round <= rounds; round += 1)
    for (const [name, meter] of Object.entries(meters)) {
      const nanoseconds = timeOf(meter, polls)
      if (round > 0) found.get(name)?.push(nanoseconds)
    }
  await provider.shutdown()
  return [...found].map(([name, values]) => ({
    name: `counting a poll, ${name}`,
    unit: ' ns',
    ...middle(values),
    detail: `CPU time of a counter with 3 labels and a histogram with 2; ${polls} polls in each repetition`,
  }))
}

/** CPU time in nanoseconds, so that other processes on the machine matter less. */
function timeOf(meter: Meter, polls: number): number {
  const before = process.cpuUsage()
  for (let count = 0; count < polls; count += 1) meter()
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1_000) / polls
}

/** As the service does it. */
function plain(): Meter {
  const { polls } = openRequests(
    openInstruments(() => () => true),
    () => performance.now(),
  )
  return () => polls.end(polls.begin())
}

function promClient(): Meter {
  const registers = [new Registry()]
  const counter = new Counter({ ...requests, labelNames: requests.labels, registers })
  const histogram = new Histogram({
    ...requestSeconds,
    labelNames: requestSeconds.labels,
    buckets: boundaries,
    registers,
  })
  return () => {
    const begun = performance.now()
    counter.inc(answered)
    histogram.observe(labels, (performance.now() - begun) / 1_000)
  }
}

/** Read on demand, as a scrape does. Without a reader, the SDK keeps nothing. */
class Reader extends MetricReader {
  protected async onForceFlush() {}
  protected async onShutdown() {}
}

function openTelemetry(): { provider: MeterProvider; meter: Meter } {
  const provider = new MeterProvider({ readers: [new Reader()] })
  const meter = provider.getMeter('bench')
  const counter = meter.createCounter(requests.name)
  const advice = { explicitBucketBoundaries: boundaries }
  const histogram = meter.createHistogram(requestSeconds.name, { advice })
  return {
    provider,
    meter() {
      const begun = performance.now()
      counter.add(1, answered)
      histogram.record((performance.now() - begun) / 1_000, labels)
    },
  }
}

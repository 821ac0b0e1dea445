import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { AccountView } from '../core/account.ts'
import { type AlarmKind, alarmKindNames, alarmKinds } from '../core/alarms.ts'
import type { Catalog } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import type { Figures } from '../core/figures.ts'
import type { PoolUse, StoreMeter } from '../stores/store.ts'
import { families } from './families.ts'
import { addAccounts, addFigures, freshMs, type Scraped, type SharedRead } from './figures.ts'
import { type Instruments, openInstruments, toOpenMetrics, toSamples } from './instruments.ts'
import { type LabelNames, openLabelNames } from './labels.ts'
import { openRequests, type PollMeter, type RequestMeter } from './requests.ts'
import { openTaskMeter, type TaskMeter } from './tasks.ts'

/** The metrics of a service. `main.ts` opens them and passes each part its meter, like the clock. */
export interface Metrics extends Disposable {
  readonly requests: RequestMeter
  readonly polls: PollMeter
  readonly tasks: TaskMeter
  readonly work: WorkMeter
  readonly commits: StoreMeter
  /** Sets what is read at each scrape. */
  follow(sources: MetricSources): void
  /** Sets how many streams and waiting requests are open. */
  followListeners(count: () => number): void
  render(format: MetricFormat): Promise<string>
}

export type MetricFormat = 'text' | 'openmetrics'

/** Ends a measurement with its result. */
type End<Result extends string = string> = (result: Result) => void

/** Measures one request to a provider. A request that does not end is not counted. */
export interface UpstreamTimer {
  readonly end: End
  /** The time from here until the returned function is called is not that of the request. */
  pause(): () => void
}

const deliveryOutcomes = ['delivered', 'retried', 'failed'] as const

/** Measures work of the service. */
export interface WorkMeter {
  upstream(account: string, call: 'send' | 'fetch' | 'download'): UpstreamTimer
  bucket(operation: 'put' | 'adopt' | 'open' | 'remove' | 'check' | 'link'): End<'ok' | 'missing' | 'failed'>
  verification(): End<'ok' | 'failed'>
  /** The whole result of a task was downloaded. */
  downloaded(account: string, bytes: number, ms: number): void
  delivered(outcome: (typeof deliveryOutcomes)[number]): void
}

interface MetricSources {
  /** The accounts that this process shows. */
  readonly accounts: ReadonlyMap<string, AccountView>
  /** Reads the health of the accounts, which processes share. A small read: it tells whether the store responds. */
  readonly refresh: () => Promise<void>
  /** Reads the figures of the store. */
  readonly figures: SharedRead<Figures>
  /** How many alarms of a kind are active. */
  readonly alarms: (kind: AlarmKind) => number
  /** The jobs of the child processes; null is idle. */
  readonly children: () => readonly { readonly job: string | null }[]
  /** The connections to the store, if it has some. */
  readonly connections: (() => PoolUse) | undefined
}

interface MetricOptions {
  catalog: Catalog
  /** Those of prices. Their amounts begin with 0, before the first task ends. */
  currencies: readonly string[]
  now: () => number
  /** Milliseconds of a clock that is never set. */
  monotonic: () => number
  sleep: Clock['sleep']
  build: { readonly [Name in (typeof families)['build']['labels'][number]]: string }
}

export function openMetrics({ catalog, currencies, now, monotonic, sleep, build }: MetricOptions): Metrics {
  let sources: MetricSources | undefined
  let listeners = () => 0
  const accounts = () => sources?.accounts ?? new Map<string, AccountView>()
  const names = openLabelNames(catalog, accounts)
  const instruments = openInstruments(names.current)
  let scraped: Scraped = { isUp: false, figures: undefined }
  const { requests, polls } = openRequests(instruments, monotonic)
  instruments.sampled(families.listeners, () => [{ value: listeners() }])
  const tasks = openTaskMeter(instruments, { names, currencies, now })
  const work = openWorkMeter(instruments, names, monotonic)
  const commits = openCommitMeter(instruments, monotonic)
  addFigures(instruments, { catalog, currencies, accounts, names, now, scraped: () => scraped })
  addAccounts(instruments, { accounts, names, now })
  addAlarms(instruments, (kind) => sources?.alarms(kind) ?? 0)
  addConnections(instruments, () => sources?.connections?.())
  const watch = addProcess(instruments, { now, build, children: () => sources?.children() ?? [] })
  return {
    requests,
    polls,
    tasks,
    work,
    commits,
    follow(given) {
      sources = given
    },
    followListeners(count) {
      listeners = count
    },
    async render(format) {
      scraped = await scrape(sources, sleep)
      const text = await instruments.render()
      return format === 'text' ? text : toOpenMetrics(text)
    },
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  }
}

/** Prometheus waits for 10 seconds, and a scrape without figures is better than none. */
const scrapeMs = 5_000

async function scrape(sources: MetricSources | undefined, sleep: Clock['sleep']): Promise<Scraped> {
  const over = new AbortController()
  const late = sleep(scrapeMs, over.signal).then(() => undefined)
  const inTime = <Found>(read: Promise<Found>) => Promise.race([read.catch(() => undefined), late])
  const isUp = (sources && (await inTime(sources.refresh().then(() => true)))) ?? false
  const figures = sources && isUp ? await inTime(sources.figures(freshMs)) : undefined
  over.abort()
  return { isUp, figures }
}

function openWorkMeter(
  { counter, histogram }: Pick<Instruments, 'counter' | 'histogram'>,
  names: LabelNames,
  monotonic: () => number,
): WorkMeter {
  const [requests, requestSeconds] = [counter(families.upstreamRequests), histogram(families.upstreamSeconds)]
  const [bytes, downloadSeconds] = [counter(families.downloadBytes), histogram(families.downloadSeconds)]
  const verifications = histogram(families.verificationSeconds)
  const deliveries = counter(families.deliveries)
  // A series that began with 1 would not have grown: the first failure would be no alert.
  for (const outcome of deliveryOutcomes) deliveries({ outcome }, 0)
  const [operations, operationSeconds] = [counter(families.bucketOperations), histogram(families.bucketSeconds)]
  /** Returns the seconds since this call. */
  const watch = () => {
    const begun = monotonic()
    return () => (monotonic() - begun) / 1_000
  }
  return {
    upstream(name, call) {
      const seconds = watch()
      let paused = 0
      return {
        end(result) {
          const account = names.account(name)
          requests({ account, call, result })
          requestSeconds({ account, call }, seconds() - paused)
        },
        pause() {
          const pause = watch()
          return () => {
            paused += pause()
          }
        },
      }
    },
    bucket(operation) {
      const seconds = watch()
      return (result) => {
        operations({ operation, result })
        operationSeconds({ operation }, seconds())
      }
    },
    verification() {
      const seconds = watch()
      return (result) => verifications({ result }, seconds())
    },
    downloaded(name, size, ms) {
      const account = names.account(name)
      bytes({ account }, size)
      downloadSeconds({ account }, ms / 1_000)
    },
    delivered: (outcome) => deliveries({ outcome }),
  }
}

function openCommitMeter({ histogram }: Pick<Instruments, 'histogram'>, monotonic: () => number): StoreMeter {
  const [seconds, sizes] = [histogram(families.commitSeconds), histogram(families.batchSize)]
  return {
    begin: monotonic,
    end: (begun) => seconds({}, (monotonic() - begun) / 1_000),
    batch: (kind, writes) => sizes({ kind }, writes),
  }
}

function addAlarms({ sampled }: Pick<Instruments, 'sampled'>, count: MetricSources['alarms']): void {
  sampled(families.alarms, () =>
    alarmKindNames.map((kind) => ({ labels: { kind, severity: alarmKinds[kind].severity }, value: count(kind) })),
  )
}

function addConnections({ sampled }: Pick<Instruments, 'sampled'>, read: () => PoolUse | undefined): void {
  sampled(families.connections, () => {
    const found = read()
    if (!found) return []
    return toSamples('state', Object.entries({ used: found.total - found.idle, idle: found.idle }))
  })
  sampled(families.connectionsAwaited, () => {
    const found = read()
    return found ? [{ value: found.awaited }] : []
  })
}

interface ProcessSources {
  build: MetricOptions['build']
  now: () => number
  children: MetricSources['children']
}

function addProcess({ sampled }: Pick<Instruments, 'sampled'>, { now, build, children }: ProcessSources): Disposable {
  const delays = openDelays(now)
  sampled(families.loopDelay, () => [{ value: delays.read().p99 }])
  sampled(families.loopDelayMax, () => [{ value: delays.read().max }])
  sampled(families.memory, () => {
    const { heapUsed, heapTotal, external, rss } = process.memoryUsage()
    const kinds = { heap_used: heapUsed, heap_total: heapTotal, external, resident: rss }
    return toSamples('kind', Object.entries(kinds))
  })
  sampled(families.children, () => {
    const jobs = children().map(({ job }) => [job ?? 'idle', 1] as const)
    return toSamples('activity', [['idle', 0], ...jobs])
  })
  const startedAt = now()
  sampled(families.startTime, () => [{ value: startedAt / 1_000 }])
  sampled(families.build, () => [{ labels: build, value: 1 }])
  return delays
}

/** Delays of the event loop. Scrapes within a few seconds get the same ones. */
function openDelays(now: () => number) {
  const resolutionMs = 20
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  let known: { at: number; p99: number; max: number } | undefined
  // A sample is the time between two ticks, so an idle loop has the resolution as its delay.
  const toSeconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1_000)
  return {
    read() {
      // The clock may have been set back.
      if (known && Math.abs(now() - known.at) < freshMs) return known
      known = { at: now(), p99: toSeconds(delays.percentile(99)), max: toSeconds(delays.max) }
      delays.reset()
      return known
    },
    [Symbol.dispose]: () => void delays.disable(),
  }
}

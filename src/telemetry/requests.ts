import { families } from './families.ts'
import type { Instruments, Sample } from './instruments.ts'

/** Counts HTTP requests. */
export interface RequestMeter {
  /** A response was sent. `route` is its pattern; undefined if no route has the path. */
  end(route: string | undefined, method: string, status: number, seconds: number): void
}

/** Counts polls that are served before the routes. */
export interface PollMeter {
  begin(): number
  /** A poll was served with 200. */
  end(begun: number): void
}

/** Plain numbers: a poll must not pay for labels. */
interface Series {
  readonly labels: { readonly route: string; readonly method: string }
  /** Of each bucket alone. The last one has no bound. */
  readonly counts: number[]
  sum: number
  /** With the status 200. */
  ok: number
  readonly others: Map<number, number>
}

const bounds = families.requestSeconds.buckets
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'])
const pollRoute = '/v1/videos/:id'

export function openRequests(
  { sampled }: Pick<Instruments, 'sampled'>,
  monotonic: () => number,
): { requests: RequestMeter; polls: PollMeter } {
  const all = new Map<string, Series>()
  const seriesOf = (route: string, method: string): Series => {
    const key = `${method} ${route}`
    const known = all.get(key)
    if (known) return known
    const counts = Array.from({ length: bounds.length + 1 }, () => 0)
    const added = { labels: { route, method }, counts, sum: 0, ok: 0, others: new Map() }
    all.set(key, added)
    return added
  }
  let polled: Series | undefined
  sampled(families.requests, () => [...all.values()].flatMap(countsOf))
  sampled(families.requestSeconds, () => [...all.values()].flatMap(bucketsOf))
  return {
    requests: {
      end(route, method, status, seconds) {
        const series = seriesOf(route ?? 'other', knownMethods.has(method) ? method : 'other')
        observe(series, seconds)
        if (status === 200) series.ok += 1
        else series.others.set(status, (series.others.get(status) ?? 0) + 1)
      },
    },
    polls: {
      begin: monotonic,
      end(begun) {
        polled ??= seriesOf(pollRoute, 'GET')
        polled.ok += 1
        observe(polled, (monotonic() - begun) / 1_000)
      },
    },
  }
}

function observe(series: Series, seconds: number): void {
  let at = 0
  while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1
  series.counts[at] = (series.counts[at] ?? 0) + 1
  series.sum += seconds
}

function countsOf({ labels, ok, others }: Series): Sample[] {
  const counted = [...(ok > 0 ? [[200, ok] as const] : []), ...others]
  return counted.map(([status, value]) => ({ labels: { ...labels, status: String(status) }, value }))
}

function bucketsOf({ labels, counts, sum }: Series): Sample[] {
  const { name } = families.requestSeconds
  let total = 0
  const buckets = counts.map((count, at) => {
    total += count
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[at] ?? '+Inf') }, value: total }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ]
}

/** What was seen of a task's progress, and when. */
export interface Sample {
  at: number
  percent: number
}

/** Adds a sample; only the last minute counts, since the pace of a queue or a warming engine is no guide. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const last = samples.at(-1)
  if (last && sample.percent <= last.percent) return [...samples]
  const recent = samples.filter(({ at }) => sample.at - at <= 60_000)
  return [...(recent.length > 0 ? recent : samples.slice(-1)), sample]
}

/** Milliseconds that are left at the pace seen so far, or null while there is no pace to speak of. */
export function timeLeft(samples: readonly Sample[], now: number): number | null {
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last || last.percent - first.percent < 3 || last.at <= first.at) return null
  const perPercent = (last.at - first.at) / (last.percent - first.percent)
  return Math.max(0, (100 - last.percent) * perPercent - (now - last.at))
}

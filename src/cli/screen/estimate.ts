/** The progress of a task at a time. */
export interface Sample {
  at: number
  percent: number
}

/** Adds a sample. Only the last minute counts: a queue or a cold engine says nothing about the pace now. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const last = samples.at(-1)
  if (last && sample.percent <= last.percent) return [...samples]
  const recent = samples.filter(({ at }) => sample.at - at <= 60_000)
  return [...(recent.length > 0 ? recent : samples.slice(-1)), sample]
}

/** The remaining milliseconds at the pace so far, or null if that is unknown. */
export function timeLeft(samples: readonly Sample[], now: number): number | null {
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last || last.percent - first.percent < 3 || last.at <= first.at) return null
  const perPercent = (last.at - first.at) / (last.percent - first.percent)
  return Math.max(0, (100 - last.percent) * perPercent - (now - last.at))
}

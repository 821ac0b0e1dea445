/** A length of time in the unit that people would use, as a text and its values. Rounded first: there is no `3 min 60 s`. */
export function toSpan(
  ms: number,
): [key: 'span.ms' | 'span.s' | 'span.min' | 'span.h', values: Record<string, number>] {
  if (ms === 0) return ['span.s', { s: 0 }]
  if (Math.round(ms) < 1_000) return ['span.ms', { ms: Math.round(ms) }]
  if (ms < 9_950) return ['span.s', { s: Math.round(ms / 100) / 10 }]
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return ['span.s', { s: seconds }]
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return ['span.min', { min: minutes, s: seconds % 60 }]
  return ['span.h', { h: Math.floor(minutes / 60), min: minutes % 60 }]
}

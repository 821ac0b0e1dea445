const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** '90s', '30m', '24h' or '7d' in milliseconds. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * units[unit as keyof typeof units]
}

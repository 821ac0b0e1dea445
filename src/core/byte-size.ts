const unitBytes: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9 }

/** '200MB' or '2GB' in bytes; '0' is 0. */
export function readByteSize(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})(MB|GB)$/.exec(text) ?? []
  if (text === '0') return 0
  return amount === undefined ? undefined : Number(amount) * (unitBytes[unit] ?? 0)
}

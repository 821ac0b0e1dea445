/** Both ends are included, as in HTTP. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * The range that a Range header requests of `bytes` bytes: a range, 'unsatisfiable', or undefined if the header is to
 * be ignored (RFC 9110: another unit, malformed, or several ranges, which a server need not serve).
 */
export function parseRange(header: string, bytes: number): ByteRange | 'unsatisfiable' | undefined {
  // No optional spaces in the pattern: between optional digits they make matching cubic.
  const [unit = '', set = '', ...more] = header.length > 100 ? [] : header.split('=')
  const isBytes = unit.trim().toLowerCase() === 'bytes' && more.length === 0
  const match = isBytes ? /^(\d*)-(\d*)$/.exec(set.trim()) : null
  const [, first = '', last = ''] = match ?? []
  if (!match || (first === '' && last === '')) return undefined
  if (first === '') {
    const suffix = Math.min(Number(last), bytes)
    return suffix === 0 ? 'unsatisfiable' : { start: bytes - suffix, end: bytes - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= bytes) return 'unsatisfiable'
  return { start, end: last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1) }
}

/** Both ends included, as HTTP counts. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * What a Range header asks of `bytes` bytes: a range, 'unsatisfiable', or undefined where the header is to be ignored
 * (RFC 9110: another unit, malformed, or several ranges, which a server need not serve).
 */
export function parseRange(header: string, bytes: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header)
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

/** How long a response asks us to wait, in milliseconds from now. The header has seconds or a date; it is not checked. */
export function retryAfterMs({ headers }: Pick<Response, 'headers'>, now: number): number | undefined {
  return parseRetryAfter(headers.get('retry-after'), now)
}

/** The same, for the text of the header. */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  const ms = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(ms) ? undefined : ms
}

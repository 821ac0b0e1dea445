/**
 * As the driver understands it. Of itself it takes `require` and `verify-ca` for `verify-full`, and warns at length that
 * it will not do so for ever. `require` keeps that meaning here; `verify-ca` gets the one that PostgreSQL gives it.
 */
export function driverUrl(text: string): string {
  const url = new URL(text)
  const mode = url.searchParams.get('sslmode')
  if (mode === 'require') url.searchParams.set('sslmode', 'verify-full')
  else if (mode === 'verify-ca') url.searchParams.set('uselibpqcompat', 'true')
  else return text
  return url.href
}

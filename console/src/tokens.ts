import type { OperatorToken } from '../../src/wire/tokens.ts'
import { withQuery } from './api.ts'
import { changedIn } from './changes.ts'
import { readAfter, readTexts } from './search.ts'

/* Tokens as the pages show and change them. */

/** The filters of the list. They are the query of the page's address. */
export interface TokenFilters {
  project?: string
  /** The last token of the page before. */
  after?: string
}

export function readTokenFilters(search: Readonly<Record<string, unknown>>): TokenFilters {
  return { ...readTexts(search, ['project']), ...readAfter(search, /^(tok_[0-9a-z]{12}$|config:.{1,100}$)/) }
}

export const tokensPath = '/operator/v1/tokens'

export function tokenListPath(filters: TokenFilters): string {
  return withQuery(tokensPath, { ...filters, limit: 25 })
}

export function tokenPath(id: string): string {
  return `${tokensPath}/${encodeURIComponent(id)}`
}

/** The fields of the form, as text. Their names are those of the API, so that an error finds its field. */
const valueNames = [
  ...(['kind', 'role', 'name', 'project', 'models', 'ip_ranges', 'expires_at'] as const),
  ...(['rate', 'concurrency', 'queued', 'stored_bytes'] as const),
  ...(['spend.day', 'spend.month', 'spend.total', 'time_zone'] as const),
] as const
export type ValueName = (typeof valueNames)[number]
export type TokenValues = Readonly<Record<ValueName, string>>

export const periods = ['day', 'month', 'total'] as const

export function newTokenValues(): TokenValues {
  const empty = Object.fromEntries(valueNames.map((name) => [name, ''])) as TokenValues
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return { ...empty, kind: 'client', role: 'admin', models: '*', time_zone: timeZone }
}

/** The form has gigabytes: bytes are hard to read. */
const bytesInGigabyte = 1e9

export function toTokenValues(token: OperatorToken): TokenValues {
  const { kind, role, name, project, models, rate, concurrency, queued, spend } = token
  const { stored_bytes: bytes, ip_ranges: ranges, expires_at: expiry } = token
  const zone = periods.map((period) => spend?.[period]?.time_zone).find((one) => one !== undefined)
  return {
    ...newTokenValues(),
    ...{ kind, role: role ?? '', name, project: project ?? '' },
    models: models.join(', '),
    ip_ranges: ranges?.join(', ') ?? '',
    expires_at: expiry === null ? '' : toLocalTime(expiry),
    ...{ rate: String(rate ?? ''), concurrency: String(concurrency ?? ''), queued: String(queued ?? '') },
    stored_bytes: bytes === null ? '' : String(bytes / bytesInGigabyte),
    'spend.day': spend?.day?.limit ?? '',
    'spend.month': spend?.month?.limit ?? '',
    'spend.total': spend?.total?.limit ?? '',
    ...(zone !== undefined && { time_zone: zone }),
  }
}

export function readTokenForm(form: HTMLFormElement): TokenValues {
  const data = new FormData(form)
  return Object.fromEntries(valueNames.map((name) => [name, String(data.get(name) ?? '').trim()])) as TokenValues
}

/** The request of a new token with these values. An operator creates no videos, so limits do not apply. */
export function toNewToken(values: TokenValues): Readonly<Record<string, unknown>> {
  const { kind } = values
  const { spend, role, ...fields } = toFields(values)
  if (kind !== 'operator') return { kind, ...fields, spend }
  const { name, ip_ranges: ranges, expires_at: expiry } = fields
  return { kind, role, name, ip_ranges: ranges, expires_at: expiry }
}

/** Only what differs: the name of a generated token, for example, is accepted from no request. */
export function toTokenChange(before: TokenValues, after: TokenValues): Readonly<Record<string, unknown>> {
  const { spend: oldCaps, ...old } = toFields(before)
  const { spend: caps, ...now } = toFields(after)
  // The form has one time zone, and each cap its own.
  const isZoneChanged = before.time_zone !== after.time_zone
  const changedCaps = Object.entries(changedIn(oldCaps, caps)).map(([period, cap]) => {
    const isNew = before[`spend.${period as (typeof periods)[number]}`] === ''
    return [period, cap && (isZoneChanged || isNew ? cap : { limit: cap.limit })]
  })
  return {
    ...changedIn(old, now),
    // An omitted period keeps its cap.
    ...(changedCaps.length > 0 && { spend: Object.fromEntries(changedCaps) }),
  }
}

function toFields(values: TokenValues) {
  const { role, name, project, models, ip_ranges: ranges, expires_at: expiry } = values
  const { rate, concurrency, queued, stored_bytes: gigabytes } = values
  const cap = (limit: string) => (limit === '' ? null : { limit, time_zone: values.time_zone || 'UTC' })
  return {
    role,
    name,
    project: project || null,
    models: toList(models),
    ip_ranges: ranges === '' ? null : toList(ranges),
    expires_at: expiry === '' ? null : new Date(expiry).toISOString(),
    ...{ rate: toNumber(rate), concurrency: toNumber(concurrency), queued: toNumber(queued) },
    stored_bytes: gigabytes === '' ? null : Math.round(Number(gigabytes) * bytesInGigabyte),
    spend: { day: cap(values['spend.day']), month: cap(values['spend.month']), total: cap(values['spend.total']) },
  }
}

function toNumber(text: string): number | null {
  return text === '' ? null : Number(text)
}

function toList(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

/** As a field of the type `datetime-local` has it, in the reader's zone. */
function toLocalTime(iso: string): string {
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The first of these models that the patterns of a token allow. */
export function firstAllowed(names: readonly string[], patterns: readonly string[]): string | undefined {
  return names.find((name) => patterns.some((pattern) => isAllowed(name, pattern)))
}

/** Only for samples, so more than one `*` in a pattern is read as one. */
function isAllowed(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.at(-1)
  return last === undefined ? name === pattern : name.startsWith(first) && name.endsWith(last)
}

/** Every query of tokens, for `invalidateQueries`. */
export function isOfTokens({ queryKey: [path] }: { queryKey: readonly unknown[] }): boolean {
  return String(path).startsWith(tokensPath)
}

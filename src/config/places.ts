import type { Delivery } from '../core/delivery.ts'
import type { Mistakes } from './mistakes.ts'
import type { Parsed } from './settings.ts'

/** Where rows live: in the data folder, or in a PostgreSQL database that many processes share. */
export type StorePlace = { kind: 'sqlite' } | { kind: 'postgres'; url: string }

/** Where bytes live: in the data folder, or in an S3 bucket. */
export type BucketPlace =
  | { kind: 'disk' }
  | { kind: 's3'; bucket: string; prefix: string; endpoint?: string; region?: string; forcePathStyle?: boolean }

export type Role = 'all' | 'api' | 'worker'

export function parseStore(text: string): Parsed<StorePlace> {
  if (text === '') return { value: { kind: 'sqlite' } }
  const url = URL.parse(text)
  const value: StorePlace = { kind: 'postgres', url: text }
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '' || url.pathname.length < 2)
    return { value, fix: 'use postgres://user:password@host:5432/database, or leave it out' }
  if (!isDecodable(text)) return { value, fix: 'write each % of a name or password as %25' }
  return { value }
}

/** Else nobody could say which password is meant: pg itself would guess, and take other escapes of the URL literally. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const s3Options = ['endpoint', 'region', 'path_style']

export function parseBucket(text: string): Parsed<BucketPlace> {
  if (text === '') return { value: { kind: 'disk' } }
  const fix = 'use s3://bucket/prefix?endpoint=https://…&region=…&path_style=true, or leave it out'
  const url = URL.parse(text)
  if (url?.protocol !== 's3:' || url.hostname === '') return { value: { kind: 'disk' }, fix }
  if (url.username !== '' || url.password !== '')
    return {
      value: { kind: 'disk' },
      fix: 'give the keys as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in the URL',
    }
  const given = Object.fromEntries(url.searchParams)
  const endpoint = given.endpoint === undefined ? undefined : URL.parse(given.endpoint)
  const unknown = Object.keys(given).filter((name) => !s3Options.includes(name))
  const isStyle = given.path_style === undefined || ['true', 'false'].includes(given.path_style)
  if (unknown.length > 0 || endpoint === null || !isStyle) return { value: { kind: 'disk' }, fix }
  return {
    value: {
      ...{ kind: 's3', bucket: url.hostname, prefix: url.pathname.replace(/^\/|\/$/g, '') },
      ...(given.endpoint !== undefined && { endpoint: given.endpoint }),
      ...(given.region !== undefined && { region: given.region }),
      ...(given.path_style !== undefined && { forcePathStyle: given.path_style === 'true' }),
    },
  }
}

export function parseDelivery(text: string): Parsed<Delivery> {
  if (text === 'proxy' || text === 'redirect') return { value: text }
  const accel = /^accel:(\/[\w/-]*\/)$/.exec(text)?.[1]
  if (accel) return { value: { accel } }
  return { value: 'proxy', fix: 'use proxy, redirect (needs an S3 bucket) or accel:/path/ (needs nginx in front)' }
}

export function parseRole(text: string): Parsed<Role> {
  if (text === 'all' || text === 'api' || text === 'worker') return { value: text }
  return { value: 'all', fix: 'use all, api or worker' }
}

interface Places {
  store: StorePlace
  bucket: BucketPlace
  delivery: Delivery
  role: Role
}

/** What can't work together. */
export function checkPlaces({ store, bucket, delivery, role }: Places, mistakes: Mistakes): void {
  if (role !== 'all' && store.kind === 'sqlite')
    mistakes.add(
      'role',
      `'${role}' alone has nobody to work with`,
      'set a store that processes can share: postgres://…',
    )
  // Each process has a data folder of its own: what a worker put there no API could serve.
  if (role !== 'all' && bucket.kind === 'disk')
    mistakes.add(
      'role',
      `'${role}' can't share films that are in a data folder`,
      'set FILMGATE_BUCKET to an S3 bucket that all processes use: s3://…',
    )
  if (delivery === 'redirect' && bucket.kind === 'disk')
    mistakes.add('content', 'the data folder has no links to redirect to', 'use proxy, or an S3 bucket')
  if (typeof delivery === 'object' && bucket.kind === 's3')
    mistakes.add('content', 'nginx can only deliver files of the data folder', 'use proxy or redirect')
}

/** What works as long as nobody adds a process. */
export function warningsOf({ store, bucket }: Places): string[] {
  if (store.kind === 'sqlite' || bucket.kind === 's3') return []
  return [
    'FILMGATE_BUCKET: the films are in the data folder of this process, so it must be the only one on its database; ' +
      'for more, set an S3 bucket',
  ]
}

/** For the log to cut out, as they are written and as they are meant. pg takes a password from either place. */
export function secretsOf(store: StorePlace): string[] {
  const url = store.kind === 'postgres' ? URL.parse(store.url) : null
  if (!url) return []
  const asked = [...url.search.matchAll(/[?&]password=([^&]*)/g)].map(([, written = '']) => written)
  const meant = url.searchParams.getAll('password')
  const all = [url.password, decodeURIComponent(url.password), ...asked, ...meant]
  return [...new Set(all)].filter((secret) => secret !== '')
}

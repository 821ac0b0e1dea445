import type { Handover } from '../core/handover.ts'
import { type BucketAddress, fixOfStore, parseBucketUrl } from './addresses.ts'
import type { Mistakes } from './mistakes.ts'
import type { Parsed } from './settings.ts'

/** Where rows live: in the data folder, or in a PostgreSQL database that many processes share. */
export type StorePlace = { kind: 'sqlite' } | { kind: 'postgres'; url: string }

/** Where bytes live: in the data folder, or in an S3 bucket. */
export type BucketPlace = { kind: 'disk' } | ({ kind: 's3' } & BucketAddress)

export type Role = 'all' | 'api' | 'worker'

export function parseStore(text: string): Parsed<StorePlace> {
  if (text === '') return { value: { kind: 'sqlite' } }
  const fix = fixOfStore(text)
  return { value: { kind: 'postgres', url: text }, ...(fix !== undefined && { fix }) }
}

/** Also where it can't be used it is S3 that was meant: else what it has to go with would be blamed as well. */
export function parseBucket(text: string): Parsed<BucketPlace> {
  if (text === '') return { value: { kind: 'disk' } }
  const { value, ...rest } = parseBucketUrl(text)
  return { value: { kind: 's3', ...value }, ...rest }
}

export function parseHandover(text: string): Parsed<Handover> {
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
  handover: Handover
  role: Role
}

/** What can't work together. `whereOf` says how the operator set it: by a flag, or by a variable. */
export function checkPlaces(
  { store, bucket, handover, role }: Places,
  whereOf: (name: 'role' | 'content') => string,
  mistakes: Mistakes,
): void {
  if (role !== 'all' && store.kind === 'sqlite')
    mistakes.add(
      whereOf('role'),
      `'${role}' alone has nobody to work with`,
      'set FILMGATE_STORE to a database that all processes use: postgres://…',
    )
  // Each process has a data folder of its own: what a worker put there no API could serve.
  if (role !== 'all' && bucket.kind === 'disk')
    mistakes.add(
      whereOf('role'),
      `'${role}' can't share films that are in a data folder`,
      'set FILMGATE_BUCKET to an S3 bucket that all processes use: s3://…',
    )
  if (handover === 'redirect' && bucket.kind === 'disk')
    mistakes.add(whereOf('content'), 'the data folder has no links to redirect to', 'use proxy, or an S3 bucket')
  if (typeof handover === 'object' && bucket.kind === 's3')
    mistakes.add(whereOf('content'), 'nginx can only deliver files of the data folder', 'use proxy or redirect')
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

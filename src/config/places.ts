import type { Handover } from '../core/handover.ts'
import type { Mistakes } from './mistakes.ts'
import type { Parsed } from './settings.ts'

/** Rows are in the data folder, or in a PostgreSQL database that several processes may share. */
export type StorePlace = { kind: 'sqlite' } | { kind: 'postgres'; url: string }

/** Bytes are in the data folder, or in an S3 bucket. */
export type BucketPlace = { kind: 'disk' } | ({ kind: 's3' } & BucketAddress)

export type Role = 'all' | 'api' | 'worker'

export function parseStore(text: string): Parsed<StorePlace> {
  if (text === '') return { value: { kind: 'sqlite' } }
  const fix = fixOfStore(text)
  return { value: { kind: 'postgres', url: text }, ...(fix !== undefined && { fix }) }
}

/** A wrong URL still counts as S3, so that settings that need S3 are not reported as well. */
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

/** Refuses settings that don't work together. `whereOf` is the flag or the variable of a setting. */
export function checkPlaces(
  { store, bucket, handover, role }: Places,
  whereOf: (name: 'role' | 'content') => string,
  mistakes: Mistakes,
): void {
  if (role !== 'all' && store.kind === 'sqlite')
    mistakes.add(
      whereOf('role'),
      `'${role}' needs a database that other processes share`,
      'set FILMGATE_STORE to a database that all processes use: postgres://…',
    )
  // Each process has a data folder of its own: an API could not serve what a worker stores there.
  if (role !== 'all' && bucket.kind === 'disk')
    mistakes.add(
      whereOf('role'),
      `'${role}' needs a bucket that other processes share`,
      'set FILMGATE_BUCKET to an S3 bucket that all processes use: s3://…',
    )
  if (handover === 'redirect' && bucket.kind === 'disk')
    mistakes.add(
      whereOf('content'),
      'redirect does not work with videos in the data folder',
      'use proxy, or an S3 bucket',
    )
  if (typeof handover === 'object' && bucket.kind === 's3')
    mistakes.add(whereOf('content'), 'nginx can only deliver files of the data folder', 'use proxy or redirect')
}

/** Warns of settings that work for a single process only. */
export function warningsOf({ store, bucket }: Places): string[] {
  if (store.kind === 'sqlite' || bucket.kind === 's3') return []
  return [
    'FILMGATE_BUCKET: the videos are in the data folder of this process, so it must be the only process on its ' +
      'database; for more processes, set an S3 bucket',
  ]
}

/** Passwords for the log to remove, encoded and decoded. pg reads a password from either part of the URL. */
export function secretsOf(store: StorePlace): string[] {
  const url = store.kind === 'postgres' ? URL.parse(store.url) : null
  if (!url) return []
  const encoded = [...url.search.matchAll(/[?&]password=([^&]*)/g)].map(([, text = '']) => text)
  const decoded = url.searchParams.getAll('password')
  const all = [url.password, decodeURIComponent(url.password), ...encoded, ...decoded]
  return [...new Set(all)].filter((secret) => secret !== '')
}

/* The URLs of a store and of a bucket. A part that would have no effect is a mistake. */

/** The fix of a mistake, if there is one. */
type Check = string | false | undefined

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** The other options of the driver would change the connection in unsupported ways, or do nothing. */
const storeOptions = ['user', 'password', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'application_name']

const storeShape = 'postgres://user:password@host:5432/database'

/** A / ? or # in the password ends the host early. */
const isCutShort = /^postgres(ql)?:\/\/[^@]*[/?#].*@/s

function fixOfStore(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '' || url.pathname.length < 2)
    return isCutShort.test(text)
      ? `write each / ? # of a password as %2F %3F %23, as in ${storeShape}`
      : `use ${storeShape}, or leave it out`
  if (decoded(text) === null) return 'write each % of a name or password as %25'
  const { searchParams: given } = url
  const mode = given.get('sslmode')
  return firstOf([
    text.includes('#') && 'write each # of a name or password as %23',
    // An unknown option after a password may be a part of the password.
    fixOfOptions(given, storeOptions, { isSecret: given.has('password') }),
    mode !== null && !sslModes.includes(mode) && `use one of these as sslmode: ${sslModes.join(', ')}`,
    mode === 'verify-ca' &&
      !given.has('sslrootcert') &&
      'set the certificate authority of sslmode=verify-ca with sslrootcert=FILE',
  ])
}

const bucketOptions = ['endpoint', 'region', 'path_style']

interface BucketAddress {
  bucket: string
  prefix: string
  endpoint?: string
  region?: string
  forcePathStyle?: boolean
}

function parseBucketUrl(text: string): Parsed<BucketAddress> {
  const url = URL.parse(text)
  if (url?.protocol !== 's3:' || !/^[\w.-]+$/.test(url.hostname))
    return {
      value: { bucket: '', prefix: '' },
      fix: 'use s3://bucket/prefix?endpoint=https://…&region=…&path_style=true, or leave it out',
    }
  const given = Object.fromEntries(url.searchParams)
  const prefix = prefixIn(text)
  const fix = fixOfBucket(url, given, prefix)
  return {
    value: {
      bucket: url.hostname,
      prefix: prefix ?? '',
      ...(given.endpoint !== undefined && { endpoint: given.endpoint }),
      ...(given.region !== undefined && { region: given.region }),
      ...(given.path_style !== undefined && { forcePathStyle: given.path_style === 'true' }),
    },
    ...(fix !== undefined && { fix }),
  }
}

function fixOfBucket(url: URL, given: Record<string, string>, prefix: string | null): string | undefined {
  return firstOf([
    (url.username !== '' || url.password !== '') && keysElsewhere,
    url.port !== '' && 'give the port with the endpoint, not after the bucket: ?endpoint=https://host:9000',
    url.href.includes('#') && 'write a # of the prefix as %23, or leave it out',
    prefix === null && 'write each % of the prefix as %25',
    prefix?.split('/').some((part) => part === '.' || part === '..') && "name the prefix without '.' and '..'",
    fixOfOptions(url.searchParams, bucketOptions),
    given.endpoint !== undefined && fixOfEndpoint(given.endpoint),
    given.path_style !== undefined &&
      !['true', 'false'].includes(given.path_style) &&
      'use true or false as path_style',
  ])
}

const keysElsewhere = 'give the keys as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in the URL'

function fixOfEndpoint(text: string): Check {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'begin the endpoint with https:// or http://'
  if (url.username !== '' || url.password !== '') return keysElsewhere
  return /^https?:\/\/[^/?#]+\/?$/i.test(text)
    ? undefined
    : 'end the endpoint after its host and port: https://host:9000'
}

/** The decoded prefix, or null. Read from the text, because a parsed URL has no '..' any more. */
function prefixIn(text: string): string | null {
  const path = /^[^/]*\/\/[^/?#]*([^?#]*)/.exec(text)?.[1] ?? ''
  return decoded(path.replace(/^\/|\/$/g, ''))
}

function fixOfOptions(given: URLSearchParams, known: readonly string[], { isSecret = false } = {}): Check {
  const names = [...given.keys()]
  const list = known.join(', ')
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    return isSecret ? `use only these options: ${list}` : `leave out '${unknown}': the options are ${list}`
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) return `give ${twice} once`
  const empty = names.find((name) => given.get(name) === '')
  return empty !== undefined && `give ${empty} a value, or leave it out`
}

/** Null if a % starts no escape: the drivers would guess what it means. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function firstOf(checks: readonly Check[]): string | undefined {
  return checks.find((fix) => typeof fix === 'string') || undefined
}

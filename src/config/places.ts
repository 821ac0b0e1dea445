import type { Handover } from '../core/handover.ts'
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

/* The URLs of a store and of a bucket. A part of them that has no effect is a mistake: the operator meant something by it. */

/** The first thing that is wrong, as its fix. */
type Check = string | false | undefined

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** Of all that the driver takes: the rest would change how we speak to the database, or do nothing. */
const storeOptions = ['user', 'password', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'application_name']

const storeShape = 'postgres://user:password@host:5432/database'

/** The host seems to end before the name and password do. */
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
    // What comes after a password may be the rest of it.
    fixOfOptions(given, storeOptions, { isSecret: given.has('password') }),
    mode !== null && !sslModes.includes(mode) && `use one of these as sslmode: ${sslModes.join(', ')}`,
    mode === 'verify-ca' &&
      !given.has('sslrootcert') &&
      'name the authority of sslmode=verify-ca with sslrootcert=FILE',
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
      ...{ bucket: url.hostname, prefix: prefix ?? '' },
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

/** As it was meant, null where nobody can say; of the text itself, for a parsed URL has no '..' any more. */
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

/** Null where a % begins no escape: nobody could say what is meant, and the drivers would guess. */
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

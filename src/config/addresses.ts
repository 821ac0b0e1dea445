import type { Parsed } from './settings.ts'

/* What may stand in the URLs of a store and of a bucket. Whatever means nothing there is a mistake: it was meant. */

/** The first thing that is wrong, as its fix. */
type Check = string | false | undefined

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** Of all that the driver takes: the rest would change how we speak to the database, or do nothing. */
const storeOptions = ['user', 'password', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'application_name']

const storeShape = 'postgres://user:password@host:5432/database'

/** The host seems to end before the name and password do. */
const isCutShort = /^postgres(ql)?:\/\/[^@]*[/?#].*@/s

export function fixOfStore(text: string): string | undefined {
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

export interface BucketAddress {
  bucket: string
  prefix: string
  endpoint?: string
  region?: string
  forcePathStyle?: boolean
}

export function parseBucketUrl(text: string): Parsed<BucketAddress> {
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

import { isIP } from 'node:net'
import type { Target } from './target.ts'

/** The base URL of a provider as the operator configured it: an origin and a path prefix. */
export interface Base {
  origin: string
  host: string
  port: number
  /** Appends a path. Throws if the path could lead elsewhere, which is our own mistake. */
  below(path: string): Target
}

/** Visible ASCII: the URL parser drops or changes other characters, and reads "\" as "/". */
const PATH = /^\/(?!\/)[\x21-\x7e]*$/
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Headers that frame the request, or decide where it goes and how the response is encoded. Callers cannot set them. */
const RESERVED_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** White space and control characters, which the URL parser drops, and the backslash, which it reads as a slash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused
const DROPPED = /[\x00-\x20\x7f\\]/

/** Its errors never quote the text, which may contain a password. */
export function readBase(text: string): Base {
  if (DROPPED.test(text)) throw new Error('a base URL has no spaces, control characters or backslashes')
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\/[^/]/i.test(text))
    throw new Error('a base URL has to start with https:// or http:// and a host')
  if (url.username + url.password + url.search + url.hash !== '') {
    throw new Error('a base URL has no user name, password, query or fragment')
  }
  url.hostname = url.hostname.replace(/\.$/, '') // certificates have the name without the dot
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (host.split('.').includes('')) throw new Error('a base URL has a host name without empty parts')
  if (url.port === '0') throw new Error('a base URL has a port from 1 to 65535')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const prefix = url.pathname.replace(/(?<!\/)\/+$/, '')
  const { origin } = url
  const below = (path: string): Target => {
    if (!PATH.test(path) || /[\\#]/.test(path) || hasDotSegment(path)) throw new Error('not a path below a base URL')
    return { url: new URL(origin + prefix + path), host, port, literal: isIP(host) !== 0, trusted: true }
  }
  return { origin, host, port, below }
}

/** Also in percent-encoding, which a server may decode first: "%2e%2e%2f". */
function hasDotSegment(path: string): boolean {
  const [withoutQuery = ''] = path.split('?', 1)
  return withoutQuery.split(/\/|%2f|%5c/i).some((segment) => /^(\.|%2e){1,2}$/i.test(segment))
}

/** The headers of a request, with our own added. Errors never quote a value, which may be a credential. */
export function readHeaders(given: Record<string, string> = {}): Record<string, string> {
  const headers: Record<string, string> = { accept: '*/*', 'user-agent': 'filmgate' }
  for (const [name, value] of Object.entries(given)) {
    const known = name.toLowerCase()
    if (!HEADER_NAME.test(name) || RESERVED_HEADERS.has(known))
      throw new Error(`not a header to set: ${JSON.stringify(name)}`)
    if (!HEADER_VALUE.test(value)) throw new Error(`the header ${known} has a line break or another bad character`)
    headers[known] = value
  }
  return { ...headers, 'accept-encoding': 'identity' }
}

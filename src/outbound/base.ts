import { isIP } from 'node:net'
import type { Target } from './target.ts'

/** Where a provider is, as the operator configured it: an origin, and a path that everything lies below. */
export interface Base {
  origin: string
  host: string
  port: number
  /** What lies at this path below the base; throws on a path that could lead elsewhere, which is a mistake of ours. */
  below(path: string): Target
}

/** Visible ASCII: the URL parser drops or bends the rest, and takes "\" for "/". */
const PATH = /^\/(?!\/)[\x21-\x7e]*$/
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** What frames the request, or decides where it goes and how the answer comes, is ours alone to say. */
const OURS = new Set([
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

/** Throws without a word of the text, which may hold a password. */
export function readBase(text: string): Base {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error('a base URL has to start with https:// or http://')
  if (url.username + url.password + url.search + url.hash !== '') {
    throw new Error('a base URL has no user name, password, query or fragment')
  }
  url.hostname = url.hostname.replace(/\.$/, '') // a certificate is for the name without it
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const prefix = url.pathname.replace(/(?<!\/)\/+$/, '')
  const { origin } = url
  const below = (path: string): Target => {
    if (!PATH.test(path) || /[\\#]/.test(path) || climbs(path)) throw new Error('not a path below a base URL')
    return { url: new URL(origin + prefix + path), host, port, literal: isIP(host) !== 0, trusted: true }
  }
  return { origin, host, port, below }
}

/** Also where a server would decode it before it looks: "%2e%2e%2f". */
function climbs(path: string): boolean {
  const [way = ''] = path.split('?', 1)
  return way.split(/\/|%2f|%5c/i).some((segment) => /^(\.|%2e){1,2}$/i.test(segment))
}

/** The headers of a request with our own; throws without a word of a value, which may be a credential. */
export function readHeaders(given: Record<string, string> = {}): Record<string, string> {
  const headers: Record<string, string> = { accept: '*/*', 'user-agent': 'filmgate' }
  for (const [name, value] of Object.entries(given)) {
    const known = name.toLowerCase()
    if (!HEADER_NAME.test(name) || OURS.has(known)) throw new Error(`not a header to set: ${JSON.stringify(name)}`)
    if (!HEADER_VALUE.test(value)) throw new Error(`the header ${known} has a line break or another bad character`)
    headers[known] = value
  }
  return { ...headers, 'accept-encoding': 'identity' }
}

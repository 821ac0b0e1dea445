import { isIP } from 'node:net'
import { codeOf } from '../core/problem.ts'
import { type Allow, allowsAddress, allowsHost, isPublic, sameAddress } from './address.ts'

/** The operator's exceptions, and the addresses of this machine. */
export interface Rules {
  allow: Allow[]
  /** Some may be public, but services on this machine are not meant for clients. */
  ownAddresses: () => string[]
}

/** A URL whose text passed the checks. `checkAddresses` checks its addresses once they are known. */
export interface Target {
  url: URL
  /** The host name without a trailing dot, or the address without brackets. */
  host: string
  port: number
  /** The host is an address and needs no lookup. */
  literal: boolean
  /** The operator allows this host, so its addresses and ports are not checked. */
  trusted: boolean
}

/** Why a URL may not be fetched. `message` and `fix` are for the client, `cause` is for the operator. */
export class UrlRefusal extends Error {
  readonly fix: string

  constructor(reason: string, fix: string, detail?: string) {
    super(reason, detail === undefined ? undefined : { cause: detail })
    this.name = 'UrlRefusal'
    this.fix = fix
  }
}

/** A URL that the operator can allow. */
export class PrivateUrlRefusal extends UrlRefusal {}

/** The lookup succeeded, and the name has no address. */
export function isNotFound(thrown: unknown): boolean {
  return codeOf(thrown) === 'ENOTFOUND'
}

/** The lookup failed: no name server gave a usable response. */
export function isLookupFailure(thrown: unknown): boolean {
  return codeOf(thrown)?.startsWith('EAI_') === true
}

const MAX_URL_CHARACTERS = 8192
const PORTS = new Set([80, 443, 8080, 8443])

/*
 * Names that exist only inside a network, with all names below them. The check of the addresses is the protection. This
 * list saves a lookup, and gives a clear reason even if the name does not resolve.
 */
const PRIVATE_NAMES = [
  'localhost',
  'localdomain',
  'local', //    mDNS, and Kubernetes' cluster.local
  'internal', // metadata.google.internal and the like
  'intranet',
  'private',
  'corp',
  'home',
  'home.arpa',
  'lan',
  'svc',
  'metadata',
  'metadata.goog',
  'instance-data',
  'ip6-localhost',
  'ip6-loopback',
]

/** The rules for a URL from the configuration: its own host is trusted, on its own port. */
export function trusting({ host, port }: Pick<Target, 'host' | 'port'>, rules: Rules): Rules {
  return { ...rules, allow: [...rules.allow, { host, port }] }
}

/** Parses a URL, absolute or (for a redirect) relative to `base`, without a lookup. Throws a UrlRefusal. */
export function readTarget(text: string, rules: Rules, base?: URL): Target {
  const url = parse(text, base)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new UrlRefusal('it does not start with https:// or http://', 'Use a web address.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new UrlRefusal('it contains a user name or a password', 'Remove the part before the "@".')
  }
  // "localhost." is the same host as "localhost", but no name rule and no certificate would match it.
  url.hostname = url.hostname.replace(/\.$/, '')
  url.hash = ''
  if (url.hostname.split('.').includes('')) throw notAUrl()
  const { host, port } = endOf(url)
  const trusted = allowsHost(rules.allow, host, port)
  if (!trusted && PRIVATE_NAMES.some((name) => host === name || host.endsWith(`.${name}`))) {
    throw new PrivateUrlRefusal(
      'its host name belongs to a private network',
      'Use a host that anyone on the internet can reach.',
    )
  }
  return { url, host, port, literal: isIP(host) !== 0, trusted }
}

/** The host that a URL leads to, in the form of rules, and its port. */
export function endOf({ hostname, port, protocol }: URL): Pick<Target, 'host' | 'port'> {
  const host = hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '')
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}

/** Throws a UrlRefusal if at least one address of the target is not allowed. */
export function checkAddresses(target: Target, addresses: string[], rules: Rules): void {
  if (target.trusted) return
  const own = rules.ownAddresses()
  for (const address of addresses) {
    if (allowsAddress(rules.allow, address, target.port)) continue
    if (!isPublic(address) || own.some((ownAddress) => sameAddress(ownAddress, address))) {
      throw new PrivateUrlRefusal(
        'its host is not at a public address',
        'Use a host that anyone on the internet can reach.',
        `${target.host} is at ${address}, which is not public and not allowed on port ${target.port}`,
      )
    }
    checkPort(target)
  }
  if (addresses.length === 0) checkPort(target)
}

function checkPort(target: Target): void {
  if (PORTS.has(target.port)) return
  throw new PrivateUrlRefusal(`its port is not one of ${[...PORTS].join(', ')}`, 'Serve it on one of these ports.')
}

function parse(text: string, base: URL | undefined): URL {
  if (text.length > MAX_URL_CHARACTERS) throw tooLong()
  // The URL parser silently drops line breaks and tabs and reads "\" as "/". Other parsers may read the URL differently.
  if (/[\p{Cc}\p{Z}\\]/u.test(text)) {
    throw new UrlRefusal('it contains a space, a backslash or a control character', 'Percent-encode such characters.')
  }
  const url = URL.parse(text, base?.href)
  if (url === null) throw notAUrl()
  // Percent-encoding can make it several times longer than its text.
  if (url.href.length > MAX_URL_CHARACTERS) throw tooLong()
  return url
}

function tooLong(): UrlRefusal {
  return new UrlRefusal(`it is longer than ${MAX_URL_CHARACTERS} characters`, 'Use a shorter URL.')
}

function notAUrl(): UrlRefusal {
  return new UrlRefusal('it is not a valid URL', 'Use an absolute URL, such as https://example.com/path.')
}

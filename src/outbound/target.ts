import { isIP } from 'node:net'
import { type Allow, allowsAddress, allowsHost, isPublic, sameAddress } from './address.ts'

/** What the operator decided, and what this machine is. */
export interface Rules {
  allow: Allow[]
  /** The addresses of this machine: some may be public, and what listens there need not be. */
  ownAddresses: () => string[]
}

/** A URL whose text passed; its addresses are judged by `admit`, once they are known. */
export interface Target {
  url: URL
  /** The host name without a dot at its end, or the address without brackets. */
  host: string
  port: number
  /** The host is an address: nothing to resolve. */
  literal: boolean
  /** The operator named this host, so that its addresses and ports are not judged. */
  trusted: boolean
}

/** Why a URL may not be fetched. `message` and `fix` are for the client, `cause` is for the operator. */
export class Refusal extends Error {
  readonly fix: string

  constructor(reason: string, fix: string, detail?: string) {
    super(reason, detail === undefined ? undefined : { cause: detail })
    this.name = 'Refusal'
    this.fix = fix
  }
}

/** It leads to where only the operator may let it. */
export class PrivateRefusal extends Refusal {}

/** A lookup found that the name has no address: not one that found nothing out. */
export function isNotFound(thrown: unknown): boolean {
  return (thrown as { code?: string }).code === 'ENOTFOUND'
}

/** A lookup found nothing out: no server responded, or not with a usable answer. */
export function isLookupFailure(thrown: unknown): boolean {
  return String((thrown as { code?: unknown }).code).startsWith('EAI_')
}

const MAX_URL_CHARACTERS = 8192
const PORTS = new Set([80, 443, 8080, 8443])

/*
 * Names that mean something inside a network only, with all names below them. The addresses are what is guarded; this
 * list spares the question to the resolver, and says clearly what is wrong even where the name does not resolve.
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

/** Reads the text of a URL, absolute or (for a redirect) relative to `base`; throws a Refusal. Asks no resolver. */
export function readTarget(text: string, rules: Rules, base?: URL): Target {
  const url = parse(text, base)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new Refusal('it does not start with https:// or http://', 'Use a web address.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('it contains a user name or a password', 'Remove the part before the "@".')
  }
  // "localhost." is the same host as "localhost", but neither a name rule nor a certificate would match it.
  url.hostname = url.hostname.replace(/\.$/, '')
  url.hash = ''
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (host.split('.').includes('')) throw notAUrl()
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const trusted = allowsHost(rules.allow, host, port)
  if (!trusted && PRIVATE_NAMES.some((name) => host === name || host.endsWith(`.${name}`))) {
    throw new PrivateRefusal(
      'its host name belongs to a private network',
      'Use a host that anyone on the internet can reach.',
    )
  }
  return { url, host, port, literal: isIP(host) !== 0, trusted }
}

/** Judges the addresses that a target leads to: one bad address is enough to throw a Refusal. */
export function admit(target: Target, addresses: string[], rules: Rules): void {
  if (target.trusted) return
  const own = rules.ownAddresses()
  for (const address of addresses) {
    if (allowsAddress(rules.allow, address, target.port)) continue
    if (!isPublic(address) || own.some((mine) => sameAddress(mine, address))) {
      throw new PrivateRefusal(
        'its host is not at a public address',
        'Use a host that anyone on the internet can reach.',
        `${target.host} is at ${address}, which is not public and not allowed on port ${target.port}`,
      )
    }
    admitPort(target)
  }
  if (addresses.length === 0) admitPort(target)
}

function admitPort(target: Target): void {
  if (PORTS.has(target.port)) return
  throw new PrivateRefusal(`its port is not one of ${[...PORTS].join(', ')}`, 'Serve it on one of these ports.')
}

function parse(text: string, base: URL | undefined): URL {
  if (text.length > MAX_URL_CHARACTERS) throw tooLong()
  // The URL parser drops line breaks and tabs silently and takes "\" for "/": what we read must be what everybody reads.
  if (/[\p{Cc}\p{Z}\\]/u.test(text)) {
    throw new Refusal('it contains a space, a backslash or a control character', 'Percent-encode such characters.')
  }
  const url = URL.parse(text, base?.href)
  if (url === null) throw notAUrl()
  // Percent-encoding can make it several times longer than its text.
  if (url.href.length > MAX_URL_CHARACTERS) throw tooLong()
  return url
}

function tooLong(): Refusal {
  return new Refusal(`it is longer than ${MAX_URL_CHARACTERS} characters`, 'Use a shorter URL.')
}

function notAUrl(): Refusal {
  return new Refusal('it is not a valid URL', 'Use an absolute URL, such as https://example.com/image.png.')
}

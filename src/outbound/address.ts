import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/** One exception of the operator: no address and port rules apply to this host or range, on one port or on all. */
export type Allow = { host: string; port: number | null } | { range: Range; port: number | null }

/*
 * Ranges that are never fetched from. ipaddr.js knows most of them, but calls a range that it does not list `unicast`,
 * so an address has to pass both checks.
 */
const NOT_PUBLIC: Range[] = [
  '0.0.0.0/8', //         this host: Linux connects 0.0.0.0 to loopback
  '10.0.0.0/8',
  '100.64.0.0/10', //     carrier-grade NAT; Alibaba's metadata service
  '127.0.0.0/8',
  '168.63.129.16/32', //  Azure's host services: looks public, responds only inside a virtual machine
  '169.254.0.0/16', //    link-local; the metadata service of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24', //      IETF protocols; Oracle's metadata service
  '192.0.2.0/24', //      documentation
  '192.31.196.0/24', //   AS112
  '192.52.193.0/24', //   AMT
  '192.88.99.0/24', //    6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', //   AS112
  '198.18.0.0/15', //     benchmarks
  '198.51.100.0/24', //   documentation
  '203.0.113.0/24', //    documentation
  '224.0.0.0/4', //       multicast
  '240.0.0.0/4', //       reserved, and broadcast
  '::/96', //             unspecified, loopback, IPv4-compatible
  '::ffff:0:0/96', //     IPv4-mapped: not needed in a URL, so a public one is refused too
  '::ffff:0:0:0/96', //   IPv4-translated
  '64:ff9b::/96', //      NAT64
  '64:ff9b:1::/48', //    NAT64, local
  '100::/64', //          discard
  '2001::/23', //         IETF protocols: Teredo, benchmarks, ORCHID …
  '2001:db8::/32', //     documentation
  '2002::/16', //         6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', //         documentation
  '5f00::/16', //         segment routing
  'fc00::/7', //          unique local; metadata services of AWS and Google
  'fe80::/10', //         link-local
  'fec0::/10', //         site-local
  'ff00::/8', //          multicast
].map((range) => ipaddr.parseCIDR(range))

/** The only part of IPv6 that IANA has opened for global unicast. */
const GLOBAL_IPV6: Range = ipaddr.parseCIDR('2000::/3')

/** True for an address that anyone on the internet can reach. False for anything else, also for invalid text. */
export function isPublic(address: string): boolean {
  const parsed = parseAddress(address)
  if (parsed === undefined || parsed.range() !== 'unicast') return false
  if (parsed.kind() === 'ipv6' && !inRange(parsed, GLOBAL_IPV6)) return false
  return !NOT_PUBLIC.some((range) => inRange(parsed, range))
}

/** True for an address on this machine or in a private network. */
export function isPrivate(address: string): boolean {
  return privateRanges.has(parseAddress(address)?.range() ?? '')
}

const privateRanges = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'])

export function sameAddress(one: string, other: string): boolean {
  if (one === other) return isIP(one) !== 0
  const address = parseAddress(one)
  return address !== undefined && address.toNormalizedString() === parseAddress(other)?.toNormalizedString()
}

/** Reads an exception: a CIDR range, or an address or host name with an optional port. Undefined if it is invalid. */
export function parseAllow(entry: string): Allow | undefined {
  if (entry.includes('/')) {
    const [address = '', bits = ''] = entry.split('/', 2)
    // Checked here, because ipaddr.js reads "010.0.0.0/8" as octal.
    if (isIP(address) === 0 || address.includes('%') || !/^\d+$/.test(bits)) return undefined
    return ipaddr.isValidCIDR(entry) ? { range: ipaddr.parseCIDR(entry), port: null } : undefined
  }
  if (isIP(entry) !== 0) return allowHost(entry, null)
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:[\]@?#%\\\s]+))(?::(\d{1,5}))?$/.exec(entry) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? null : Number(digits)
  if (host === undefined || port === 0 || (port ?? 0) > 65_535) return undefined
  if (bracketed !== undefined && isIP(bracketed) !== 6) return undefined
  return allowHost(host, port)
}

/** True if the operator made an exception for this host name. */
export function allowsHost(allow: Allow[], host: string, port: number): boolean {
  return allow.some((entry) => 'host' in entry && entry.host === host && onPort(entry, port))
}

/** True if the operator made an exception for this address. */
export function allowsAddress(allow: Allow[], address: string, port: number): boolean {
  const parsed = parseAddress(address)
  if (parsed === undefined) return false
  return allow.some((entry) => 'range' in entry && inRange(parsed, entry.range) && onPort(entry, port))
}

function allowHost(host: string, port: number | null): Allow | undefined {
  const address = parseAddress(host)
  if (address !== undefined) {
    return host.includes('%') ? undefined : { range: [address, address.kind() === 'ipv4' ? 32 : 128], port }
  }
  // Parsed like a URL, so that an entry matches the host of a parsed URL. "127.1" would become an address.
  const name = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '') ?? ''
  return /^[\w-]+(\.[\w-]+)*$/.test(name) && isIP(name) === 0 ? { host: name, port } : undefined
}

function onPort(entry: Allow, port: number): boolean {
  return entry.port === null || entry.port === port
}

function inRange(address: Address, range: Range): boolean {
  return address.kind() === range[0].kind() && address.match(range)
}

/** Only canonical forms: ipaddr.js alone would also accept "127.1" and "0x7f000001". */
function parseAddress(text: string): Address | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.parse(text)
}

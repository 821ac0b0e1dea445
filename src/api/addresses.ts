import { BlockList } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { familyOf, readIpRange } from '../core/ip-range.ts'

interface Known {
  list: BlockList
  /** Addresses that were found in it: a poll is often the next request of the same client. */
  found: Set<string>
}

/** A few MB for each list at most. */
const mostFound = 10_000

/** Parsed lists. A list that was changed is another list. */
const lists = new WeakMap<readonly string[], Known>()

/** Whether one of the ranges has the address. */
export function includesAddress(ranges: readonly string[], address: string): boolean {
  const { list, found } = listOf(ranges)
  if (found.has(address)) return true
  const plain = unmapped(address)
  const family = familyOf(plain)
  if (family === undefined || !list.check(plain, family)) return false
  if (found.size >= mostFound) found.clear()
  found.add(address)
  return true
}

function listOf(ranges: readonly string[]): Known {
  const known = lists.get(ranges)
  if (known) return known
  const list = new BlockList()
  for (const text of ranges) {
    const range = readIpRange(text)
    if (range) list.addSubnet(range.address, range.bits, range.family)
  }
  const made = { list, found: new Set<string>() }
  lists.set(ranges, made)
  return made
}

function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/** An entry of X-Forwarded-For: an address, in brackets or with a port, too. Undefined for anything else. */
export function readForwarded(entry: string): string | undefined {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(entry) ?? []
  const address = bracketed ?? withPort ?? entry
  return familyOf(address) && address
}

/**
 * The address of the client: the last one that no trusted proxy has added. If that is not an address, the client counts as the
 * trusted proxy that passed it on.
 */
export function clientAddressOf({ ip, ips = [] }: Pick<FastifyRequest, 'ip' | 'ips'>): string {
  const address = readForwarded(ip) ?? ips.map(readForwarded).findLast((hop) => hop !== undefined)
  return address ?? String(ip).slice(0, 100)
}

/** All addresses that one client may choose from: of IPv6, networks of 64 bits are given to clients. */
export function networkOf(address: string): string {
  const plain = unmapped(address)
  if (familyOf(plain) !== 'ipv6') return plain
  // A URL has the shortest spelling of an address.
  const [head = [], tail = []] = new URL(`http://[${plain}]/`).hostname
    .slice(1, -1)
    .split('::')
    .map((groups) => groups.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(':')}::/64`
}

import { BlockList } from 'node:net'
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
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
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

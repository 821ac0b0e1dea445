import { BlockList } from 'node:net'
import { familyOf, readIpRange } from '../core/ip-range.ts'

/** Parsed lists. A list that was changed is another list. */
const lists = new WeakMap<readonly string[], BlockList>()

/** Whether one of the ranges has the address. */
export function includesAddress(ranges: readonly string[], address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const family = familyOf(plain)
  return family !== undefined && listOf(ranges).check(plain, family)
}

function listOf(ranges: readonly string[]): BlockList {
  const known = lists.get(ranges)
  if (known) return known
  const list = new BlockList()
  for (const text of ranges) {
    const range = readIpRange(text)
    if (range) list.addSubnet(range.address, range.bits, range.family)
  }
  lists.set(ranges, list)
  return list
}

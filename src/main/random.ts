import { randomBytes } from 'node:crypto'
import type { Random } from '../core/clock.ts'

const pageBytes = 4096

/** Random bytes of the system, fetched a page at a time: a call for each id would cost more than all else for it. */
export function openRandom(): Random {
  let page = Buffer.alloc(0)
  let used = 0
  return (count) => {
    if (used + count > page.length) {
      page = randomBytes(Math.max(pageBytes, count))
      used = 0
    }
    used += count
    return page.subarray(used - count, used)
  }
}

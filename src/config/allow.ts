import { parseAllow } from '../outbound.ts'
import type { Mistakes } from './mistakes.ts'

/** `outbound: {allow: [...]}`: private places from which a client's image may come all the same. */
export function readAllow(given: unknown, mistakes: Mistakes): string[] {
  const map = mistakes.mapAt('outbound', given)
  mistakes.keysOf('outbound', map, ['allow'])
  const { allow } = map
  if (allow === undefined || allow === null) return []
  if (!Array.isArray(allow)) {
    mistakes.add('outbound.allow', 'it is not a list', 'write for example ["10.1.0.0/16", "images.example.internal"]')
    return []
  }
  const fix = 'use an address, address:port, a range such as 10.1.0.0/16, or a host name'
  for (const [at, entry] of allow.entries()) {
    if (typeof entry === 'string' && parseAllow(entry)) continue
    mistakes.addUnknown(`outbound.allow[${at}]`, entry, fix, (quoted) => `${quoted} is no place`)
  }
  return allow.filter((entry) => typeof entry === 'string')
}

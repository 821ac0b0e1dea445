import { Resolver as NameResolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublic } from './address.ts'
import type { Resolver } from './connect.ts'
import { after } from './watch.ts'

interface NameServerOptions {
  /** Instead of those in resolv.conf. */
  servers?: string[] | undefined
  /** The addresses of this machine: IPv6 is tried first only where it has a public one. */
  ownAddresses: () => string[]
}

/** The second try has twice the time of the first. Together they fit into the time for a connection. */
const PATIENCE = { timeout: 1_500, tries: 2 }

/** Some name servers never respond to one of the two questions. */
const OTHER_FAMILY_MS = 1_000

/** What a name server says of a name without addresses. The last is not even a name. */
const NOT_FOUND = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/**
 * Asks the name servers of this machine over the network: unlike the system's own lookup this takes no thread, and ends
 * with the signal. It reads neither the hosts file nor search domains.
 * Throws with the codes of the system's lookup: ENOTFOUND for a name without an address, EAI_AGAIN if no server says.
 */
export function openNameServers({ servers, ownAddresses }: NameServerOptions): Resolver {
  return async (host, signal) => {
    signal.throwIfAborted()
    // One for each name, because `cancel` ends every question of a resolver. It reads resolv.conf as it is now.
    const resolver = new NameResolver(PATIENCE)
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    let undo = () => {}
    const found = async (question: Promise<string[]>) => {
      const addresses = await question
      undo()
      undo = after(OTHER_FAMILY_MS, cancel)
      return addresses
    }
    signal.addEventListener('abort', cancel, { once: true })
    const both = await Promise.allSettled([found(resolver.resolve4(host)), found(resolver.resolve6(host))])
    signal.removeEventListener('abort', cancel)
    undo()
    signal.throwIfAborted()
    const addresses = both.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0) throw failureOf(host, both, resolver.getServers())
    return inOrder(addresses, ownAddresses())
  }
}

/** As the system orders them: an IPv6 address that this machine has no way to would only cost time. */
function inOrder(addresses: string[], own: string[]): string[] {
  const first = own.some((address) => isIP(address) === 6 && isPublic(address)) ? 6 : 4
  const isFirst = (address: string) => isIP(address) === first
  return [...addresses.filter(isFirst), ...addresses.filter((address) => !isFirst(address))]
}

function failureOf(host: string, both: PromiseSettledResult<string[]>[], servers: string[]): Error {
  const causes = both.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as Error & { code: string }] : [],
  )
  const unclear = causes.find(({ code }) => !NOT_FOUND.has(code))
  if (!unclear) return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
  const message = `the name servers in /etc/resolv.conf (${servers.join(', ') || 'none'}) did not resolve ${host}: ${unclear.code}`
  return Object.assign(new Error(message, { cause: unclear }), { code: 'EAI_AGAIN' })
}

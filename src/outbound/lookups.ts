import { Resolver as NameResolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type FairTurns, openFairTurns } from '../core/fair.ts'
import { isPublic } from './address.ts'
import type { Lookup, Resolver } from './connect.ts'
import { after } from './watch.ts'

/** Name lookups with a cap for each owner: a client's lookup never delays one of a provider or of another token. */
export interface Lookups {
  /** For URLs from clients of this token. */
  ofToken(owner: string): Lookup
  /** For the host of a provider, and for the hosts of its results. */
  ofProvider(host: string): Lookup
}

interface LookupResolvers {
  /** The system's own lookup. It holds one of the few threads of the process, and cannot be aborted. */
  system: (host: string) => Promise<string[]>
  /** Ends with the signal. */
  nameServers: Resolver
}

/** Each lookup is an open socket for up to 5 seconds. */
const CLIENT_LOOKUPS = { slots: 64, mostHeld: 8 }

/** Node runs at most two of the system's lookups at once (half of its 4 threads): the other one is for providers. */
const SYSTEM_LOOKUPS_FOR_CLIENTS = { slots: 1 }

/** Names from the configuration use the system's lookup, because they may be in the hosts file or need a search domain. */
export function openLookups({ system, nameServers }: LookupResolvers): Lookups {
  const clientTurns = openFairTurns(CLIENT_LOOKUPS)
  const systemTurns = openFairTurns(SYSTEM_LOOKUPS_FOR_CLIENTS)
  const resultTurns = openFairTurns(CLIENT_LOOKUPS)
  const running = new Map<string, Promise<string[]>>()

  /** All callers share one lookup for each host: a host that hangs holds one thread only. */
  function resolveBySystem(host: string): Promise<string[]> {
    const known = running.get(host)
    if (known) return known
    const lookup = system(host).finally(() => running.delete(host))
    running.set(host, lookup)
    return lookup
  }

  const lookupFor =
    (owner: string, turns: FairTurns): Lookup =>
    async ({ host, trusted }, signal) => {
      const known = trusted && running.get(host)
      if (known) return known
      using _turn = await (trusted ? systemTurns : turns).take(owner, signal)
      return await (trusted ? resolveBySystem(host) : nameServers(host, signal))
    }

  return {
    ofToken: (owner) => lookupFor(`token ${owner}`, clientTurns),
    ofProvider(own) {
      const lookup = lookupFor(`provider ${own}`, resultTurns)
      return (target, signal) => (target.host === own ? resolveBySystem(own) : lookup(target, signal))
    },
  }
}

interface NameServerOptions {
  /** Instead of those in resolv.conf. */
  servers?: string[] | undefined
  /** The addresses of this machine: IPv6 is tried first only if one of them is a public IPv6 address. */
  ownAddresses: () => string[]
}

/** The second try has twice the time of the first. Together they fit into the deadline of a connection. */
const NAME_SERVER_LIMITS = { timeout: 1_500, tries: 2 }

/** Some name servers never respond to one of the two queries (A and AAAA). */
const OTHER_FAMILY_MS = 1_000

/** Codes for a name without addresses. The last one is for an invalid name. */
const NOT_FOUND = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/**
 * Queries the name servers of this machine over the network. Unlike the system's own lookup this takes no thread, and
 * ends with the signal. It reads neither the hosts file nor search domains.
 * Throws with the codes of the system's lookup: ENOTFOUND for a name without an address, EAI_AGAIN if the lookup failed.
 */
export function openNameServers({ servers, ownAddresses }: NameServerOptions): Resolver {
  return async (host, signal) => {
    signal.throwIfAborted()
    // One for each name, because `cancel` ends all queries of a resolver. It reads the current resolv.conf.
    const resolver = new NameResolver(NAME_SERVER_LIMITS)
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    let cancelTimer = () => {}
    const found = async (query: Promise<string[]>) => {
      const addresses = await query
      cancelTimer()
      cancelTimer = after(OTHER_FAMILY_MS, cancel)
      return addresses
    }
    signal.addEventListener('abort', cancel, { once: true })
    const results = await Promise.allSettled([found(resolver.resolve4(host)), found(resolver.resolve6(host))])
    signal.removeEventListener('abort', cancel)
    cancelTimer()
    signal.throwIfAborted()
    const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    if (addresses.length === 0) throw lookupError(host, results, resolver.getServers())
    return inOrder(addresses, ownAddresses())
  }
}

/** As the system orders them: an IPv6 address that this machine cannot reach would only cost time. */
function inOrder(addresses: string[], own: string[]): string[] {
  const first = own.some((address) => isIP(address) === 6 && isPublic(address)) ? 6 : 4
  const isFirst = (address: string) => isIP(address) === first
  return [...addresses.filter(isFirst), ...addresses.filter((address) => !isFirst(address))]
}

function lookupError(host: string, results: PromiseSettledResult<string[]>[], servers: string[]): Error {
  const causes: (Error & { code: string })[] = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason] : [],
  )
  const failure = causes.find(({ code }) => !NOT_FOUND.has(code))
  if (!failure) return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
  const message = `the name servers in /etc/resolv.conf (${servers.join(', ') || 'none'}) did not resolve ${host}: ${failure.code}`
  return Object.assign(new Error(message, { cause: failure }), { code: 'EAI_AGAIN' })
}

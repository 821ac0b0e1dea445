import { type FairTurns, openFairTurns } from '../core/fair.ts'
import type { Lookup, Resolver } from './connect.ts'

/** Who may look up names, and how many at once. No client's lookup delays one of a provider or of another token. */
export interface Lookups {
  /** For URLs that clients of this token name. */
  ofToken(owner: string): Lookup
  /** For a provider at this host, and for the hosts that it names. */
  ofProvider(host: string): Lookup
}

interface LookupWays {
  /** The system's own. It holds one of the few threads of the process, and can't be ended. */
  system: (host: string) => Promise<string[]>
  /** Ends with the signal. */
  nameServers: Resolver
}

/** Each is an open socket, for up to 5 seconds. */
const NAMED_BY_CLIENTS = { slots: 64, mostHeld: 8 }

/** Node runs no more than two of the system's lookups at once (half of its 4 threads): the other is for providers. */
const ALLOWED_BY_OPERATOR = { slots: 1 }

/** Names that the operator wrote go the system's way, because they may be in the hosts file or need a search domain. */
export function openLookups({ system, nameServers }: LookupWays): Lookups {
  const named = openFairTurns(NAMED_BY_CLIENTS)
  const allowed = openFairTurns(ALLOWED_BY_OPERATOR)
  const ofResults = openFairTurns(NAMED_BY_CLIENTS)
  const running = new Map<string, Promise<string[]>>()

  /** One for each host at a time, which all share: however many want it, a host that hangs takes one thread. */
  function askSystem(host: string): Promise<string[]> {
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
      using _turn = await (trusted ? allowed : turns).take(owner, signal)
      return await (trusted ? askSystem(host) : nameServers(host, signal))
    }

  return {
    ofToken: (owner) => lookupFor(`token ${owner}`, named),
    ofProvider(own) {
      const lookup = lookupFor(`provider ${own}`, ofResults)
      return (target, signal) => (target.host === own ? askSystem(own) : lookup(target, signal))
    },
  }
}

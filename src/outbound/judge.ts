import { addressesOf, type Lookup } from './connect.ts'
import { admit, isNotFound, Refusal, type Rules, readTarget, type Target } from './target.ts'

interface Judgement {
  rules: Rules
  lookup: Lookup
  /** How long the lookup is waited for. */
  withinMs: number
}

/** Why a URL may not be used, as far as its text and its addresses tell now; undefined where nothing speaks against it. */
export async function judge(url: string, by: Judgement, signal: AbortSignal): Promise<Refusal | undefined> {
  try {
    const target = readTarget(url, by.rules)
    admit(target, await addressesNow(target, by, signal), by.rules)
    return undefined
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown
    throw thrown
  }
}

/** None if the name can't be resolved now: that may have changed by the time of the request, which judges again. */
async function addressesNow(target: Target, { lookup, withinMs }: Judgement, signal: AbortSignal): Promise<string[]> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(withinMs)])
  try {
    return await addressesOf(target, lookup, stop)
  } catch (thrown) {
    signal.throwIfAborted()
    // A host that the operator named may be down for now, and have no name meanwhile.
    if (!target.trusted && isNotFound(thrown)) throw hostNotFound()
    return []
  }
}

function hostNotFound(): Refusal {
  return new Refusal(
    'its host name does not exist in the DNS',
    'Check its spelling. A name from a hosts file or a search domain works only if the operator adds it to outbound.allow.',
  )
}

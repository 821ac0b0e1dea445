import { addressesOf, type Resolver } from './connect.ts'
import { admit, Refusal, type Rules, readTarget, type Target } from './target.ts'

export interface Judgement {
  rules: Rules
  resolve: Resolver
  /** How long the resolver is waited for. */
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

async function addressesNow(target: Target, { resolve, withinMs }: Judgement, signal: AbortSignal): Promise<string[]> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(withinMs)])
  try {
    return await addressesOf(target, resolve, stop)
  } catch {
    signal.throwIfAborted()
    return []
  }
}

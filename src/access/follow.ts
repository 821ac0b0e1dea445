import type { Access } from '../access.ts'
import { openBell } from '../core/bell.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { TokenStore } from '../stores/store.ts'

/** How often a process looks for changes of other processes. A message makes it look at once, but may be lost. */
const lookMs = 500

interface FollowOptions {
  store: Pick<TokenStore, 'tokens' | 'onTokens'>
  access: Pick<Access, 'change'>
  clock: Clock
  /** The newest revision that `access` has. */
  since: number
  warn: (event: string, fields: Record<string, unknown>) => void
}

/** Keeps the tokens of this process the same as those of the store. */
export function followTokens({ store, access, clock, since, warn }: FollowOptions): AsyncDisposable {
  const stop = new AbortController()
  const bell = openBell(clock)
  const leave = store.onTokens(bell.ring)
  let known = since
  let isLost = false

  async function look(): Promise<void> {
    const changed = await store.tokens(known)
    const newest = changed.at(-1)
    if (!newest) return
    known = newest.revision
    access.change({ set: changed })
  }
  async function follow(): Promise<void> {
    while (!stop.signal.aborted) {
      await bell.wait(lookMs, stop.signal)
      bell.mute()
      if (stop.signal.aborted) return
      try {
        await look()
        isLost = false
      } catch (error) {
        if (!isLost)
          warn("changes of tokens can't be read: revoked tokens may stay valid", { cause: Problem.from(error) })
        isLost = true
      }
    }
  }
  const following = follow()
  return {
    async [Symbol.asyncDispose]() {
      leave()
      stop.abort()
      await following
    },
  }
}

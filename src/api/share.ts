import { Problem } from '../core/problem.ts'

/** How many items of a kind this process serves at once, and how many of them each token may have. */
interface ShareLimits {
  most: number
  mostOfOne: number
  /** The items, and what to do if there are too many: "streams and waiting requests", "Poll instead". */
  items: string
  advice?: string
}

interface Share {
  /** Throws `rate_limit_exceeded` if the token has its share, and `overloaded` if all tokens together have too many. */
  take(owner: string): Disposable
}

export function openShare({ most, mostOfOne, items, advice = 'Try again shortly' }: ShareLimits): Share {
  const byOwner = new Map<string, number>()
  let all = 0

  function messageFor(holder: string, limit: number): string {
    return `${holder} already has ${limit} ${items} (the limit is ${limit}). ${advice}.`
  }

  function giveBack(owner: string): void {
    const left = (byOwner.get(owner) ?? 0) - 1
    all -= 1
    if (left > 0) byOwner.set(owner, left)
    else byOwner.delete(owner)
  }

  return {
    take(owner) {
      const own = byOwner.get(owner) ?? 0
      if (own >= mostOfOne)
        throw new Problem('rate_limit_exceeded', messageFor('This token', mostOfOne), { retryable: true })
      if (all >= most) throw new Problem('overloaded', messageFor('The service', most), { retryable: true })
      all += 1
      byOwner.set(owner, own + 1)
      let isHeld = true
      return {
        [Symbol.dispose]() {
          if (isHeld) giveBack(owner)
          isHeld = false
        },
      }
    },
  }
}

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
  // A count stays when it is 0: each submit takes a place, and there are few tokens.
  const byOwner = new Map<string, Count>()
  const all: Count = { taken: 0 }

  function messageFor(holder: string, limit: number): string {
    return `${holder} already has ${limit} ${items} (the limit is ${limit}). ${advice}.`
  }

  function countOf(owner: string): Count {
    const count = byOwner.get(owner) ?? { taken: 0 }
    byOwner.set(owner, count)
    return count
  }

  return {
    take(owner) {
      const own = byOwner.get(owner) ?? countOf(owner)
      if (own.taken >= mostOfOne)
        throw new Problem('rate_limit_exceeded', messageFor('This token', mostOfOne), { retryable: true })
      if (all.taken >= most) throw new Problem('overloaded', messageFor('The service', most), { retryable: true })
      return new Place(own, all)
    },
  }
}

interface Count {
  taken: number
}

/** Not closures: those would cost each submit more than the counting. */
class Place implements Disposable {
  readonly #own: Count
  readonly #all: Count
  #isHeld = true
  constructor(own: Count, all: Count) {
    this.#own = own
    this.#all = all
    own.taken += 1
    all.taken += 1
  }
  [Symbol.dispose](): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#own.taken -= 1
    this.#all.taken -= 1
  }
}

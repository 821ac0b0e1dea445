import { Problem } from '../core/problem.ts'

/** How many items of a kind this process serves at once, and how many of them each token may have. */
interface ShareLimits {
  most: number
  mostOfOne: number
  /** The items, and what to do if there are too many: "streams and waiting requests", "Poll instead". */
  items: string
  advice?: string
  /** Who has a share; 'This token' by default. */
  holder?: string
}

export interface Share {
  /** Throws `rate_limit_exceeded` if the token has its share, and `overloaded` if all tokens together have too many. */
  take(owner: string): Disposable
}

export function openShare(limits: ShareLimits): Share {
  const { most, mostOfOne, items, advice = 'Try again shortly', holder = 'This token' } = limits
  // Only of owners that have a place: an owner may be one video, of which there are ever more.
  const byOwner = new Map<string, Count>()
  const all: Count = { taken: 0 }

  function messageFor(name: string, limit: number): string {
    return `${name} already has ${limit} ${items} (the limit is ${limit}). ${advice}.`
  }

  return {
    take(owner) {
      const own = byOwner.get(owner) ?? { taken: 0 }
      if (own.taken >= mostOfOne)
        throw new Problem('rate_limit_exceeded', messageFor(holder, mostOfOne), { retryable: true })
      if (all.taken >= most) throw new Problem('overloaded', messageFor('The service', most), { retryable: true })
      if (own.taken === 0) byOwner.set(owner, own)
      return new Place(owner, own, { byOwner, all })
    },
  }
}

interface Count {
  taken: number
}

interface Counts {
  byOwner: Map<string, Count>
  all: Count
}

/** Not closures: those would cost each submit more than the counting. */
class Place implements Disposable {
  readonly #owner: string
  readonly #own: Count
  readonly #counts: Counts
  #isHeld = true
  constructor(owner: string, own: Count, counts: Counts) {
    this.#owner = owner
    this.#own = own
    this.#counts = counts
    own.taken += 1
    counts.all.taken += 1
  }
  [Symbol.dispose](): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#own.taken -= 1
    this.#counts.all.taken -= 1
    if (this.#own.taken === 0) this.#counts.byOwner.delete(this.#owner)
  }
}

import { Problem } from '../core/problem.ts'

/** How many of something this process serves at once, and how many of them each token may have. */
interface ShareLimits {
  most: number
  mostOfOne: number
  /** What they are, and what to do where there are too many: "streams and waiting requests", "poll". */
  what: string
  instead?: string
}

interface Share {
  /** Throws `rate_limit_exceeded` where the token has its share, and `overloaded` where all together have too many. */
  take(owner: string): Disposable
}

export function openShare({ most, mostOfOne, what, instead = 'try again shortly' }: ShareLimits): Share {
  const byOwner = new Map<string, number>()
  let all = 0

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
        throw new Problem(
          'rate_limit_exceeded',
          `This token has ${mostOfOne} ${what} at once, which is the limit. Please ${instead}.`,
          { retryable: true },
        )
      if (all >= most)
        throw new Problem(
          'overloaded',
          `The service has ${most} ${what} at once, which is the limit. Please ${instead}.`,
          {
            retryable: true,
          },
        )
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

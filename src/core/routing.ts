import { chance, type Random } from './clock.ts'
import type { PriceTable } from './prices.ts'

/** An account that can generate videos of a model. */
export interface Route {
  readonly account: string
  /** The provider's name for the model. */
  readonly upstreamModel: string
  /** Lower is tried first. Among equals the choice is random, by weight. */
  readonly priority: number
  readonly weight: number
  /** The provider's price, if it is not that of the card; null if it is unknown. */
  readonly price?: PriceTable | null
}

/** The routes in the order in which they should be tried now. */
export function orderRoutes(routes: readonly Route[], random: Random): Route[] {
  const ordered: Route[] = []
  const priorities = [...new Set(routes.map(({ priority }) => priority))].sort((a, b) => a - b)
  for (const wanted of priorities) {
    const equal = routes.filter(({ priority }) => priority === wanted)
    while (equal.length > 0) ordered.push(...equal.splice(draw(equal, random), 1))
  }
  return ordered
}

function draw(routes: readonly Route[], random: Random): number {
  if (routes.length === 1) return 0
  const total = routes.reduce((sum, { weight }) => sum + weight, 0)
  let rest = chance(random) * total
  const at = routes.findIndex(({ weight }) => {
    rest -= weight
    return rest < 0
  })
  return Math.max(0, at)
}

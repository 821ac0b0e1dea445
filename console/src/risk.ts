import type { OperatorAttemptList } from '../../src/wire/operator.ts'
import { readAfter } from './search.ts'

/* Attempts that may have cost money without a video. */

/** `held`: an operator has to decide. `orphan`, `abandoned`: nothing uses what the provider may have generated. */
export const riskViews = ['held', 'orphan', 'abandoned'] as const
export type RiskView = (typeof riskViews)[number]

/** The query of the page's address. Without it, those that wait for a decision are shown. */
interface RiskFilters {
  show?: Exclude<RiskView, 'held'>
  /** The last attempt of the page before. */
  after?: string
}

export function readRiskFilters(search: Readonly<Record<string, unknown>>): RiskFilters {
  const { show } = search
  return {
    ...readAfter(search, /^\d{1,15}\.[\w-]{1,150}$/),
    ...((show === 'orphan' || show === 'abandoned') && { show }),
  }
}

export type RiskAttempt = OperatorAttemptList['data'][number]

/** A request takes up to 3 minutes. Until then, an attempt without a problem is still being sent. */
const sendingSeconds = 180

/** Whether it waits for its response, so that there is nothing to decide yet. */
export function isBeingSent({ problem, age_seconds: age }: RiskAttempt): boolean {
  return problem === null && age < sendingSeconds
}

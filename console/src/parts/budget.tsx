import type { SpentInPeriod } from '../../../src/wire/spend.ts'
import { allows, isSpent, type Period } from '../budget.ts'
import type { NextVideo } from '../next-video.ts'
import { useText } from '../text.tsx'
import { useAmount } from './money.tsx'
import { Time } from './time.tsx'

interface BudgetProps {
  spent: SpentInPeriod
  /** Then the bar says whether it fits. */
  next?: NextVideo | undefined
}

/** How much of a budget is spent or reserved, as a bar and in words. */
export function Budget({ spent, next }: BudgetProps) {
  const t = useText()
  const format = useAmount()
  const { amount, limit, currency, period, resets_at: end } = spent
  const name = t(`budget.${period as Period}`)
  const isShort = next !== undefined && !isSpent(spent) && !allows(spent, next.cost)
  return (
    <div className="budget" data-spent={isSpent(spent) || isShort || undefined}>
      <progress max={Math.max(Number(limit), 1e-6)} value={Number(amount)} aria-label={name} />
      <small>
        {name}
        {': '}
        <span className="number">
          {t('budget.of', { amount: format(amount, currency), limit: format(limit, currency) })}
        </span>
        {end !== null && (
          <>
            {', '}
            {t('budget.resets')} <Time at={Date.parse(end)} />
          </>
        )}
      </small>
      {isShort && <small>{t('budget.short', { model: next.model, cost: format(next.cost, next.currency) })}</small>}
    </div>
  )
}

/** When a budget begins again. */
export function Resets({ spent: { resets_at: end } }: { spent: SpentInPeriod }) {
  const t = useText()
  if (end === null) return null
  return (
    <>
      {' '}
      {t('budget.resetsAt')} <Time at={Date.parse(end)} exact />
    </>
  )
}

import { orNull, type Static, shape, text, time } from './schema.ts'

export const SpentInPeriod = shape('What is spent in the current period of a cap.', {
  period: text('`day`, `month` or `total`, as in `spend`.'),
  amount: text('What is spent or reserved, as text.'),
  limit: text('The cap.'),
  currency: text('The currency of both.'),
  resets_at: orNull(time('When the period ends; null if it never ends.')),
})
export type SpentInPeriod = Static<typeof SpentInPeriod>

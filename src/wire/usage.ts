import { reportDays, usageDimensions } from '../core/usage-groups.ts'
import { always, count, listOf, orNull, request, type Static, shape, text, time, unixTime } from './schema.ts'

/** The fields of a client's report that it can be grouped by. */
export const clientUsageDimensions = ['token', 'model', 'error_code', 'day', 'hour'] as const

const amount = (description: string, example: number) =>
  ({ type: 'number', minimum: 0, description, examples: [example] }) as const

const groupFields = {
  token: orNull(text('The id of the token that created the tasks; null if it is not known.')),
  model: text('The model’s own name, not an alias.'),
  error_code: orNull(text('The code of the error of tasks that failed; null for all others.')),
  day: { type: 'string', description: 'The day in UTC when the tasks ended.', examples: ['2026-11-15'] },
  hour: { type: 'string', description: 'The hour in UTC when the tasks ended.' },
} as const

const counts = {
  tasks: count('How many tasks ended: completed, failed and cancelled ones.'),
  completed: count('How many were completed.'),
  failed: count('How many failed.'),
  cancelled: count('How many were deleted before they ended.'),
  success_rate: orNull({
    type: 'number',
    minimum: 0,
    maximum: 1,
    description: 'Completed tasks among those that were completed or failed; null if there are none.',
  }),
  seconds: count(
    'The requested seconds of the completed videos, in all. What was generated may differ: `output.duration` of a video has its exact length.',
  ),
  priced_seconds: count('The seconds of those that have a price: the others are not part of the amounts.'),
} as const

const measures = {
  currency: orNull(text('The currency of the amounts, as in ISO 4217; null if nothing has a price.')),
  p50_ms: orNull(
    count(
      'Half of the completed tasks took at most this long, from the submit to the end, to three significant digits.',
    ),
  ),
  p95_ms: orNull(count('The same for 95 % of them.')),
} as const

export const UsageGroup = shape(
  'The videos of one group. It has the fields that the report is grouped by.',
  {
    ...groupFields,
    ...counts,
    cost: amount('What you pay for them.', 0.42),
    ...measures,
  },
  { optional: ['token', 'model', 'error_code', 'day', 'hour'] },
)
export type UsageGroup = Static<typeof UsageGroup>

const groupedBy = listOf('The fields that the report is grouped by, in this order.', { type: 'string' })

export const UsageReport = shape('What the videos of your project used, by groups. They count when they end.', {
  object: always('usage'),
  since: unixTime('The start of the range'),
  before: unixTime('The end of the range, which does not count'),
  group_by: groupedBy,
  data: listOf('The groups, in the order of their values.', UsageGroup),
})

export const OperatorUsageGroup = shape(
  'The tasks of one group. It has the fields that the report is grouped by.',
  {
    ...groupFields,
    token_name: orNull(text('The name of the token now; null if it does not exist any more.')),
    project: text('The project: the owner of the tasks.'),
    account: orNull(text('The account; null if a task never had one.')),
    ...counts,
    cost: amount('What the providers charge, also for attempts that no task uses.', 0.35),
    revenue: amount('What the owners pay.', 0.42),
    ...measures,
  },
  { optional: ['token', 'token_name', 'project', 'model', 'account', 'error_code', 'day', 'hour'] },
)
export type OperatorUsageGroup = Static<typeof OperatorUsageGroup>

export const OperatorUsageReport = shape('Usage by groups. Tasks count when they end.', {
  object: always('operator.usage'),
  since: time('The start of the range.'),
  before: time('The end of the range, which does not count.'),
  group_by: groupedBy,
  data: listOf('The groups, in the order of their values.', OperatorUsageGroup),
})

/* Requests. */

const filter = (description: string) => ({ type: 'string', minLength: 1, maxLength: 200, description }) as const

const groupBy = (names: readonly string[]) =>
  ({
    type: 'string',
    maxLength: 100,
    default: 'model',
    description: `One of \`${names.join('`, `')}\`, or several with commas between them. With \`hour\`, a report has up to ${reportDays.mostByHour} days.`,
  }) as const

const range = {
  since: filter(
    `The start of the range, as \`2026-11-15\`, \`2026-11-15T09:30:00Z\` or Unix seconds; by default ${reportDays.usual} days before \`before\`. A report has up to ${reportDays.most} days.`,
  ),
  before: filter('The end of the range, which does not count; by default now.'),
} as const

const format = {
  type: 'string',
  enum: ['json', 'csv'],
  default: 'json',
  description: 'The format of the response.',
} as const

export const UsageQuery = request({
  group_by: groupBy(clientUsageDimensions),
  ...range,
  token: filter('Only videos that the token with this id created.'),
  model: filter('Only videos of this model, by its own name.'),
  error_code: filter('Only videos that failed with this code.'),
  format,
})
export type UsageQuery = Static<typeof UsageQuery>

export const OperatorUsageQuery = request({
  group_by: groupBy(usageDimensions),
  ...range,
  token: filter('Only tasks that the token with this id created.'),
  project: filter('Only tasks of this project: of this owner.'),
  model: filter('Only tasks of this model, by its own name.'),
  account: filter('Only tasks of this account, and attempts there that no task uses.'),
  error_code: filter('Only tasks that failed with this code.'),
  format,
})
export type OperatorUsageQuery = Static<typeof OperatorUsageQuery>

/** The keys are the names in the OpenAPI document. */
export const usageResponses = { UsageReport, UsageGroup, OperatorUsageReport, OperatorUsageGroup }

import { accountModes, accountSources } from '../core/account.ts'
import { recoveries, unknownPolicies } from '../core/attempt.ts'
import { pauseReasons } from '../core/health.ts'
import { verifyModes } from '../core/verification.ts'
import { always, count, deleted, flag, listOf, orNull, request, type Static, shape, text, time } from './schema.ts'

/* Responses. */

export const OperatorHealth = shape(
  'The health of an account.',
  {
    state: {
      type: 'string',
      enum: ['ok', 'paused', 'recovering'],
      description: '`recovering`: the pause is over, and one task is sent first to test the account.',
    },
    reason: {
      type: ['string', 'null'],
      enum: [...pauseReasons, null],
      description: 'Why it is paused, or was until it has recovered; null if it is healthy.',
    },
    no_credit: flag(
      'Whether it has no credit left; if not, it refused the key, or is not set up. Only with the reason `credentials`.',
    ),
    paused_until: orNull(time('When the pause ends.')),
    failures: count('Failures in a row.'),
    has_worked: flag(
      'Whether it accepted a request, or an operator resumed it, since the service started. `ok` without it means that nothing is known yet.',
    ),
  },
  { optional: ['no_credit'] },
)

export const OperatorAccount = shape(
  'An account at a provider, without its key.',
  {
    name: text('Its name.'),
    object: always('operator.account'),
    source: {
      type: 'string',
      enum: accountSources,
      description: '`config`: it is set in filmgate.yaml or by a variable, and can’t be changed here.',
    },
    mode: {
      type: 'string',
      enum: accountModes,
      description:
        'What an operator decided. `draining`: it gets no new tasks, and those that it has go on. `paused`: nothing is sent to it, and nothing is polled.',
    },
    provider: text('The provider that generates its videos.'),
    base_url: orNull(text('The address of the provider; null if it has none.')),
    key_set: flag('Whether it has a key. The key itself is never shown.'),
    key_hint: orNull(text('The last four characters of the key; null if the key has no more than 16.')),
    recovery: {
      type: 'string',
      enum: recoveries,
      description: 'How the outcome of an unknown submit can be found out at the provider.',
    },
    concurrency: { type: 'integer', minimum: 1, description: 'How many of its tasks run at once.' },
    on_unknown: {
      type: 'string',
      enum: unknownPolicies,
      description: 'What happens to a task whose outcome stays unknown.',
    },
    health: OperatorHealth,
    unfinished_tasks: count(
      'How many unfinished tasks were sent to it. Queued tasks have no account yet, also if only this one could generate them. Not in the list of all accounts.',
    ),
    was_paused: flag('Whether the account was paused. Only in the response to a resume.'),
  },
  { optional: ['was_paused', 'unfinished_tasks'] },
)
export type OperatorAccount = Static<typeof OperatorAccount>

export const OperatorAccountList = shape(
  'All accounts, on one page.',
  {
    object: always('list'),
    data: listOf('The accounts of this process.', OperatorAccount),
    missing: listOf('Accounts that unfinished tasks need but that are not configured.', { type: 'string' }),
    elsewhere: listOf('Accounts of other processes, which can’t be resumed here.', { type: 'string' }),
    unused: listOf('Accounts that were added and are not in force, each with the reason.', { type: 'string' }),
    providers: listOf('The providers that an account can be added for.', { type: 'string' }),
  },
  { optional: ['providers'] },
)
export type OperatorAccountList = Static<typeof OperatorAccountList>

export const OperatorAccountTest = shape('What a free request to the provider showed.', {
  object: always('operator.account_test'),
  account: text('The name of the account.'),
  state: {
    type: 'string',
    enum: ['usable', 'unusable', 'unclear'],
    description: '`unclear`: the provider could not be reached, or its response says nothing about the key.',
  },
  seen: text('What was seen.'),
  fix: orNull(text('What to do about it; null if nothing has to be done.')),
})
export type OperatorAccountTest = Static<typeof OperatorAccountTest>

export const RemovedAccount = shape('The account was removed.', {
  name: text('Its name.'),
  object: always('operator.account.deleted'),
  deleted,
})
export type RemovedAccount = Static<typeof RemovedAccount>

/* Requests. The code that reads filmgate.yaml checks the values. */

const fields = {
  key: {
    type: 'string',
    minLength: 1,
    maxLength: 20_000,
    description: 'The credential. It is stored encrypted, and never shown.',
  },
  base_url: {
    type: ['string', 'null'],
    minLength: 1,
    maxLength: 2_000,
    description: 'The address of the provider, if it is not the usual one. Null restores that.',
  },
  concurrency: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 100_000,
    description: 'How many tasks may run at once. The default is 4.',
  },
  on_unknown: {
    type: ['string', 'null'],
    enum: [...unknownPolicies, null],
    description: 'What happens to a submit whose outcome is unknown. The default is `hold`.',
  },
  verify: {
    type: ['string', 'null'],
    enum: [...verifyModes, null],
    description: 'How results are verified. By default, that depends on the way on which they came.',
  },
} as const

export const CreateAccount = request(
  {
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 100,
      description: 'A name of your choice, unique among accounts: letters, digits and `.` `_` `-`.',
    },
    provider: {
      type: 'string',
      minLength: 1,
      maxLength: 100,
      description: 'The provider that generates the videos. The default is the name of the account.',
    },
    ...fields,
  },
  { required: ['name'] },
)
export type CreateAccount = Static<typeof CreateAccount>

export const ChangeAccount = request(fields)
export type ChangeAccount = Static<typeof ChangeAccount>

/** The keys are the names in the OpenAPI document. */
export const accountResponses = {
  OperatorAccount,
  OperatorHealth,
  OperatorAccountList,
  OperatorAccountTest,
  RemovedAccount,
}
export const accountRequests = { CreateAccount, ChangeAccount }

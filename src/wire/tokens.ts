import { decimalPattern } from '../core/money.ts'
import {
  mostCountedTasks,
  mostQueuedTasks,
  mostStoredBytes,
  operatorRoles,
  tokenKinds,
  tokenStatuses,
} from '../core/token.ts'
import { page, pageQuery } from './page.ts'
import { always, count, flag, listOf, orNull, request, type Static, shape, text, time } from './schema.ts'
import { SpentInPeriod } from './spend.ts'

const cap = (period: string) =>
  ({
    type: ['object', 'null'],
    additionalProperties: false,
    required: ['limit'],
    description: `The limit ${period}; null: none.`,
    properties: {
      limit: {
        type: 'string',
        pattern: decimalPattern,
        description: 'The amount as text, in the currency of `prices` in filmgate.yaml, by default US dollars.',
        examples: ['5.00'],
      },
      time_zone: {
        type: 'string',
        minLength: 1,
        maxLength: 100,
        description:
          'The time zone in which the period begins. Without it, a cap keeps its time zone; a new one is in UTC.',
        examples: ['Europe/Berlin'],
      },
    },
  }) as const

const spend = {
  type: ['object', 'null'],
  additionalProperties: false,
  required: [],
  description: 'How much the videos of its project may cost, reserved amounts included; null: any amount.',
  properties: { day: cap('for a day'), month: cap('for a calendar month'), total: cap('for all time') },
} as const

/* Responses. */

const token = {
  id: text('The id of the token. It is also the part of the secret between `fg_` and the next `_`.'),
  object: always('operator.token'),
  kind: { type: 'string', enum: tokenKinds, description: '`client` creates videos, `operator` opens these routes.' },
  role: orNull(text('`admin`, or `viewer`: it may only read. Null for a client token.')),
  name: text('Its name.'),
  project: orNull(text('The project that owns its videos; null if the token is its own project.')),
  owner: text(
    'The owner of its videos, as tasks show it: the project, else the id, or the name of a configured token.',
  ),
  status: {
    type: 'string',
    enum: tokenStatuses,
    description: 'Only an `active` token is accepted. `overridden`: the configuration has a token of the same name.',
  },
  source: {
    type: 'string',
    enum: ['config', 'store'],
    description: '`config`: it is set in filmgate.yaml or by a variable, and can’t be changed here.',
  },
  models: listOf('The models that it may use; `*` stands for any run of characters.', { type: 'string' }),
  rate: orNull(count('How many videos it may create in a minute, in each process; 0: no limit; null: the default.')),
  concurrency: orNull(count('How many tasks of its project may run at once; null: no limit.')),
  queued: orNull(count('How many videos of its project may wait; 0: no limit; null: the default.')),
  stored_bytes: orNull(count('How many bytes of its project may be stored; 0: no limit; null: the default.')),
  ip_ranges: orNull(listOf('The addresses that it may be used from; null: all.', { type: 'string' })),
  spend,
  expires_at: orNull(time('When it expires; null if it never expires.')),
  enabled: flag('Whether it is accepted.'),
  metadata: orNull({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Names and values that the service does not use.',
  }),
  created_at: orNull(time('When it was created; null if it is configured.')),
  changed_at: orNull(time('When it was last changed; null if it is configured.')),
  revoked_at: orNull(time('When it was revoked.')),
  old_secret_until: orNull(time('Until when an earlier secret is accepted too.')),
} as const

export const OperatorToken = shape('An access token, without its secret.', token)
export type OperatorToken = Static<typeof OperatorToken>

export const OperatorTokenWithSecret = shape('A token with its new secret.', {
  ...token,
  secret: text('The secret, which clients send as `Authorization: Bearer <secret>`. It is shown only here.'),
})
export type OperatorTokenWithSecret = Static<typeof OperatorTokenWithSecret>

const use = shape('What its project uses now; null for an operator token, and while the database is unavailable.', {
  queued: count(`How many of its videos wait, up to ${mostCountedTasks}.`),
  more_queued: flag('Whether more than that wait.'),
  stored_bytes: count('How many bytes of its videos and uploads are stored.'),
  spend: listOf('What is spent in the current period of each cap in `spend`.', SpentInPeriod),
})

export const OperatorTokenWithUse = shape('An access token, and what its project uses of its limits.', {
  ...token,
  used: orNull(use),
})
export type OperatorTokenWithUse = Static<typeof OperatorTokenWithUse>

export const OperatorTokenList = page('One page of tokens.', OperatorToken)

/* Requests. */

const most = { rate: 10_000_000, concurrency: 100_000, queued: mostQueuedTasks, storedBytes: mostStoredBytes }

const fields = {
  name: { type: 'string', minLength: 1, maxLength: 100, description: 'A name of your choice, unique among tokens.' },
  project: {
    type: ['string', 'null'],
    minLength: 1,
    maxLength: 100,
    description: 'Tokens of the same project share their videos. Without a project, the token is its own project.',
  },
  models: {
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 200 },
    maxItems: 100,
    default: ['*'],
    description: 'The models that it may use; `*` stands for any run of characters.',
  },
  rate: {
    type: ['integer', 'null'],
    minimum: 0,
    maximum: most.rate,
    description: 'How many videos it may create in a minute, in each process; 0: no limit; null: the default.',
  },
  concurrency: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: most.concurrency,
    description: 'How many tasks of its project may run at once. Of several tokens, the largest number applies.',
  },
  queued: {
    type: ['integer', 'null'],
    minimum: 0,
    maximum: most.queued,
    description:
      'How many videos of its project may wait, with the one that it creates; 0: no limit; null: the default, `FILMGATE_QUEUED`.',
  },
  stored_bytes: {
    type: ['integer', 'null'],
    minimum: 0,
    maximum: most.storedBytes,
    description:
      'How many bytes of videos and uploads of its project may be stored when it creates a video; 0: no limit; null: the default, `FILMGATE_STORED_BYTES`.',
  },
  ip_ranges: {
    type: ['array', 'null'],
    items: { type: 'string', maxLength: 50 },
    minItems: 1,
    maxItems: 100,
    description: 'The addresses that it may be used from, such as `203.0.113.7`, `10.0.0.0/8` or `2001:db8::/32`.',
  },
  spend,
  expires_at: {
    type: ['string', 'null'],
    maxLength: 40,
    description: 'When it expires, in ISO 8601 with a time zone, such as `2027-01-31T00:00:00Z`.',
  },
  enabled: { type: 'boolean', default: true, description: 'Whether it is accepted.' },
  metadata: {
    type: ['object', 'null'],
    additionalProperties: { type: 'string', maxLength: 512 },
    description: 'Up to 16 names of up to 64 characters, with values of up to 512.',
  },
  role: {
    type: 'string',
    enum: operatorRoles,
    description: 'Of an operator token: `admin` (the default), or `viewer`, which may only read.',
  },
} as const

export const CreateToken = request(
  {
    kind: {
      type: 'string',
      enum: tokenKinds,
      default: 'client',
      description: '`client` creates videos, `operator` opens the routes for operators.',
    },
    ...fields,
  },
  { required: ['name'] },
)
export type CreateToken = Static<typeof CreateToken>

export const ChangeToken = request(fields)
export type ChangeToken = Static<typeof ChangeToken>

export const RotateToken = request({
  overlap_seconds: {
    type: 'integer',
    minimum: 0,
    maximum: 2_592_000,
    default: 0,
    description: 'How long the earlier secrets are accepted too, up to 30 days.',
  },
})
export type RotateToken = Static<typeof RotateToken>

export const ListTokensQuery = request({
  ...pageQuery,
  project: {
    type: 'string',
    maxLength: 100,
    description: 'Only client tokens with this owner: a project, or the token that is its own project.',
  },
})
export type ListTokensQuery = Static<typeof ListTokensQuery>

/** The keys are the names in the OpenAPI document. */
export const tokenResponses = {
  OperatorToken,
  OperatorTokenWithSecret,
  OperatorTokenWithUse,
  OperatorTokenList,
}
export const tokenRequests = { CreateToken, ChangeToken, RotateToken }

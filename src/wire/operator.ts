import { always, count, flag, listOf, orNull, request, type Static, shape, shapeOrNull, text } from './schema.ts'
import { Video, VideoError, VideoOutput } from './videos.ts'

const time = (description: string) =>
  ({ type: 'string', format: 'date-time', description, examples: ['2026-11-15T09:30:00.000Z'] }) as const

const problem = shapeOrNull('What is wrong; null if nothing is.', VideoError)

const scalars = { type: ['string', 'number', 'boolean'] } as const

const attempt = {
  id: text('Its id. The provider may know the attempt by it.'),
  object: always('operator.attempt'),
  task: text('The task that was submitted.'),
  number: { type: 'integer', minimum: 1, description: 'Attempt number, starting at 1.' },
  account: text('The account that it was sent to.'),
  key_version: text('The address and the key of the account at that time, by their digests.'),
  upstream_model: text('The name of the model at the provider.'),
  state: {
    type: 'string',
    enum: ['open', 'accepted', 'refused', 'abandoned', 'orphan'],
    description: 'Its outcome. `orphan`: the provider accepted it, and no task uses it.',
  },
  opened_at: time('When it was recorded, before anything was sent.'),
  settled_at: orNull(time('When its outcome was known.')),
  operation: { description: 'The handle of the provider on the work: any JSON, null if there is none.' },
  problem,
} as const

export const OperatorAttempt = shape('One submit of a task to an account.', attempt)
export type OperatorAttempt = Static<typeof OperatorAttempt>

const OperatorEvent = shape('An event in the life of a task.', {
  at: time('When it happened.'),
  name: text('What happened.'),
  detail: { description: 'More about it: any JSON, or null.' },
})

export const OperatorTask = shape('The whole of a task. Times have milliseconds.', {
  id: text('The id of the video.'),
  object: always('operator.task'),
  owner: text('The name of the token that created it.'),
  model: text('The model that was requested.'),
  card: text('The model by its own name.'),
  prompt: text('The prompt of the request.'),
  seconds: text('The length that was requested.'),
  size: text('The size that was requested.'),
  parameters: { type: 'object', additionalProperties: scalars, description: 'Other parameters of the model.' },
  metadata: orNull({ type: 'object', additionalProperties: scalars, description: 'What its client keeps with it.' }),
  state: {
    type: 'string',
    enum: ['fetching', 'queued', 'held', 'running', 'storing', 'completed', 'failed'],
    description: 'The internal state. `held`: it is not known (yet) whether the provider accepted it.',
  },
  status: { type: 'string', enum: Video.properties.status.enum, description: 'The status that its client sees.' },
  progress: { type: 'integer', minimum: 0, maximum: 100, description: 'In percent.' },
  error: problem,
  created_at: time('When it was created.'),
  start_by: time('It fails if no provider has accepted it by then.'),
  finish_by: time('It fails if it has not ended by then.'),
  started_at: orNull(time('When a provider accepted it.')),
  missing_at: orNull(time('Since when the provider does not know it, or its result is unusable.')),
  completed_at: orNull(time('When it was completed.')),
  expires_at: orNull(time('When its video is removed.')),
  due_at: orNull(time('When its next action is due; null if there is none.')),
  deleted: flag('Whether its owner deleted it.'),
  deleted_at: orNull(time('When its owner deleted it.')),
  account: orNull(text('The account that has it, or had it last.')),
  attempt: orNull(text('Its last attempt.')),
  tried: listOf('Accounts that did not accept it, or where it failed.', { type: 'string' }),
  tries: count('Failed tries of the current action.'),
  video: orNull(
    shape('The finished video; null until it is stored.', {
      key: text('Its key in the bucket.'),
      bytes: count('Its size.'),
      sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'Its SHA-256.', examples: ['0'.repeat(64)] },
    }),
  ),
  output: shapeOrNull('What was generated; null before.', VideoOutput),
  warnings: listOf('How the video differs from the request.', { type: 'string' }),
  attempts: listOf('Every submit of the task.', OperatorAttempt),
  timeline: listOf('What happened to it, in order.', OperatorEvent),
})
export type OperatorTask = Static<typeof OperatorTask>

export const OperatorAttemptList = shape('Attempts in one state.', {
  object: always('list'),
  data: listOf('The attempts: open ones the oldest first, others the newest first.', {
    type: 'object',
    required: [...OperatorAttempt.required, 'age_seconds', 'task_state'],
    properties: {
      ...attempt,
      age_seconds: count('Seconds since it was opened.'),
      task_state: orNull(text('The state of its task; null if that is removed.')),
    },
    additionalProperties: false,
  }),
  has_more: flag('Whether there are more than `limit`.'),
})
export type OperatorAttemptList = Static<typeof OperatorAttemptList>

export const OperatorHealth = shape('The health of an account.', {
  state: {
    type: 'string',
    enum: ['ok', 'paused', 'recovering'],
    description: '`recovering`: the pause is over, and one task is sent first to see whether it works.',
  },
  reason: {
    type: ['string', 'null'],
    enum: ['credentials', 'busy', 'failing', null],
    description: 'Why it was paused.',
  },
  paused_until: orNull(time('When the pause ends.')),
  failures: count('Failures in a row.'),
})

export const OperatorAccount = shape(
  'An account at a provider, as it is configured.',
  {
    name: text('Its name in the configuration.'),
    object: always('operator.account'),
    provider: text('The provider that generates its videos.'),
    recovery: {
      type: 'string',
      enum: ['key', 'lookup', 'list', 'none'],
      description: 'What the provider offers after a submit with an unknown outcome.',
    },
    concurrency: { type: 'integer', minimum: 1, description: 'How many of its tasks run at once.' },
    on_unknown: {
      type: 'string',
      enum: ['hold', 'fail', 'resubmit'],
      description: 'What happens to a task if that does not help.',
    },
    health: OperatorHealth,
    was_paused: flag('Whether the account was paused. Only in the response to a resume.'),
  },
  { optional: ['was_paused'] },
)
export type OperatorAccount = Static<typeof OperatorAccount>

export const OperatorAccountList = shape('All accounts, on one page.', {
  object: always('list'),
  data: listOf('The accounts of this process.', OperatorAccount),
  missing: listOf('Accounts that unfinished tasks wait for and that are not configured.', { type: 'string' }),
  elsewhere: listOf('Accounts of other processes, which can’t be resumed here.', { type: 'string' }),
})
export type OperatorAccountList = Static<typeof OperatorAccountList>

/* Requests. */

export const AdoptTask = request(
  { operation: { type: ['object', 'string'], minLength: 1, description: 'The id of the work at the provider.' } },
  { required: ['operation'] },
)

export const ListAttemptsQuery = request({
  state: {
    type: 'string',
    enum: ['open', 'abandoned', 'orphan'],
    default: 'open',
    description: 'The state of the attempts.',
  },
  limit: { type: 'integer', minimum: 1, maximum: 999, default: 100, description: 'The size of the list.' },
})
export type ListAttemptsQuery = Static<typeof ListAttemptsQuery>

/** By their names in the OpenAPI document. */
export const operatorResponses = {
  ...{ OperatorTask, OperatorAttempt, OperatorEvent, OperatorAttemptList },
  ...{ OperatorAccount, OperatorHealth, OperatorAccountList },
}
export const operatorRequests = { AdoptTask }

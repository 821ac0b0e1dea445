import { shownAttemptStates } from '../core/attempt.ts'
import { sourceKinds, states, statuses } from '../core/task.ts'
import { deliveryStates } from '../core/webhook.ts'
import { always, count, flag, listOf, orNull, request, type Static, shape, shapeOrNull, text, time } from './schema.ts'
import { VideoError, VideoOutput } from './videos.ts'

const problem = shapeOrNull('The error; null if there is no error.', VideoError)

const scalars = { type: ['string', 'number', 'boolean'] } as const

const attempt = {
  id: text('The id of the attempt. Some providers receive it with the request.'),
  object: always('operator.attempt'),
  task: text('The task that was submitted.'),
  number: { type: 'integer', minimum: 1, description: 'Attempt number, starting at 1.' },
  account: text('The account that it was sent to.'),
  key_version: text('Digests of the account’s address and key at that time.'),
  upstream_model: text('The name of the model at the provider.'),
  state: {
    type: 'string',
    enum: shownAttemptStates,
    description: 'Its outcome. `orphan`: the provider accepted it, and no task uses it.',
  },
  opened_at: time('When it was recorded, before anything was sent.'),
  settled_at: orNull(time('When its outcome was known.')),
  operation: { description: 'The provider’s handle for the job: any JSON, null if it is unknown.' },
  problem,
} as const

export const OperatorAttempt = shape('One submit of a task to an account.', attempt)
export type OperatorAttempt = Static<typeof OperatorAttempt>

const OperatorEvent = shape('An event in the life of a task.', {
  at: time('When it happened.'),
  name: text('What happened.'),
  detail: { description: 'Details: any JSON, or null.' },
})

const OperatorEntry = shape('An entry of the ledger. The amounts of a step sum to 0.', {
  step: text('`reserve`, `close`, or `cost` and the id of an attempt.'),
  account: text('`reserved`, `revenue` or `funds` of an owner; `cost` or `providers` of an account.'),
  amount: { type: 'number', description: 'The amount.', examples: [0.42] },
  currency: text('The currency, as in ISO 4217.'),
  at: time('When it was posted.'),
})

const OperatorDelivery = shape('The delivery of the end of a task to a webhook endpoint of its owner.', {
  id: text('The id of the delivery.'),
  endpoint: text('The id of the endpoint.'),
  state: { type: 'string', enum: deliveryStates, description: 'The state of the delivery.' },
  tries: count('How often it was tried.'),
  created_at: time('When the event happened.'),
  next_try_at: orNull(time('When the next try is due; null if no try is due.')),
  ended_at: orNull(time('When it was delivered or failed.')),
})

const OperatorSource = shape('The video that another one is derived from.', {
  kind: { type: 'string', enum: sourceKinds, description: 'How it is derived.' },
  video: orNull(text('The id of that video; null if it was uploaded.')),
})

const task = {
  id: text('The id of the video.'),
  object: always('operator.task'),
  owner: text('Who owns it: the project of its token; else the id of the token, or its name if it is configured.'),
  token: orNull(text('The id of the token that created it; null if an earlier release created it.')),
  model: text('The model that was requested.'),
  card: text('The model’s own name; `model` may be an alias of it.'),
  prompt: text('The prompt of the request.'),
  seconds: text('The length that was requested.'),
  size: text('The size that was requested.'),
  parameters: { type: 'object', additionalProperties: scalars, description: 'Other parameters of the model.' },
  has_image: flag('Whether the request had a reference image.'),
  source: shapeOrNull('The video that it is derived from; null if it is not derived from a video.', OperatorSource),
  metadata: orNull({
    type: 'object',
    additionalProperties: scalars,
    description: 'The metadata that the client sent.',
  }),
  state: {
    type: 'string',
    enum: states,
    description: 'The internal state. `held`: it is not yet known whether the provider accepted it.',
  },
  status: { type: 'string', enum: statuses, description: 'The status that its client sees.' },
  progress: { type: 'integer', minimum: 0, maximum: 100, description: 'In percent.' },
  error: problem,
  created_at: time('When it was created.'),
  start_by: time('It fails if no provider has accepted it by then.'),
  finish_by: time('It fails if it has not ended by then.'),
  started_at: orNull(time('When a provider accepted it.')),
  missing_at: orNull(time('Since when the provider no longer finds it, or its result is unusable.')),
  completed_at: orNull(time('When it was completed.')),
  expires_at: orNull(time('When its video is removed.')),
  due_at: orNull(time('When its next action is due; null if no action is due.')),
  deleted: flag('Whether its owner deleted it.'),
  deleted_at: orNull(time('When its owner deleted it.')),
  account: orNull(text('The account that runs it, or ran it last.')),
  attempt: orNull(text('Its last attempt.')),
  tried: listOf('Accounts that did not accept it, or where it failed.', { type: 'string' }),
  tries: count('How often the current action has failed.'),
  video: orNull(
    shape('The finished video; null until it is stored.', {
      key: text('Its key in the bucket.'),
      bytes: count('Its size.'),
      sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'Its SHA-256.', examples: ['0'.repeat(64)] },
    }),
  ),
  output: shapeOrNull('The measured values of the generated video; null until they are known.', VideoOutput),
  warnings: listOf('How the video differs from the request.', { type: 'string' }),
} as const

export const OperatorTaskSummary = shape('A task without its attempts and its timeline.', task)
export type OperatorTaskSummary = Static<typeof OperatorTaskSummary>

export const OperatorTask = shape('A task with all its fields. Times have milliseconds.', {
  ...task,
  attempts: listOf('Every submit of the task.', OperatorAttempt),
  timeline: listOf('What happened to it, in order.', OperatorEvent),
  entries: listOf('What was posted for it in the ledger; empty if it is free.', OperatorEntry),
  deliveries: listOf('The deliveries of its end to webhook endpoints, without deleted endpoints.', OperatorDelivery),
})
export type OperatorTask = Static<typeof OperatorTask>

export const OperatorTaskList = shape('Tasks of all owners, the newest first.', {
  object: always('list'),
  data: listOf('The tasks that were found.', OperatorTaskSummary),
  has_more: flag('Whether there may be more.'),
  last_id: orNull(
    text('Send it as `after` to go on. It is not always the id of a task in `data`. Null if there are no more tasks.'),
  ),
})
export type OperatorTaskList = Static<typeof OperatorTaskList>

export const OperatorAttemptList = shape('Attempts in one state.', {
  object: always('list'),
  data: listOf('The attempts: open ones the oldest first, others the newest first.', {
    type: 'object',
    required: [...OperatorAttempt.required, 'age_seconds', 'task_state', 'prompt', 'owner'],
    properties: {
      ...attempt,
      age_seconds: count('Seconds since it was opened.'),
      task_state: orNull(text('The state of its task; null if the task was removed.')),
      prompt: orNull(text('The prompt of its task; null if the task was removed.')),
      owner: orNull(text('The owner of its task; null if the task was removed.')),
    },
    additionalProperties: false,
  }),
  has_more: flag('Whether there are more than `limit`.'),
  last_id: orNull(text('Send it as `after` to go on; null if the page is empty.')),
})
export type OperatorAttemptList = Static<typeof OperatorAttemptList>

/* Requests. */

const decided = {
  attempt: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description:
      'The id of the attempt that you decide about. If the task has a newer one by now, the decision is refused. Without it, the decision is about the newest one.',
  },
} as const

export const AdoptTask = request(
  {
    operation: { type: ['object', 'string'], minLength: 1, description: 'The id of the job at the provider.' },
    ...decided,
  },
  { required: ['operation'] },
)

export const DecideTask = request(decided)
export type DecideTask = Static<typeof DecideTask>

const filter = (description: string) => ({ type: 'string', minLength: 1, maxLength: 200, description }) as const

export const ListTasksQuery = request({
  status: { type: 'string', enum: statuses, description: 'Only tasks that their clients see with this status.' },
  state: { type: 'string', enum: states, description: 'Only tasks in this internal state.' },
  model: filter('Only tasks of this model, by the name that was requested or by its own.'),
  account: filter('Only tasks that this account runs, or ran last.'),
  owner: filter('Only tasks of this owner.'),
  token: filter('Only tasks that the token with this id created.'),
  error_code: filter('Only tasks that failed with this code.'),
  text: filter('Only tasks with this text in the prompt. Upper and lower case of A to Z are the same.'),
  created_since: filter(
    'Only tasks that were created at that time or later, as `2026-11-15`, `2026-11-15T09:30:00Z` or Unix seconds.',
  ),
  created_before: filter('Only tasks that were created before that time.'),
  deleted: {
    type: 'string',
    enum: ['true', 'false'],
    default: 'false',
    description: 'Only tasks that their owners deleted and that are not yet removed, or only others.',
  },
  after: filter('`last_id` of the page before.'),
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The size of the page.' },
})
export type ListTasksQuery = Static<typeof ListTasksQuery>

export const ListAttemptsQuery = request({
  state: {
    type: 'string',
    enum: ['open', 'abandoned', 'orphan'],
    default: 'open',
    description: 'The state of the attempts.',
  },
  after: filter('`last_id` of the page before.'),
  limit: { type: 'integer', minimum: 1, maximum: 999, default: 100, description: 'The maximum number of attempts.' },
})
export type ListAttemptsQuery = Static<typeof ListAttemptsQuery>

/** The keys are the names in the OpenAPI document. */
export const operatorResponses = {
  OperatorTask,
  OperatorTaskSummary,
  OperatorTaskList,
  OperatorAttempt,
  OperatorEvent,
  OperatorEntry,
  OperatorDelivery,
  OperatorSource,
  OperatorAttemptList,
}
export const operatorRequests = { AdoptTask, DecideTask }

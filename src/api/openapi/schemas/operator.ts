import { listOf, orNull, refer, type Schema, type Schemas, shape } from './schema.ts'

const text = (description: string) => ({ type: 'string', description }) as const
const time = (description: string) =>
  ({ type: 'string', format: 'date-time', description, examples: ['2026-11-15T09:30:00.000Z'] }) as const
const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description })

const problem: Schema = {
  oneOf: [refer('VideoError'), { type: 'null' }],
  description: 'What is wrong; null where nothing is.',
}

const asset: Schema = {
  ...shape({
    key: text('Where it is in the bucket.'),
    bytes: count('How large it is.'),
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'Its SHA-256.', examples: ['0'.repeat(64)] },
  }),
  type: ['object', 'null'],
  description: 'The finished film; null while there is none.',
}

const attemptFields: Readonly<Record<string, Schema>> = {
  id: text('Its id, also what the provider may know it by.'),
  object: { const: 'operator.attempt', type: 'string', description: 'Always `operator.attempt`.' },
  task: text('The task that was submitted.'),
  number: { type: 'integer', minimum: 1, description: 'The how-manieth of its task.' },
  account: text('Where it was sent.'),
  key_version: text('Which address and key that was, by their digests.'),
  upstream_model: text('What the provider calls the model.'),
  state: {
    type: 'string',
    enum: ['open', 'accepted', 'refused', 'abandoned', 'orphan'],
    description: 'What became of it. `orphan`: the provider took it, and nobody uses it.',
  },
  opened_at: time('When it was written down, before anything was sent.'),
  settled_at: orNull(time('When its outcome was known.')),
  operation: { description: "The provider's own handle on the work: any JSON, null where there is none." },
  problem,
}

export const operatorSchemas: Schemas = {
  OperatorTask: {
    ...shape({
      id: text('The id of the video.'),
      object: { const: 'operator.task', type: 'string', description: 'Always `operator.task`.' },
      owner: text('The name of the token that asked for it.'),
      model: text('The model as it was asked for.'),
      card: text('The model by its own name.'),
      prompt: text('What was asked for.'),
      seconds: text('The length that was requested.'),
      size: text('The size that was requested.'),
      parameters: {
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean'] },
        description: 'What else the model was told.',
      },
      metadata: orNull({
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean'] },
        description: 'What its client keeps with it.',
      }),
      state: {
        type: 'string',
        enum: ['fetching', 'queued', 'held', 'running', 'storing', 'completed', 'failed'],
        description: 'Where it is inside. `held`: whether the provider took it is not known (yet).',
      },
      status: {
        type: 'string',
        enum: ['queued', 'in_progress', 'completed', 'failed'],
        description: 'What its client sees.',
      },
      progress: { type: 'integer', minimum: 0, maximum: 100, description: 'In percent.' },
      error: problem,
      created_at: time('When it was asked for.'),
      start_by: time('It fails if no provider has it by then.'),
      finish_by: time('It fails if it has not ended by then.'),
      started_at: orNull(time('When a provider took it.')),
      missing_at: orNull(time('Since when its provider does not know it, or its result is of no use.')),
      completed_at: orNull(time('When it was finished.')),
      expires_at: orNull(time('When its film is removed.')),
      due_at: orNull(time('When somebody looks at it next; null where nobody will.')),
      deleted: { type: 'boolean', description: 'Whether its owner deleted it.' },
      deleted_at: orNull(time('When that was.')),
      account: orNull(text('Where it is, or was last.')),
      attempt: orNull(text('Its last attempt.')),
      tried: listOf({ type: 'string' }, 'Accounts that did not take it, or where it failed.'),
      tries: count('Failed tries of what is to be done now.'),
      video: asset,
      output: { oneOf: [refer('VideoOutput'), { type: 'null' }], description: 'What was generated; null before.' },
      warnings: listOf({ type: 'string' }, 'How the video differs from the request.'),
      attempts: listOf(refer('OperatorAttempt'), 'Each time that it was submitted.'),
      timeline: listOf(refer('OperatorEvent'), 'What happened to it, in order.'),
    }),
    description: 'The whole of a task. Times have milliseconds.',
  },
  OperatorAttempt: { ...shape(attemptFields), description: 'One submit of a task to an account.' },
  OperatorEvent: {
    ...shape({
      at: time('When it happened.'),
      name: text('What happened.'),
      detail: { description: 'More about it: any JSON, or null.' },
    }),
    description: 'Something that happened to a task.',
  },
  OperatorAttemptList: {
    ...shape({
      object: { const: 'list', type: 'string', description: 'Always `list`.' },
      data: listOf(
        shape({
          ...attemptFields,
          age_seconds: count('How long ago it was opened.'),
          task_state: orNull(text('The state of its task; null where that is gone.')),
        }),
        'The attempts: open ones the oldest first, others the newest.',
      ),
      has_more: { type: 'boolean', description: 'Whether there are more than `limit`.' },
    }),
    description: 'Attempts in one state.',
  },
  OperatorAccount: {
    ...shape(
      {
        name: text('Its name in the configuration.'),
        object: { const: 'operator.account', type: 'string', description: 'Always `operator.account`.' },
        provider: text('Who makes its videos.'),
        recovery: {
          type: 'string',
          enum: ['key', 'lookup', 'list', 'none'],
          description: 'What the provider offers after a submit whose outcome is unknown.',
        },
        concurrency: { type: 'integer', minimum: 1, description: 'How many of its tasks are in work at once.' },
        on_unknown: {
          type: 'string',
          enum: ['hold', 'fail', 'resubmit'],
          description: 'What becomes of a task where that does not help.',
        },
        health: refer('OperatorHealth'),
        was_paused: {
          type: 'boolean',
          description: 'Whether resuming it changed anything. Only in the answer to that.',
        },
      },
      { optional: ['was_paused'] },
    ),
    description: 'A provider as it is configured.',
  },
  OperatorHealth: {
    ...shape({
      state: {
        type: 'string',
        enum: ['ok', 'paused', 'recovering'],
        description: '`recovering`: the pause is over, and one task goes first to see.',
      },
      reason: {
        type: ['string', 'null'],
        enum: ['credentials', 'busy', 'failing', null],
        description: 'Why it was paused.',
      },
      paused_until: orNull(time('When the pause ends.')),
      failures: count('Failures in a row.'),
    }),
    description: 'How an account is doing.',
  },
  OperatorAccountList: {
    ...shape({
      object: { const: 'list', type: 'string', description: 'Always `list`.' },
      data: listOf(refer('OperatorAccount'), 'The accounts of this process.'),
      missing: listOf({ type: 'string' }, 'Accounts that unfinished tasks wait for and nobody configured.'),
      elsewhere: listOf({ type: 'string' }, "Other processes' own accounts, which can't be resumed here."),
    }),
    description: 'All accounts, on one page.',
  },
}

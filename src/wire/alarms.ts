import { accountModes } from '../core/account.ts'
import { alarmKindNames, alarmSeverities, alarmStatuses } from '../core/alarms.ts'
import { figureLimits } from '../core/figures.ts'
import { OperatorHealth } from './accounts.ts'
import { page, pageQuery } from './page.ts'
import { always, count, flag, listOf, orNull, request, type Static, shape, text, time } from './schema.ts'
import { Readiness } from './service.ts'

/* Responses. */

export const OperatorAlarm = shape('Something that an operator has to know.', {
  id: text('The id of the alarm. Later alarms have greater ids.'),
  object: always('operator.alarm'),
  kind: { type: 'string', enum: alarmKindNames, description: 'What is wrong. `runbook` has a section for each kind.' },
  severity: {
    type: 'string',
    enum: alarmSeverities,
    description: '`critical`: videos fail or wait, or money is at risk.',
  },
  subject: text('The account, model, project, provider or machine that it is about.'),
  details: {
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    description: 'What else is known, by name.',
  },
  cause: text('What happened.'),
  first_aid: text('What to do first, with the names that are known.'),
  runbook: text('Where all steps are described.'),
  raised_at: time('When it was raised.'),
  last_seen: time('When it was last reported.'),
  count: count('How many times it was reported.'),
  acknowledged_by: orNull(text('The name of the operator’s token that acknowledged it.')),
  acknowledged_at: orNull(time('When it was acknowledged.')),
  cleared_at: orNull(time('When its cause was gone; null if it is active.')),
})
export type OperatorAlarm = Static<typeof OperatorAlarm>

export const OperatorAlarmList = page('One page of alarms.', OperatorAlarm)

const StatusAccount = shape('An account, with its slots.', {
  name: text('Its name.'),
  provider: text('The provider that generates its videos.'),
  mode: { type: 'string', enum: accountModes, description: 'What an operator decided.' },
  health: OperatorHealth,
  slots: count('How many of its tasks may run at once.'),
  used_slots: orNull(count('How many slots are in use; null if the database does not respond.')),
})

const StatusTasks = shape(
  `How many tasks are in each state; null if the database does not respond. Counted up to ${figureLimits.mostCounted} for each model, or account and state.`,
  {
    fetching: count('Their reference image is being downloaded.'),
    queued: count('They wait for a slot of an account.'),
    held: count('They are being sent, or the outcome of that is unknown.'),
    running: count('Their provider generates them.'),
    storing: count('Their result is being downloaded and verified.'),
  },
)

export const OperatorStatus = shape('The whole service on one screen.', {
  object: always('operator.status'),
  version: text('The version of the process that responded.'),
  at: time('The time of its clock.'),
  health: Readiness,
  store: text('Where rows are stored: `sqlite` or `postgres`.'),
  bucket: text('Where videos are stored: `disk` or `s3`.'),
  stored_bytes: orNull(count('How many bytes are stored; null if the database does not respond.')),
  bucket_limit: orNull(count('FILMGATE_BUCKET_LIMIT; null if there is no limit.')),
  processes: listOf(
    'The process that responded, and others that work and have reported within a minute.',
    shape('A process.', {
      name: text('Its machine, or its own name, as in `studio@NAME`, if several processes share the database.'),
      last_seen: time('When it last reported.'),
      responded: flag('Whether it is the one that responded.'),
    }),
  ),
  tasks: orNull(StatusTasks),
  queues: listOf(
    'The models with queued tasks, the longest wait first.',
    shape('The queue of a model.', {
      model: text('The model’s own name.'),
      oldest_at: time('When its first task was created.'),
      age_seconds: count('The age of that task.'),
    }),
  ),
  accounts: listOf('The accounts of the process that responded.', StatusAccount),
  alarms: listOf(
    'Active alarms, up to 100: critical ones first, then the newest. If the database can’t be read (`tasks` is null), only those of this process.',
    OperatorAlarm,
  ),
})
export type OperatorStatus = Static<typeof OperatorStatus>

/* Requests. */

export const ListAlarmsQuery = request({
  status: {
    type: 'string',
    enum: alarmStatuses,
    default: 'active',
    description: 'Only active alarms, only cleared ones, or all. Cleared alarms are kept for 30 days.',
  },
  ...pageQuery,
})
export type ListAlarmsQuery = Static<typeof ListAlarmsQuery>

/** The keys are the names in the OpenAPI document. */
export const alarmResponses = { OperatorAlarm, OperatorAlarmList, OperatorStatus }

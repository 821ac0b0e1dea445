import { refer } from '../schemas/schema.ts'
import type { Answer, Operation, Operations } from './operation.ts'

const task: Answer = { description: 'The whole of the task.', schema: refer('OperatorTask') }
const taskPath = { task_id: 'The id of the video.' }

/** What can be done to a held task is refused for any other. */
const decision = {
  ...{ tag: 'Operator', access: 'operator', path: taskPath, answers: { 200: task } },
  errors: ['invalid_request', 'video_not_found', 'storage_unavailable'],
} as const satisfies Partial<Operation>

export const operatorOperations: Operations = {
  'GET /operator/v1/tasks/:id': {
    ...{ id: 'showTask', tag: 'Operator', summary: 'Show a task', access: 'operator', path: taskPath },
    description: 'All that is known of it, deleted or not: its state, its attempts, its timeline.',
    answers: { 200: task },
    errors: ['video_not_found', 'storage_unavailable'],
  },
  'POST /operator/v1/tasks/:id/adopt': {
    ...{ ...decision, id: 'adoptTask', summary: 'Adopt work for a held task' },
    description: 'You found at the provider what became of the submit: the task runs on with that.',
    body: {
      name: 'AdoptTask',
      as: 'json',
      fields: { operation: { description: 'What the provider calls the work.' } },
      example: { operation: { id: 'the id at the provider' } },
    },
    errors: [
      ...decision.errors,
      ...(['missing_required_parameter', 'unknown_parameter', 'invalid_type', 'invalid_value'] as const),
    ],
  },
  'POST /operator/v1/tasks/:id/resubmit': {
    ...{ ...decision, id: 'resubmitTask', summary: 'Submit a held task again' },
    description: 'It may be made, and paid for, twice.',
  },
  'POST /operator/v1/tasks/:id/give_up': {
    ...{ ...decision, id: 'giveUpTask', summary: 'Give a held task up' },
    description: 'It fails with `submission_unknown`.',
  },
  'GET /operator/v1/attempts': {
    ...{ id: 'listAttempts', tag: 'Operator', summary: 'List attempts', access: 'operator' },
    description: 'What may have cost money and is nobody’s (`abandoned`, `orphan`), or has no answer yet (`open`).',
    query: {
      state: { type: 'string', default: 'open', description: 'In which state.' },
      limit: { type: 'integer', minimum: 1, maximum: 999, default: 100, description: 'How many at most.' },
    },
    answers: { 200: { description: 'The attempts.', schema: refer('OperatorAttemptList') } },
    errors: ['invalid_value', 'unknown_parameter', 'storage_unavailable'],
  },
  'GET /operator/v1/accounts': {
    ...{ id: 'listAccounts', tag: 'Operator', summary: 'List accounts', access: 'operator' },
    description: 'How each is doing, and why it takes no work if it does not.',
    answers: { 200: { description: 'The accounts.', schema: refer('OperatorAccountList') } },
    errors: ['storage_unavailable'],
  },
  'POST /operator/v1/accounts/:name/resume': {
    ...{ id: 'resumeAccount', tag: 'Operator', summary: 'End the pause of an account', access: 'operator' },
    description: 'For who mended what was wrong: it is as good as new, until it shows otherwise.',
    path: { name: 'The name of the account.' },
    answers: { 200: { description: 'The account.', schema: refer('OperatorAccount') } },
    errors: ['account_not_found', 'storage_unavailable'],
  },
}

import { auditActions } from '../core/audit.ts'
import { page, pageQuery } from './page.ts'
import { always, orNull, request, type Static, shape, text, time } from './schema.ts'

const anything = (description: string) => orNull({ type: 'object', description })

export const AuditEntry = shape('A change that an operator made.', {
  id: text('The number of the entry. Later entries have greater numbers.'),
  object: always('operator.audit_entry'),
  at: time('When it was made.'),
  actor: text('The id of the operator’s token.'),
  actor_name: text('The name of that token at the time.'),
  address: text('The address that the request came from.'),
  action: { type: 'string', enum: auditActions, description: 'What was done.' },
  target: text('The id of what was changed.'),
  before: anything('What was changed, before the change; null if it did not exist.'),
  after: anything('The same after the change.'),
})
export type AuditEntry = Static<typeof AuditEntry>

export const AuditEntryList = page('One page of changes.', AuditEntry)

export const ListAuditQuery = request({
  ...pageQuery,
  limit: { ...pageQuery.limit, description: 'The size of the page. `csv` and `jsonl` have all entries without it.' },
  format: {
    type: 'string',
    enum: ['json', 'csv', 'jsonl'],
    default: 'json',
    description: 'The format of the response: one page, or a file with a line for each entry.',
  },
})
export type ListAuditQuery = Static<typeof ListAuditQuery>

/** The keys are the names in the OpenAPI document. */
export const auditResponses = { AuditEntry, AuditEntryList }

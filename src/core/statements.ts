import { auditColumns } from './access-row.ts'
import {
  attemptColumns,
  type ColumnValue,
  deliveryColumns,
  entryColumns,
  eventColumns,
  mutableColumns,
  noticeColumns,
} from './row.ts'
import { usageColumns } from './usage.ts'

/**
 * A statement for any number of rows. The first column is the key of an update and the condition of a delete. `add` adds an
 * amount to every counter of a scope and currency whose period contains a time; it comes last, because others wait for these rows.
 */
export interface StatementShape {
  readonly verb: 'insert' | 'update' | 'delete' | 'add'
  readonly table:
    | 'tasks'
    | 'attempts'
    | 'slots'
    | 'events'
    | 'notices'
    | 'deliveries'
    | 'audit'
    | 'entries'
    | 'spends'
    | 'usages'
  readonly columns: readonly string[]
  /** An insert skips a row whose key, of these columns, exists. */
  readonly skipsExisting?: readonly string[]
}

/** The values are in the order of the columns, which costs the writer less than names. */
export interface Write {
  shape: StatementShape
  values: readonly ColumnValue[]
}

const statement = (
  verb: StatementShape['verb'],
  table: StatementShape['table'],
  ...columns: string[]
): StatementShape => ({ verb, table, columns })
/** Every statement that a plan may have. */
export const statements = {
  decided: statement('update', 'tasks', 'id', 'leased', ...mutableColumns),
  handedBack: statement('update', 'tasks', 'id', 'leased', 'due_at'),
  hidden: statement('update', 'tasks', 'id', 'deleted_at', 'due_at', 'start_by'),
  heldAgain: statement(
    'update',
    'tasks',
    ...'id state operation output missing_at tries due_at leased fence'.split(' '),
  ),
  removed: statement('delete', 'tasks', 'id'),
  opened: statement('insert', 'attempts', ...attemptColumns),
  // A response may be recorded twice.
  orphaned: { ...statement('insert', 'attempts', ...attemptColumns), skipsExisting: ['id'] },
  settled: statement('update', 'attempts', 'id', 'operation', 'settled_at', 'problem', 'adopted', 'state'),
  stateChanged: statement('update', 'attempts', 'id', 'state'),
  attemptRemoved: statement('delete', 'attempts', 'id'),
  slotsFreed: statement('delete', 'slots', 'task'),
  eventAdded: statement('insert', 'events', ...eventColumns),
  eventsRemoved: statement('delete', 'events', 'task'),
  notified: statement('insert', 'notices', ...noticeColumns),
  audited: statement('insert', 'audit', ...auditColumns),
  // Its id is derived from the event, its time and the endpoint: what is written again is delivered once.
  delivered: { ...statement('insert', 'deliveries', ...deliveryColumns), skipsExisting: ['id'] },
  // Without `skipsExisting`: a reservation that ends twice must fail.
  posted: statement('insert', 'entries', ...entryColumns),
  // What an attempt cost may be learnt twice.
  costPosted: { ...statement('insert', 'entries', ...entryColumns), skipsExisting: ['task', 'step', 'account'] },
  spent: statement('add', 'spends', 'scope', 'currency', 'at', 'amount'),
  used: { ...statement('insert', 'usages', ...usageColumns), skipsExisting: ['id'] },
}

export const write = (shape: StatementShape, ...values: ColumnValue[]): Write => ({ shape, values })

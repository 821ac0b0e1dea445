export const auditActions = [
  'token.create',
  'token.change',
  'token.rotate',
  'token.revoke',
  'task.adopt',
  'task.resubmit',
  'task.give_up',
  'account.create',
  'account.change',
  'account.pause',
  'account.drain',
  'account.resume',
  'account.remove',
  'model.set',
  'model.remove',
  'alias.set',
  'alias.remove',
  'alarm.acknowledge',
] as const

/** A change that an operator made. It never contains a secret or the digest of one. */
export interface AuditEntry {
  readonly at: number
  /** The id and the name of the operator's token at that time. */
  readonly actor: string
  readonly actorName: string
  /** The address that the request came from. */
  readonly address: string
  readonly action: (typeof auditActions)[number]
  /** The id of what was changed. */
  readonly target: string
  /** What was changed, before and after; null if it did not exist. */
  readonly before: object | null
  readonly after: object | null
}

/** Entries are numbered in the order in which they were written. They are never changed or removed. */
export interface AuditRecord extends AuditEntry {
  readonly number: number
}

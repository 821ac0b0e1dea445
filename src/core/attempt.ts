import type { Random } from './clock.ts'
import type { Json, TaskError } from './task.ts'

/*
 * An attempt is one submit of one task to one provider account. Its row is committed before a byte leaves, so that there
 * is a trace of whatever may have been paid for. Answers of the provider are facts: they are recorded on the attempt
 * whoever holds the task's lease by then. What becomes of the task is a decision, and needs the lease.
 */
export type AttemptState =
  | 'open' //      no answer is recorded: it may have been taken or not
  | 'accepted' //  the provider has it, as `operation`
  | 'refused' //   it surely was not taken
  | 'abandoned' // nobody looks for its outcome any more; it may have cost money
  | 'removed' //   the provider has it, and its task is gone: kept for a day, because a list may still show its work
  | 'orphan' //    the provider took it, but its task had ended or gone on without it: paid for and used by nobody

export interface Attempt {
  /** Also the idempotency key, client reference or whatever else the provider takes from us. */
  readonly id: string
  readonly task: string
  /** Its number among the attempts of its task, from 1. */
  readonly number: number
  readonly account: string
  /** Where it was sent and with which credential, as `keyVersionOf` has it. */
  readonly keyVersion: string
  readonly upstreamModel: string
  readonly openedAt: number
  state: AttemptState
  operation: Json
  settledAt: number | null
  /** Why it was refused, or what is known of an open one's fate. */
  problem: TaskError | null
  /** Its operation was found by a lookup. An operation that the provider answered to a submit overrules it. */
  adopted?: true
}

/** What was learnt about an attempt. */
export type AttemptFact = Pick<Attempt, 'id' | 'state' | 'operation' | 'settledAt' | 'problem' | 'adopted'>

/** Another attempt whose work the provider may list, without being known as its own yet. */
export interface Rival {
  id: string
  /** Null if the row of its task is gone. */
  prompt: string | null
}

/**
 * What a provider offers after a submit whose outcome is unknown:
 *   key     the same key again gives the same work, so the submit is simply repeated
 *   lookup  the work can be asked for by our reference
 *   list    its recent work can be listed, and compared with what we sent
 *   none    nothing
 */
export type Recovery = 'key' | 'lookup' | 'list' | 'none'

/** What to do where recovery can't tell: leave it to the operator until a deadline, fail the task, or submit it anew. */
export type OnUnknown = 'hold' | 'fail' | 'resubmit'

export function newAttemptId(random: Random): string {
  return `att_${Buffer.from(random(18)).toString('hex')}`
}

export function isAttemptId(text: unknown): text is string {
  return typeof text === 'string' && /^att_[0-9a-f]{36}$/.test(text)
}

/** What the operations of a provider look like. */
export interface OperationForm {
  /** One of them, for who has to type one. */
  readonly example: string
  /** Whether this can be the work of that attempt, by its looks alone. */
  fits(operation: Json, attempt: string): boolean
  /** The operation of the id that the provider's console shows, where it is more than that id. */
  ofId?(id: string, upstreamModel: string): Json
}

/** What an upstream calls its work, or its result, is read with every poll: in bytes of JSON. */
export const maxHandleBytes = 16_384

export function handleBytes(handle: Json): number {
  return Buffer.byteLength(operationKey(handle))
}

/** Two operations are the same work if this is equal: the order of an object's keys means nothing. */
export function operationKey(operation: Json): string {
  return JSON.stringify(operation, (_key, value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

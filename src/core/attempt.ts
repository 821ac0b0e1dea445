import type { Random } from './clock.ts'
import type { Json, TaskError } from './task.ts'

/*
 * An attempt is one submit of one task to one provider account. Its row is committed before the first byte is sent, so
 * that everything that may have been paid for has a record. A response of the provider is a fact: it is recorded on the
 * attempt even if the lease of the task was lost. A change of the task is a decision, and needs the lease. A response that
 * names another operation than the one adopted for its attempt gets an orphan of its own, with the same number.
 */

/** The states that an operator sees. */
export const shownAttemptStates = [
  'open', //      no response is recorded: the provider may have accepted it or not
  'accepted', //  the provider accepted it, as `operation`
  'refused', //   the provider certainly did not accept it
  'abandoned', // the search for its outcome has ended; it may have cost money
  'orphan', //    accepted, but its task had ended or gone on without it: paid for and not used
] as const
/** `removed`: accepted, and its task is removed. It is kept for a day, because a list may still show its work. */
export type AttemptState = (typeof shownAttemptStates)[number] | 'removed'

export interface Attempt {
  /** Also sent to the provider as the idempotency key or client reference. */
  readonly id: string
  readonly task: string
  /** Attempt number within its task, starting at 1. */
  readonly number: number
  readonly account: string
  /** The address and the key that it was sent with, as `keyVersionOf` returns it. */
  readonly keyVersion: string
  readonly upstreamModel: string
  readonly openedAt: number
  state: AttemptState
  operation: Json
  settledAt: number | null
  /** Why it was refused, or what is known about an open one. */
  problem: TaskError | null
  /** Its operation was found by a lookup. An operation in the response to a submit overrules it. */
  adopted?: true
}

/** New knowledge about an attempt. */
export type AttemptFact = Pick<Attempt, 'id' | 'state' | 'operation' | 'settledAt' | 'problem' | 'adopted'>

/** Another attempt without a known operation, whose work may be in the same list of the provider. */
export interface Rival {
  id: string
  /** Null if the row of its task is gone. */
  prompt: string | null
}

/**
 * How a provider lets us find the outcome of a submit without a response:
 *   key     a repeat with the same key returns the same work
 *   lookup  the work can be looked up by our reference
 *   list    recent work can be listed, and compared with the request
 *   none    not at all
 */
export const recoveries = ['key', 'lookup', 'list', 'none'] as const
export type Recovery = (typeof recoveries)[number]

/** If the outcome stays unknown: hold the task for the operator until a deadline, fail it, or submit it again. */
export const unknownPolicies = ['hold', 'fail', 'resubmit'] as const
export type OnUnknown = (typeof unknownPolicies)[number]

export function newAttemptId(random: Random): string {
  return `att_${Buffer.from(random(18)).toString('hex')}`
}

export function isAttemptId(text: unknown): text is string {
  return typeof text === 'string' && /^att_[0-9a-f]{36}$/.test(text)
}

/** The form of a provider's operations. */
export interface OperationForm {
  /** Shown to an operator who has to type one. */
  readonly example: string
  /** Whether the operation has the right form for that attempt. */
  fits(operation: Json, attempt: string): boolean
  /** Builds the operation from the id in the provider's console, if the operation is more than that id. */
  ofId?(id: string, upstreamModel: string): Json
}

/** The longest operation or output, in bytes of JSON: every poll reads it. */
export const maxHandleBytes = 16_384

export function handleBytes(handle: Json): number {
  return Buffer.byteLength(operationKey(handle))
}

/** Equal for two operations of the same work: the order of an object's keys does not matter. */
export function operationKey(operation: Json): string {
  return JSON.stringify(operation, (_key, value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

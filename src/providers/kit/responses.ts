import { Problem } from '../../core/problem.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import type { Json } from '../../core/task.ts'
import type { Call, Found, Progress, Refusal, Submitted } from '../provider.ts'

/*
 * How an adapter reads responses. Their text is never passed on: it may contain a key, or another customer's prompt.
 */

type Blame = Refusal['blame']

/** Proves nothing: the outcome of a submit stays unknown, and a task is polled again. The reason is for the operator. */
export function unclear(reason: string): Problem {
  return Problem.ofUnclearResponse(new Error(reason))
}

export const problems = {
  policy: (reason?: string) =>
    new Problem('content_policy', 'The provider refused this video because of its content rules.', causeOf(reason)),
  failed: (reason?: string) =>
    new Problem('generation_failed', 'The provider could not generate this video.', causeOf(reason)),
  refused: (reason?: string) => new Problem('generation_failed', 'The provider refused this video.', causeOf(reason)),
  gone: (reason?: string) =>
    new Problem('output_unavailable', 'The provider no longer has this video.', {
      ...causeOf(reason),
      retryable: true,
    }),
}

function causeOf(reason: string | undefined): { cause?: Error } {
  return reason === undefined ? {} : { cause: new Error(reason) }
}

/** Who is to blame for a refused submit, by its status. Any other status leaves the outcome unknown. */
export function blameOf(status: number): Blame | undefined {
  if ([400, 404, 405, 413, 415, 422].includes(status)) return 'request'
  if ([401, 402, 403].includes(status)) return 'account'
  return status === 429 ? 'busy' : undefined
}

/** The body of a refusal may correct the blame that its status implies, name the problem, and ask to wait. */
export interface RefusalDetails {
  blame?: Blame
  problem?: Problem
  retryAfterMs?: number | undefined
  isCredit?: boolean
}

/** A refusal that waits as long as the response asks. Its header wins over its body. */
export function refused(
  response: Response,
  call: Pick<Call, 'now'>,
  { blame, problem, retryAfterMs: inBody, isCredit = response.status === 402 }: RefusalDetails & { blame: Blame },
): Submitted {
  const wait = retryAfterMs(response, call.now()) ?? inBody
  return {
    refused: {
      blame,
      problem: problem ?? problems.refused(`a submit got ${response.status}`),
      ...(wait !== undefined && { retryAfterMs: wait }),
      ...(blame === 'account' && isCredit && { isCredit: true as const }),
      ...(blame === 'request' && response.status === 404 && { isModelUnknown: true as const }),
    },
  }
}

/** Nothing is sent: the card has a size that the adapter can't translate. */
export function unknownSize(): Submitted {
  return { refused: { blame: 'request', problem: problems.refused('the adapter does not know this size') } }
}

/** How the response to a submit of one provider differs from `200 {"id": "…"}`. */
export interface SubmitRules {
  /** The statuses of an acceptance. */
  accepts?: readonly number[]
  /** Reads the body of a refusal. */
  refusal?(response: Response, blame: Blame): Promise<RefusalDetails>
  /** Undefined if the body has no usable operation. */
  operationIn?(body: Fields): Json | undefined
  /** What is missing in that case, for the operator. */
  named?: string
}

/** Only the documented status with a usable id is an acceptance; only a status of `blameOf` is a refusal. */
export async function readSubmitted(response: Response, call: Call, rules: SubmitRules = {}): Promise<Submitted> {
  const {
    accepts = [200],
    refusal,
    named = 'an id',
    operationIn = ({ id }) => (isSegment(id) ? id : undefined),
  } = rules
  const { status } = response
  const blame = blameOf(status)
  if (blame) return refused(response, call, { blame, ...(await refusal?.(response, blame)) })
  if (!accepts.includes(status)) throw unclear(`a submit got ${status}`)
  const operation = operationIn(await readJsonFields(response))
  if (operation === undefined) throw unclear(`a submit got ${status} without ${named}`)
  return { operation }
}

/** The response to a poll. 404 means that the provider does not know the operation. */
export async function readPolled(
  response: Response,
  read: (body: Fields) => Progress | Promise<Progress>,
  accepts?: readonly number[],
): Promise<Progress> {
  return response.status === 404 ? { status: 'missing' } : read(await readResponse(response, 'a poll', accepts))
}

/** The fields of a response with an accepted status. `request` names the request for the operator. */
export async function readResponse(
  response: Response,
  request: string,
  accepts: readonly number[] = [200],
): Promise<Fields> {
  if (!accepts.includes(response.status)) throw unclear(`${request} got ${response.status}`)
  return readJsonFields(response)
}

/** Whether the provider accepted a cancel. False if it is too late. */
export function acceptedCancel(
  { status }: Response,
  tooLate: readonly number[],
  accepts: readonly number[] = [200],
): boolean {
  if (tooLate.includes(status)) return false
  if (!accepts.includes(status)) throw unclear(`a cancel got ${status}`)
  return true
}

/** The work has failed, because of the provider's content rules or for another reason. */
export function failed(isPolicy: boolean, code?: string): Progress {
  return { status: 'failed', problem: isPolicy ? problems.policy(code) : problems.failed(code) }
}

export type Fields = Readonly<Record<string, unknown>>

/** An object's own members. Any other value has none. */
export function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.assign(Object.create(null), value)
}

/** The entries of a list. Any other value has none. */
export function entriesOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** The JSON of a response as fields. Throws `provider_unavailable` if it is not JSON. */
export async function readJsonFields(response: Response): Promise<Fields> {
  return fieldsOf(await response.json())
}

/** The same for a response whose status says enough: an unreadable body has no fields. */
export async function tryFields(response: Response): Promise<Fields> {
  return readJsonFields(response).catch(() => fieldsOf(null))
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An error code of the provider's, if it looks like one and can't be a key: it goes into our log. */
export function wordOf(value: unknown): string {
  return typeof value === 'number' ||
    (typeof value === 'string' && /^([A-Za-z_.:-]{1,60}|[A-Z]{1,3}\d{1,6})$/.test(value))
    ? String(value)
    : 'no code'
}

/** A number from 0 to 100, or null. */
export function percentOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(100, Math.max(0, value)) : null
}

/** Whether the value can be one segment of a path. "." and ".." can't. */
export function isSegment(value: unknown): value is string {
  return typeof value === 'string' && /^(?!\.{1,2}$)[\w.~:-]{1,200}$/.test(value)
}

/** How far a provider's clock may be from ours. */
export const clockSlackMs = 60_000

/** Whether an entry of a list is the job of our request, may be, or is not. */
export type Likeness = 'match' | 'possible' | 'other'

/** The entries of a list that are or may be the job of an attempt. */
export function foundIn(entries: readonly Fields[], likenessOf: (entry: Fields) => Likeness, isPartial = false): Found {
  const judged = entries.map((entry) => ({ id: entry.id, is: likenessOf(entry) })).filter(({ is }) => is !== 'other')
  const idsOf = (wanted: Likeness) => judged.flatMap(({ id, is }) => (is === wanted && isSegment(id) ? [id] : []))
  // An entry with an unusable id may still be ours.
  const isUnnamed = judged.some(({ id }) => !isSegment(id))
  return { matches: idsOf('match'), possible: idsOf('possible'), isPartial: isPartial || isUnnamed }
}

/** A prompt for comparison: lists may change its white space or its Unicode form. */
export function plainPrompt(prompt: string): string {
  return prompt.normalize('NFC').replace(/\s+/g, ' ').trim()
}

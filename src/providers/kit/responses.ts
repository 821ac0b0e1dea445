import { Problem } from '../../core/problem.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import type { Json } from '../../core/task.ts'
import type { Call, Found, Progress, Refusal, Submitted } from '../provider.ts'

/*
 * How an adapter reads responses. None of their words goes on: they may hold a key, or what another customer asked for.
 */

type Blame = Refusal['blame']

/** Proves nothing: the outcome of a submit stays unknown, and a task is polled again. */
export function unclear(what: string): Problem {
  const message = 'The provider gives no clear answer.'
  return new Problem('provider_unavailable', message, { cause: new Error(what), retryable: true })
}

export const problems = {
  policy: (what?: string) =>
    new Problem('content_policy', 'The provider refused this video because of its content rules.', because(what)),
  failed: (what?: string) => new Problem('generation_failed', 'The provider could not make this video.', because(what)),
  refused: (what?: string) => new Problem('generation_failed', 'The provider refused this video.', because(what)),
  gone: (what?: string) =>
    new Problem('output_unavailable', 'The provider has no video any more.', { ...because(what), retryable: true }),
}

function because(what: string | undefined): { cause?: Error } {
  return what === undefined ? {} : { cause: new Error(what) }
}

/** The statuses that surely refuse a submit, and whose fault it is. Any other leaves its outcome unknown. */
export function blameOf(status: number): Blame | undefined {
  if ([400, 404, 405, 413, 415, 422].includes(status)) return 'request'
  if ([401, 402, 403].includes(status)) return 'account'
  return status === 429 ? 'busy' : undefined
}

/** The body of a refusal may correct the blame that its status tells, name the problem, and ask for patience. */
export interface RefusalDetails {
  blame?: Blame
  problem?: Problem
  retryAfterMs?: number | undefined
}

/** A refusal that waits as long as the response asks: its header counts before its body. */
export function refused(
  response: Response,
  call: Pick<Call, 'now'>,
  { blame, problem, retryAfterMs: told }: RefusalDetails & { blame: Blame },
): Submitted {
  const wait = retryAfterMs(response, call.now()) ?? told
  return {
    refused: {
      ...{ blame, problem: problem ?? problems.refused(`a submit got ${response.status}`) },
      ...(wait !== undefined && { retryAfterMs: wait }),
    },
  }
}

/** Nothing is sent: the card has a size that the adapter can't translate. */
export function unknownSize(): Submitted {
  return { refused: { blame: 'request', problem: problems.refused('a size that it has no words for') } }
}

/** How the response to a submit of one provider differs from `200 {"id": "…"}`. */
export interface SubmitRules {
  /** The statuses of an acceptance. */
  accepts?: readonly number[]
  /** Reads the body of a refusal. */
  refusal?(response: Response, blame: Blame): Promise<RefusalDetails>
  /** Undefined where the body names no operation that can be used. */
  operationIn?(body: Fields): Json | undefined
  /** What is missing then. */
  named?: string
}

/** Only a documented acceptance with an id is one, and only a status that surely refuses is a refusal. */
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
  const operation = operationIn(await readFields(response))
  if (operation === undefined) throw unclear(`a submit got ${status} without ${named}`)
  return { operation }
}

/** The response to a poll: 404 says that the provider does not know the operation. */
export async function readPolled(
  response: Response,
  read: (body: Fields) => Progress | Promise<Progress>,
  accepts?: readonly number[],
): Promise<Progress> {
  return response.status === 404 ? { status: 'missing' } : read(await readAnswer(response, 'a poll', accepts))
}

/** The fields of the answer to a question. A status of another kind answers nothing. */
export async function readAnswer(
  response: Response,
  question: string,
  accepts: readonly number[] = [200],
): Promise<Fields> {
  if (!accepts.includes(response.status)) throw unclear(`${question} got ${response.status}`)
  return readFields(response)
}

/** Whether the provider accepted a cancel, or says that it comes too late. */
export function tookCancel(
  { status }: Response,
  tooLate: readonly number[],
  accepts: readonly number[] = [200],
): boolean {
  if (tooLate.includes(status)) return false
  if (!accepts.includes(status)) throw unclear(`a cancel got ${status}`)
  return true
}

/** The work has failed, by the provider's content rules or by anything else. */
export function failed(isPolicy: boolean, code?: string): Progress {
  return { status: 'failed', problem: isPolicy ? problems.policy(code) : problems.failed(code) }
}

export type Fields = Readonly<Record<string, unknown>>

/** An object's own members, whatever came. What is not an object has none. */
export function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.assign(Object.create(null), value)
}

/** The entries of a list, whatever came. What is not a list has none. */
export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** The JSON of a response as fields; throws `provider_unavailable` where it is not JSON. */
export async function readFields(response: Response): Promise<Fields> {
  return fieldsOf(await response.json())
}

/** The same of a response whose status says enough: a body that can't be read has no fields. */
export async function tryFields(response: Response): Promise<Fields> {
  return readFields(response).catch(() => fieldsOf(null))
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A word of the provider's that may stand in our log: a code, and surely no key. */
export function wordOf(value: unknown): string {
  return typeof value === 'number' ||
    (typeof value === 'string' && /^([A-Za-z_.:-]{1,60}|[A-Z]{1,3}\d{1,6})$/.test(value))
    ? String(value)
    : 'no code'
}

/** A number from 0 to 100, or none. */
export function percentOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(100, Math.max(0, value)) : null
}

/** Whether it can be a segment of a path, which "." and ".." can't. */
export function isSegment(value: unknown): value is string {
  return typeof value === 'string' && /^(?!\.{1,2}$)[\w.~:-]{1,200}$/.test(value)
}

/** The slack for times that a provider tells: its clock is not ours. */
export const clockSlackMs = 60_000

/** What a list says of one of its entries: it is like our request, may be, or is not. */
export type Likeness = 'match' | 'possible' | 'other'

/** The entries of a list that may be an attempt's. */
export function foundIn(entries: readonly Fields[], likenessOf: (entry: Fields) => Likeness, isPartial = false): Found {
  const judged = entries.map((entry) => ({ id: entry.id, is: likenessOf(entry) })).filter(({ is }) => is !== 'other')
  const idsOf = (wanted: Likeness) => judged.flatMap(({ id, is }) => (is === wanted && isSegment(id) ? [id] : []))
  // An entry that may be ours and has an unusable id exists all the same.
  const isUnnamed = judged.some(({ id }) => !isSegment(id))
  return { matches: idsOf('match'), possible: idsOf('possible'), isPartial: isPartial || isUnnamed }
}

/** A prompt as lists may tell it: with other white space, or another way to write the same characters. */
export function plainPrompt(prompt: string): string {
  return prompt.normalize('NFC').replace(/\s+/g, ' ').trim()
}

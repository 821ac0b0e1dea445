import { Problem } from '../../core/problem.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import type { Json } from '../../core/task.ts'
import type { Call, Found, Refusal, Submitted } from '../provider.ts'

/*
 * What the members have in common when they read an answer. None of its words goes on: they may hold a key, or what
 * another customer asked for.
 */

type Blame = Refusal['blame']

/** Says nothing: neither of a submit, whose outcome stays unknown, nor of a task, which is asked about again. */
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

/** The statuses by which a submit is surely refused, and by whose fault. Anything else leaves its outcome unknown. */
export function blameOf(status: number): Blame | undefined {
  if ([400, 404, 405, 413, 415, 422].includes(status)) return 'request'
  if ([401, 402, 403].includes(status)) return 'account'
  return status === 429 ? 'busy' : undefined
}

/** A refusal, with as long as the answer asks us to wait. */
export function refused(
  response: Response,
  call: Pick<Call, 'now'>,
  blame: Blame,
  problem: Problem = problems.refused(`a submit got ${response.status}`),
): Submitted {
  const wait = retryAfterMs(response, call.now())
  return { refused: { blame, problem, ...(wait !== undefined && { retryAfterMs: wait }) } }
}

export type Fields = Readonly<Record<string, unknown>>

/** An object's own members, whatever came. What is no object has none. */
export function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.assign(Object.create(null), value)
}

/** The JSON of an answer as fields; throws `provider_unavailable` where it is none. */
export async function readFields(response: Response): Promise<Fields> {
  return fieldsOf(await response.json())
}

/** The same, of an answer whose status says enough: what can't be read has no fields. */
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

/** Part of a path, where "." and ".." are none. */
export function isSegment(value: Json | undefined): value is string {
  return typeof value === 'string' && /^(?!\.{1,2}$)[\w.~:-]{1,200}$/.test(value)
}

/** The slack for times that a provider tells: its clock is not ours. */
export const clockSlackMs = 60_000

/** What a list says of one of its entries: it is like our request, may be, or is not. */
export type Likeness = 'match' | 'possible' | 'other'

/** The entries of a list that may be an attempt's. */
export function foundIn(entries: readonly Fields[], likenessOf: (entry: Fields) => Likeness, isPartial = false): Found {
  const judged = entries
    .map((entry) => ({ id: entry.id as Json, is: likenessOf(entry) }))
    .filter(({ is }) => is !== 'other')
  const idsOf = (wanted: Likeness) => judged.filter(({ id, is }) => is === wanted && isSegment(id)).map(({ id }) => id)
  // What may be ours under a name that can't be used is there all the same.
  const isUnnamed = judged.some(({ id }) => !isSegment(id))
  return { matches: idsOf('match'), possible: idsOf('possible'), isPartial: isPartial || isUnnamed }
}

/** A prompt as lists may tell it: with other white space, or another way to write the same characters. */
export function plainPrompt(prompt: string): string {
  return prompt.normalize('NFC').replace(/\s+/g, ' ').trim()
}

/** The bytes of a result: from a host of results without a word of ours, or from the provider itself with its headers. */
export async function downloadFrom(place: string, call: Call, headers?: Record<string, string>): Promise<Response> {
  // What an answer calls a link must be one: a path would be ours to make.
  if (!headers && !/^https?:\/\//i.test(place)) throw problems.gone('a link that is none')
  const response = await call.download(place, { headers: headers ?? {} }, call.signal)
  if (response.ok) return response
  // Of the server, not of the link: the same one may do later.
  if (response.status >= 500 || response.status === 429 || response.status === 408)
    throw unclear(`a download got ${response.status}`)
  throw problems.gone(`a download got ${response.status}`)
}

export function dataUri({ type, bytes }: { type: string; bytes: Uint8Array }): string {
  return `data:${type};base64,${base64(bytes)}`
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { inspect } from 'node:util'
import type { Wire } from '../../../simulators/upstream/wire.ts'
import type { Json } from '../../core/task.ts'
import type { Member } from '../index.ts'
import type { ProviderRequest, Submitted } from '../provider.ts'

/** What every provider on the network must do, against a simulator that speaks its wire. */
export interface NetworkCase {
  member: Member
  wire(): Wire
  /** Below the simulator's origin, as the member's own address has it. */
  path?: string
  key: string
  /** One for each way to ask: by text alone, with an image, of each sort of model. The first is used where one will do. */
  requests: readonly [ProviderRequest, ...ProviderRequest[]]
  /** Its list does not tell enough to know an attempt by. */
  listsBlindly?: true
  /** Faults that this wire can't show, because it has no words for them, with the reason. */
  without?: Readonly<Record<string, string>>
}

/** One red point. */
export const picture = {
  type: 'image/png' as const,
  bytes: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
    'base64',
  ),
}

/** As in earnest in kind, and hundreds of times less patient. */
export const impatient = {
  ...{ connectMs: 1_000, headersMs: 700, bodyIdleMs: 700, totalMs: 1_500 },
  ...{
    downloadHeadersMs: 700,
    downloadIdleMs: 700,
    downloadPaceMs: 1_000,
    downloadPaceBytes: 100,
    downloadCloseMs: 50,
  },
}

export function operationOf(answer: Submitted): Json {
  assert.ok('operation' in answer, 'refused' in answer ? inspect(answer.refused) : '')
  return answer.operation
}

export async function bytesOf({ body }: Response): Promise<Buffer> {
  assert.ok(body)
  return buffer(body)
}

/** Neither in what is said nor in what lies behind it. */
export function assertNoKey(error: unknown, key: string): true {
  assert.ok(!inspect(error, { depth: 10 }).includes(key), 'the key is in an error')
  return true
}

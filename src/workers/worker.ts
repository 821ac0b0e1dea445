import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Bucket } from '../buckets/bucket.ts'
import { isElsewhere } from '../core/account.ts'
import type { Attempt, AttemptFact, OnUnknown, Rival } from '../core/attempt.ts'
import type { Catalog } from '../core/catalog.ts'
import type { Clock, Random } from '../core/clock.ts'
import type { Health } from '../core/health.ts'
import { Problem } from '../core/problem.ts'
import type { Change } from '../core/states.ts'
import type { Asset, Json, State, Task, TaskSource } from '../core/task.ts'
import type { Media } from '../media/media.ts'
import type { Outbound, Upstream } from '../outbound.ts'
import type { Call, Provider, ProviderRequest, ProviderSource } from '../providers/provider.ts'

/**
 * Who moves a task on. A worker takes a leased task of its states, acts, and says what should become of it; the engine
 * records that if the lease still holds. It throws a Problem where it can't say: the engine decides on another try.
 */
export interface Worker {
  readonly name: string
  readonly states: readonly State[]
  /**
   * How many of its tasks this process moves at once, of each account where the state has accounts. In a lane that owners
   * share, an owner who is alone gets half of them.
   */
  readonly limit: number
  /** It ends what it began even if its lease is lost: what it learns is worth recording. */
  readonly persists?: true
  run(task: Task, tools: Tools, action: Action): Promise<Decision>
}

/** What a worker may use beside its task while it holds the lease. */
export interface Action {
  readonly signal: AbortSignal
  /** The task's last attempt, where it matters: of a held task. */
  readonly attempt: Attempt | null
  /**
   * Writes a change with its new attempt now and keeps the lease; the task as it is then. Throws if that was lost. Few
   * attempts are open and unsent at once, so this may wait for `leave` of others.
   */
  commit(change: Change, opened: Attempt): Promise<Task>
  /** Right before the request of the attempt that was committed leaves. Throws if that can't be noted: then it must not. */
  leave(): void
  /** Those of an account's operations that belong to an attempt already. */
  bound(account: string, operations: readonly string[]): Promise<ReadonlySet<string>>
  /** As the store knows them: attempts on the same account, without an answer either, whose work it may list. */
  rivals(attempt: Attempt, since: number, limit: number): Promise<readonly Rival[]>
  /** All of the task's, in their order. */
  attempts(): Promise<readonly Attempt[]>
}

export interface Notes {
  /** What was learnt about the attempt: recorded even if the lease is lost. */
  fact?: AttemptFact
  /** It may be held for long: others may have its slots. */
  releases?: true
  /** For the timeline, beside the change of state that is there anyway. */
  note?: [name: string, detail?: Json]
}

export type Decision =
  | ({
      change: Change
      /** Done after the change is recorded, at most once; its failure changes nothing, and is logged as a warning. */
      afterwards?: () => Promise<void>
    } & Notes)
  | {
      remove: true
      /** Its work may go on at the provider, and will be nobody's. */
      orphans?: true
      /** What became of the work of a task that was deleted, for the log: nothing else is left of it. */
      work?: 'stopped' | 'over' | 'unknown'
    }

/** A provider as the operator set it up, and how it is doing. */
export interface Account {
  readonly name: string
  readonly provider: Provider
  readonly credential: string | null
  readonly keyVersion: string
  readonly upstream: Upstream | null
  /** How many tasks it may have at once. */
  readonly concurrency: number
  /** How many more, each of an owner that has no other there. */
  readonly spareSlots?: number
  readonly onUnknown: OnUnknown
  health: Health
}

export interface Tools {
  clock: Clock
  random: Random
  bucket: Bucket
  media: Media
  outbound: Outbound
  catalog: Catalog
  accounts: ReadonlyMap<string, Account>
  /** How long the last tasks of each card took, oldest first. */
  durations: Map<string, number[]>
  /** A folder for files that need not survive the process. */
  scratch: string
  retentionMs: number
  /** What is larger is no video for us: a body may be endless. */
  maxVideoBytes: number
}

export function callOf(
  account: Account,
  { attempt }: Pick<Task, 'attempt'>,
  { clock }: Pick<Tools, 'clock'>,
  signal: AbortSignal,
): Call {
  const { credential, upstream } = account
  const attemptId = attempt ?? ''
  const none = () => Promise.reject(new Error(`account '${account.name}' has no address to talk to`))
  const now = () => clock.now()
  return { send: none, fetch: none, download: none, ...upstream, signal, attemptId, credential, now }
}

export async function requestOf(
  task: Task,
  model: string,
  { bucket }: Pick<Tools, 'bucket'>,
): Promise<ProviderRequest> {
  const { prompt, seconds, size, parameters, image } = task
  const source = task.source && sourceOf(task.source, bucket)
  const request = { model, prompt, seconds, size, parameters, image: null, ...(source && { source }) }
  if (!image || !('asset' in image)) return request
  const bytes = await fromBucket(async () => buffer(await openAsset(image.asset, bucket)))
  return { ...request, image: { type: image.type, bytes } }
}

function sourceOf({ kind, prompt, seconds, asset }: TaskSource, bucket: Bucket): ProviderSource {
  return { kind, prompt, seconds, video: asset && (() => fromBucket(() => openAsset(asset, bucket))) }
}

async function openAsset({ key }: Asset, bucket: Bucket): Promise<Readable> {
  const object = await bucket.open(key)
  if (!object) throw new Problem('internal', 'What the video is to be made of is missing from our storage.')
  return object.stream
}

/** Whatever a bucket throws, its bytes can't be had now: that is waited for, and no fault of the task's. */
async function fromBucket<Read>(read: () => Promise<Read>): Promise<Read> {
  try {
    return await read()
  } catch (thrown) {
    throw thrown instanceof Problem ? thrown : Problem.ofStorage(thrown)
  }
}

/**
 * The account that has the task; undefined where it is not configured, or has another address than when the attempt was
 * sent: there its operation is unknown, or names another job. `sent`: the attempt, where there is one.
 */
export function accountAt(
  task: Task,
  { accounts }: Pick<Tools, 'accounts'>,
  sent?: Pick<Attempt, 'keyVersion'> | null,
): Account | undefined {
  const account = accounts.get(task.account ?? '')
  return account && sent && isElsewhere(sent.keyVersion, account.keyVersion) ? undefined : account
}

/** The same. An account that is not there may come back: the task waits for it until its deadline. */
export function accountOf(
  task: Task,
  { accounts }: Pick<Tools, 'accounts'>,
  sent?: Pick<Attempt, 'keyVersion'> | null,
): Account {
  const found = accountAt(task, { accounts }, sent)
  if (found) return found
  const account = accounts.get(task.account ?? '')
  const cause = account
    ? `account '${account.name}' had another address when this was sent there`
    : `no account '${task.account}' is configured`
  const message = 'The model is not available right now.'
  throw new Problem('provider_unavailable', message, { cause: new Error(cause), retryable: true })
}

/** The attempt that the task goes on with. */
export async function attemptOf(task: Task, action: Pick<Action, 'attempts'>): Promise<Attempt | undefined> {
  return (await action.attempts()).find(({ id }) => id === task.attempt)
}

/** What an adapter threw. Whatever it did not foresee is an answer that it could not read; a full disk keeps its name. */
export function faultOf(thrown: unknown): Problem {
  const problem = Problem.from(thrown)
  if (thrown instanceof Problem || problem.code === 'storage_unavailable') return problem
  return new Problem('provider_unavailable', unclear, { cause: thrown, retryable: true })
}

export const unclear = 'The provider gives no clear answer.'

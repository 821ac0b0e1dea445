import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Bucket } from '../buckets/bucket.ts'
import { type AccountView, hasOtherAddress } from '../core/account.ts'
import type { Attempt, AttemptFact, Rival } from '../core/attempt.ts'
import type { Bounded } from '../core/bounded.ts'
import type { Catalog } from '../core/catalog.ts'
import type { Clock, Random } from '../core/clock.ts'
import type { JobEnd } from '../core/ledger.ts'
import { Problem } from '../core/problem.ts'
import type { Change } from '../core/states.ts'
import type { Asset, State, Task, TaskSource } from '../core/task.ts'
import type { Note } from '../core/timeline.ts'
import { attemptContext, readTaskTrace, type Span, toTraceparent } from '../core/trace.ts'
import type { VerifyMode } from '../core/verification.ts'
import type { Media } from '../media/media.ts'
import type { Outbound, Upstream } from '../outbound.ts'
import type { Call, Provider, ProviderRequest, ProviderSource } from '../providers/provider.ts'
import type { Alarms } from '../telemetry/alarms.ts'
import type { WorkMeter } from '../telemetry/metrics.ts'

/**
 * Moves tasks from state to state. A worker gets a leased task in one of its states, acts, and returns a decision, which
 * the engine records if the lease still holds. If it throws a Problem, the engine decides whether to try again.
 */
export interface Worker {
  readonly name: string
  readonly states: readonly State[]
  /**
   * How many tasks this process runs at once: for each account, where the state has accounts. In a lane that owners share,
   * a single owner gets at most half of them.
   */
  readonly limit: number
  /** The same for an account that accepts this many tasks at once, if that makes a difference. */
  limitFor?(concurrency: number): number
  /** A run is not aborted when its lease is lost: what it learns must be recorded. */
  readonly persists?: true
  run(task: Task, tools: Tools, action: Action): Promise<Decision>
}

/** What a worker may use, beside its task, while it holds the lease. */
export interface Action {
  readonly signal: AbortSignal
  /** Of this run. */
  readonly span: Span
  /** The last attempt of a held task; null in every other state. */
  readonly attempt: Attempt | null
  /**
   * Writes a change and its new attempt, keeps the lease, and returns both as they were written. Throws if the lease was lost,
   * or `provider_unreachable` if the connection is no longer open. Few attempts may be committed and unsent at once, so this
   * may wait until others call `leave`.
   */
  commit(change: Change, attempt: Attempt, isOpen?: () => boolean): Promise<{ task: Task; attempt: Attempt }>
  /**
   * Called right before the request is sent. Throws if the lease has ended, or the note of it can't be written: then nothing
   * may be sent.
   */
  leave(): void
  /** The operations among these that already belong to an attempt of the account. */
  bound(account: string, operations: readonly string[]): Promise<ReadonlySet<string>>
  /** Other attempts on the same account without a response: the provider may list their work instead. */
  rivals(attempt: Attempt, since: number, limit: number): Promise<readonly Rival[]>
  /** All attempts of the task, in their order. */
  attempts(): Promise<readonly Attempt[]>
}

export interface DecisionExtras {
  /** What was learnt about the attempt. It is recorded even if the lease is lost, unless it is fenced. */
  fact?: AttemptFact
  isFactFenced?: true
  /** The task may be held for long: its slots go to other tasks. */
  releasesSlots?: true
  /** An entry for the timeline, in addition to the change of state. */
  note?: Note
  /** The same, in its place, for a response that can't be true. It is logged, too. */
  warning?: Note
  /** What went wrong with an account, though the task goes on: for the log and the trace. A refusal pauses the account. */
  met?: { account: string; problem: Problem; isRefusal: boolean }
}

export type Decision =
  | ({
      change: Change
      /** Runs at most once, after the change is recorded. If it fails, a warning is logged and nothing else changes. */
      afterwards?: () => Promise<void>
    } & DecisionExtras)
  | {
      remove: true
      /** The job may go on at the provider: its attempt is kept as an orphan. */
      orphans?: true
      /** What became of the job of a deleted task, for the log: no other trace of it is left. */
      work?: 'stopped' | 'over' | 'unknown'
      /** How the job ended, if the provider has said it: a failure may not be billed. */
      end?: JobEnd
    }

/** A provider as the operator configured it, and its health. */
export interface Account extends AccountView {
  readonly provider: Provider
  readonly credential: string | null
  readonly upstream: Upstream | null
  /** How many tasks beyond `concurrency`, each for an owner that has no other task there. */
  readonly spareSlots: number
  /** How its results are verified. Without it, the way on which they came decides. */
  readonly verify?: VerifyMode
}

export interface Tools {
  clock: Clock
  random: Random
  bucket: Bucket
  media: Media
  outbound: Outbound
  catalog: Catalog
  accounts: ReadonlyMap<string, Account>
  /** How long the last tasks of each card took, in milliseconds, oldest first. */
  durations: Map<string, number[]>
  /** The key version of attempts that were sent or read last, without those whose video was stored here. It never changes. */
  keyVersions: Bounded<string>
  /** A folder for files that need not survive the process. */
  scratch: string
  retentionMs: number
  /** Counts results that were downloaded, if there are metrics. */
  meter?: Pick<WorkMeter, 'downloaded'>
  alarms?: Alarms
  /** A larger result is not stored: a body may be endless. */
  maxVideoBytes: number
}

export function callOf(
  account: Account,
  { attempt, trace = null }: Pick<Task, 'attempt'> & Partial<Pick<Task, 'trace'>>,
  { clock }: Pick<Tools, 'clock'>,
  signal: AbortSignal,
): Call {
  const { credential, upstream } = account
  const attemptId = attempt ?? ''
  const noUpstream = () => Promise.reject(new Error(`account '${account.name}' has no upstream address`))
  const now = () => clock.now()
  const unreachable = { send: noUpstream, fetch: noUpstream, download: noUpstream }
  const traced = upstream && withTraceparent(upstream, trace, attemptId)
  return { ...unreachable, ...traced, signal, attemptId, credential, now }
}

/** The provider gets the span of the attempt: if it has spans of its own, they become a part of the trace. */
function withTraceparent(upstream: Upstream, trace: string | null, attempt: string): Upstream {
  const task = readTaskTrace(trace)
  if (!task) return upstream
  const traceparent = toTraceparent(attemptContext(task, attempt))
  const add = <Init extends { headers?: Record<string, string> }>(init: Init): Init => ({
    ...init,
    headers: { ...init.headers, traceparent },
  })
  return {
    send: (path, init, signal, departure) => upstream.send(path, add(init), signal, departure),
    fetch: (path, init, signal) => upstream.fetch(path, add(init), signal),
    download: (location, init, signal) => upstream.download(location, add(init), signal),
  }
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
  if (!object)
    throw new Problem('internal', 'The input of this video is missing from our storage. Create the video again.')
  return object.stream
}

/** Anything that a bucket throws means that its bytes are not available now: the task waits, and does not fail. */
async function fromBucket<Read>(read: () => Promise<Read>): Promise<Read> {
  try {
    return await read()
  } catch (thrown) {
    throw thrown instanceof Problem ? thrown : Problem.ofStorage(thrown)
  }
}

/**
 * The account of the task. Undefined if it is not configured, or if its address has changed since the attempt was `sent`:
 * at the new address the operation is unknown, or names another job.
 */
export function accountAt(
  task: Task,
  { accounts }: Pick<Tools, 'accounts'>,
  sent?: Pick<Attempt, 'keyVersion'> | null,
): Account | undefined {
  const account = accounts.get(task.account ?? '')
  return account && sent && hasOtherAddress(sent.keyVersion, account.keyVersion) ? undefined : account
}

/** The same, but throws if there is no such account. It may come back: the task waits for it until its deadline. */
export function accountOf(
  task: Task,
  { accounts }: Pick<Tools, 'accounts'>,
  sent?: Pick<Attempt, 'keyVersion'> | null,
): Account {
  const found = accountAt(task, { accounts }, sent)
  if (found) return found
  const account = accounts.get(task.account ?? '')
  const cause = account
    ? `account '${account.name}' had another address when this was sent`
    : `no account '${task.account}' is configured`
  const message = 'The model is not available right now.'
  throw new Problem('provider_unavailable', message, { cause: new Error(cause), retryable: true })
}

/** The current attempt of the task. */
export async function attemptOf(task: Task, action: Pick<Action, 'attempts'>): Promise<Attempt | undefined> {
  return (await action.attempts()).find(({ id }) => id === task.attempt)
}

/**
 * With which key the current attempt was sent. A process that did not send it reads it once: a task is polled every few
 * seconds.
 */
export async function keyOf(
  task: Task,
  { keyVersions }: Pick<Tools, 'keyVersions'>,
  action: Pick<Action, 'attempts'>,
): Promise<Pick<Attempt, 'keyVersion'> | undefined> {
  const known = keyVersions.get(task.attempt ?? '')
  const keyVersion = known ?? (await attemptOf(task, action))?.keyVersion
  if (keyVersion === undefined) return undefined
  if (known === undefined) keyVersions.set(task.attempt ?? '', keyVersion)
  return { keyVersion }
}

/** What an adapter threw, as a Problem. An unexpected error means that the response was unclear; a full disk stays one. */
export function faultOf(thrown: unknown): Problem {
  const problem = Problem.from(thrown)
  if (thrown instanceof Problem || problem.code === 'storage_unavailable') return problem
  return Problem.ofUnclearResponse(thrown)
}

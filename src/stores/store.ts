import type { AccountHealth } from '../core/account.ts'
import type {
  Alarm,
  AlarmEvent,
  AlarmKind,
  AlarmReceiverName,
  AlarmReport,
  AlarmStatus,
  UnsentAlarm,
} from '../core/alarms.ts'
import type { Attempt, AttemptFact, AttemptState, Rival } from '../core/attempt.ts'
import type { AuditEntry, AuditRecord } from '../core/audit.ts'
import type { Declaration } from '../core/declaration.ts'
import type { FigureRequest, Figures } from '../core/figures.ts'
import type { JobEnd, LedgerEntry } from '../core/ledger.ts'
import type { Notice } from '../core/notice.ts'
import type { DecisionRecord, Lease } from '../core/plan.ts'
import type { ExpiryStep, StoredPlace, StoredStep } from '../core/row.ts'
import type { CapCounter, Counter } from '../core/spend.ts'
import type { Json, State, Status, Task, TaskEvent, TaskView } from '../core/task.ts'
import type { StoredToken } from '../core/token.ts'
import type { QueueLimits, QueuePlace } from '../core/turns.ts'
import type { UsageRecord } from '../core/usage.ts'
import type { SecretColumn } from '../core/vault.ts'
import type { DeliveryOutcome, DeliveryState, Endpoint, EndpointChange, WebhookDelivery } from '../core/webhook.ts'

/**
 * Where rows are stored. The promise of a write resolves after the durable commit. A write fails with
 *   storage_unavailable    the database can't be written now (disk full, gone). If the connection broke during the commit,
 *                          the write may have happened
 *   operation_taken        its fact names an operation of the same account that belongs to another attempt
 *   idempotency_key_taken  the owner of the new task has used its key before
 *   insufficient_quota     the price of the new task is more than a cap of its owner allows
 *   queue_full             the owner of the new task has as many waiting tasks as it may have
 * After every other error nothing was written. Callers take only the interfaces that they need.
 */
export interface Store
  extends TaskStore,
    LeaseStore,
    AttemptStore,
    NoticeStore,
    EndpointStore,
    DeliveryStore,
    HealthStore,
    TokenStore,
    UsageStore,
    SecretStore,
    DeclarationStore,
    FigureStore,
    AlarmStore,
    ProbeStore,
    AsyncDisposable {}

export interface ProbeStore {
  /**
   * Writes a little and deletes it. Throws `storage_unavailable`, with the reason as its cause, if nothing can be
   * written now. Cheap enough for a call every second.
   */
  checkWritable(): Promise<void>
}

/** Tasks as clients and operators see them. */
export interface TaskStore {
  /**
   * Together with the task its price is reserved, if it has one and the caps allow it. Of all that is submitted at once, in
   * any number of processes, no more is admitted than the caps allow. `mostQueued` is how many tasks of the owner may wait,
   * this one included. A limit of more than 32 may be exceeded a little if several processes insert at once.
   */
  insert(task: Task, caps?: readonly CapCounter[], mostQueued?: number): Promise<void>
  /** A task of this owner that is not deleted. */
  read(owner: string, id: string): TaskView | undefined | Promise<TaskView | undefined>
  /** This owner's tasks by id, which is by age. `after` need not exist: it is only a position in that order. */
  list(owner: string, page: Page): Promise<TaskView[]>
  /** The ids of this owner's tasks that were created by the same request since then, the newest first. */
  repeats(owner: string, digest: number, since: number): Promise<string[]>
  /** The task that this owner created with this idempotency key, deleted or not, as long as its row exists. */
  findByKey(owner: string, key: string): Promise<Task | undefined>
  /** The whole task of any owner, deleted or not: not for clients. */
  find(id: string): Promise<Task | undefined>
  /** One step of a search through the tasks of all owners, the newest first: not for clients. */
  search(wanted: TaskSearch, step: SearchStep): Promise<SearchFound>
  /** Hides the task from its owner, writes a notice, and makes it due. False if the owner has no such task. */
  delete(owner: string, id: string, now: number): Promise<boolean>
  events(task: string): Promise<TaskEvent[]>
  /** What was posted for this task, even if its row is gone. */
  entries(task: string): Promise<LedgerEntry[]>
  /** Queued tasks of this card, in about the order in which they will be claimed. */
  queueOf(card: string, limit: number): Promise<QueuePlace[]>
  /** How many slots of these accounts are in use. */
  usedSlots(accounts: readonly string[]): Promise<number>
  /**
   * One step of a sum of the bytes in the bucket, of the tasks of one owner or of all owners: up to `limit` tasks after this one
   * in the order of owners and ids. `next` is where the next step begins; null if there are no more.
   */
  sumStored(of: 'owner' | 'all', after: StoredPlace, limit: number): Promise<StoredStep>
  /** The same step over all owners, summed by the hour since the epoch in which the bytes expire. */
  storedExpiries(after: StoredPlace, limit: number): Promise<ExpiryStep>
  /** How many tasks of this owner wait, counted up to `most`. */
  countQueued(owner: string, most: number): Promise<number>
  /** What was spent or reserved in the period of a counter, whether it is stored or not. */
  spent(counter: Counter): Promise<number>
  /** Every currency in which something was reserved. */
  currencies(): Promise<string[]>
  /** Every account that an unfinished task is pinned to. */
  accountsInUse(): Promise<string[]>
  /** How many unfinished tasks are pinned to this account. */
  unfinishedOf(account: string): Promise<number>
  /** How long the last tasks of each card took from start to end, in milliseconds. */
  durations(): Promise<Map<string, number[]>>
}

/** What is known about the job of a task that is removed. */
export interface Removal {
  /** It may go on. */
  readonly orphans?: boolean
  readonly end?: JobEnd
}

/** Tasks as the engine moves them: claimed under a lease, then recorded or removed. */
export interface LeaseStore {
  /** Claims up to `limit` due tasks: their `fence` grows, and no other claim gets them until the lease ends. */
  claim(wanted: Claim): Promise<Task[]>
  /** Owners with a due task in a shared lane, the longest due first. An owner costs the same however many tasks it has. */
  dueOwners(lane: SharedLane, now: number): Promise<string[]>
  /** The same as `claim` for a shared lane: up to `limit` tasks of each owner, the oldest first. */
  claimShares(
    lane: SharedLane,
    shares: readonly OwnerClaim[],
    times: { now: number; leaseUntil: number },
  ): Promise<Task[]>
  /**
   * Claims queued tasks that an account has a slot for, in turn over (card, owner), and books their slots. The account
   * is written into the task. `nextDue` is when the first task is due that waits for a time, not for a slot; or `now` if
   * there may be more to claim: this claim looked at only some of the tasks, or another process was claiming for the same
   * account.
   */
  claimQueued(wanted: QueueClaim): Promise<{ tasks: Task[]; nextDue: number | null }>
  /** Claims this one task, if it is in that state and not under lease, due or not. */
  claimOne(id: string, state: State, leaseUntil: number): Promise<Task | undefined>
  /** Extends leases. Returns those that were lost: their holders can't write decisions any more. */
  renew(leases: readonly Lease[], leaseUntil: number): Promise<Lease[]>
  /**
   * Writes a decision and gives the lease back. False if the lease was lost, if the decision opens an attempt of a
   * deleted task, or if it ignores that the awaited attempt was accepted: then only a fact that is not fenced was written.
   * A task that is neither held nor running gives its slots back; a held one does if `releasesSlots` is set. The same
   * transaction writes a notice of a change of status, and a delivery of an end for each endpoint that receives it.
   */
  record(entry: DecisionRecord): Promise<boolean>
  /**
   * Deletes the row with its slots and events, if the lease holds. Attempts that may cost money stay: open ones as
   * abandoned, and the last one as an orphan if it was accepted and the task was held, or if `orphans` says that its
   * work may go on. Other accepted ones stay as removed, because their operations are in use, until they are trimmed. The
   * last one is billed unless `end` says that its failure was not.
   */
  remove(lease: Lease, options?: Removal): Promise<boolean>
  /**
   * Called after the clock was set back. An unfinished task without a lease that is due later than the longest delay
   * becomes due now. The same applies to pending deliveries.
   */
  repairDueTimes(now: number): Promise<void>
  /** When the next task of each lane is due, if there is one. A leased task is due when its lease ends. */
  nextDue(lanes: readonly Lane[]): Promise<(number | undefined)[]>
  /** Calls back soon after a task may have become due. Returns a function that ends this. */
  onDue(listener: () => void): () => void
}

/** What was sent to providers, and its outcome. */
export interface AttemptStore {
  attempt(id: string): Promise<Attempt | undefined>
  attempts(task: string): Promise<Attempt[]>
  /**
   * Attempts of that state, after the given one. Open ones wait for a decision, so the oldest come first; of all others
   * the newest. `after` need not exist: it is only a position in that order.
   */
  attemptsIn(state: AttemptState, limit: number, after?: Pick<Attempt, 'openedAt' | 'id'>): Promise<Attempt[]>
  /** Those of the given operations of this account that belong to an attempt. */
  bound(account: string, operations: readonly string[]): Promise<Set<string>>
  /**
   * Up to `limit` attempts of other tasks on the same account without a known operation, whose work a list may show:
   * open ones, and those given up that were opened since `since`.
   */
  rivals(attempt: Pick<Attempt, 'task' | 'account'>, since: number, limit: number): Promise<Rival[]>
  /**
   * Writes a fact about an attempt of this task, without a decision. It needs no lease, and the row of the task may be
   * gone. If the task waits for the attempt, it is due. An accepted attempt that its task does not wait for becomes an
   * orphan. If the attempt has another operation by then, the operation of the fact gets an orphan of its own.
   */
  settle(task: string, fact: AttemptFact): Promise<void>
  /**
   * Takes this operation from the attempt that adopted it, and returns the id of that attempt, or undefined if there is
   * none. The attempt is open again, and its task is held and due, without a lease. If the task has gone on without the
   * attempt, or has ended, the attempt is abandoned.
   */
  disown(account: string, operation: Json, now: number): Promise<string | undefined>
  /**
   * Drops up to `limit` attempts of removed tasks that were opened more than `keptMs` before the newest of them. Tasks are
   * removed about in the order of their attempts, so each is kept for that long after it was removed. Returns how many.
   */
  trimRemovedAttempts(keptMs: number, limit: number): Promise<number>
}

/** Changes of status, numbered. */
export interface NoticeStore {
  /** In the order of their numbers: those beyond `after`, and those of `missing` that have become visible. */
  notices(after: number, missing: readonly number[], limit: number): Promise<Notice[]>
  noticesOf(owner: string, after: number, limit: number): Promise<Notice[]>
  /** The number of the newest one, and of the oldest that is kept; 0 if there is no notice. */
  noticeRange(): Promise<{ first: number; last: number }>
  /** Drops up to `limit` of the oldest notices from before that time. The newest stays. Returns how many. */
  trimNotices(before: number, limit: number): Promise<number>
  /** Calls back when there may be a new notice, or a delivery was replayed. Returns a function that ends this. */
  onNotice(listener: () => void): () => void
}

/** Webhook endpoints of clients. */
export interface EndpointStore {
  /** This owner's endpoints, the newest first. `after` need not exist: it is only a position in that order. */
  endpoints(owner: string, page: Omit<Page, 'order'>): Promise<Endpoint[]>
  endpoint(owner: string, id: string): Promise<Endpoint | undefined>
  /** False if its owner already has `most` endpoints. */
  insertEndpoint(endpoint: Endpoint, most: number): Promise<boolean>
  /** Writes only these fields. Returns the endpoint after the change, if it exists. */
  updateEndpoint(owner: string, id: string, change: EndpointChange): Promise<Endpoint | undefined>
  /** False if it does not exist. `trimStrayDeliveries` removes its deliveries, which may be many. */
  deleteEndpoint(owner: string, id: string): Promise<boolean>
  disableEndpoint(id: string, at: number, why: string): Promise<void>
}

/** Deliveries of events to webhook endpoints. */
export interface DeliveryStore {
  /**
   * Endpoints with a due delivery, the longest due first; disabled ones, too. `next` is when the first of the others
   * has one. An endpoint costs the same however many deliveries wait for it.
   */
  dueEndpoints(now: number): Promise<{ endpoints: Endpoint[]; next: number | null }>
  /** Claims due deliveries of each endpoint: their `fence` grows, and no other claim gets them until the lease ends. */
  claimDeliveries(wanted: readonly EndpointClaim[], now: number, leaseUntil: number): Promise<WebhookDelivery[]>
  /** Writes the result of a try and gives the lease back. False if the lease was lost: then nothing was written. */
  recordDelivery(outcome: DeliveryOutcome): Promise<boolean>
  /** Fails up to `limit` pending deliveries that are not under lease, with that error. Returns how many. */
  failDeliveries(endpoint: string, step: { now: number; error: string; limit: number }): Promise<number>
  /** Deliveries of an endpoint, the newest first; of one state, if one is given. */
  deliveries(endpoint: string, page: Omit<Page, 'order'> & { state?: DeliveryState }): Promise<WebhookDelivery[]>
  delivery(endpoint: string, id: string): Promise<WebhookDelivery | undefined>
  /** Makes it due now, with all its tries again. A delivery that is being tried stays as it is. */
  replay(endpoint: string, id: string, now: number): Promise<WebhookDelivery | undefined>
  /**
   * The same for up to `limit` deliveries that failed, or are pending after a failed try, in the order of their ids
   * from `after` on. Returns their ids.
   */
  replayFailed(endpoint: string, step: ReplayStep): Promise<string[]>
  /** Drops up to `limit` deliveries that ended before that time. Returns how many. */
  trimDeliveries(before: number, limit: number): Promise<number>
  /** Drops up to `limit` deliveries whose endpoint does not exist any more. Returns how many. */
  trimStrayDeliveries(limit: number): Promise<number>
}

/** The health of accounts, shared between processes. */
export interface HealthStore {
  /** The last change of each account, by its name and key. */
  healths(): Promise<AccountHealth[]>
  /** A health that is older than the stored one changes nothing. */
  saveHealth(health: AccountHealth): Promise<void>
  /** Drops the healths of these accounts that were saved before that time. Returns how many. */
  trimHealths(accounts: readonly string[], before: number): Promise<number>
}

/** Tokens, the log of what operators changed, and codes that sign in once. */
export interface TokenStore {
  /** The tokens that changed after that revision, in the order of their changes, revoked ones too. By default all. */
  tokens(since?: number): Promise<StoredToken[]>
  /** Writes the entry in the same transaction. Undefined if another token that is not revoked has the name. */
  insertToken(token: NewToken, entry: AuditEntry | null): Promise<StoredToken | undefined>
  /** The same for a change of a token. Undefined if its revision is no longer the given one, or the name is in use. */
  updateToken(token: StoredToken, entry: AuditEntry | null): Promise<StoredToken | undefined>
  /** Calls back soon after another process may have changed a token. Returns a function that ends this. */
  onTokens(listener: () => void): () => void
  /** The newest first. `after` need not exist: it is only a position in that order. */
  auditLog(page: { after?: number; limit: number }): Promise<AuditRecord[]>
  /** For a change that is not a row of this store. */
  appendAudit(entry: AuditEntry): Promise<void>
  /** False if the code was used before, by any process. Codes that have expired by `now` are forgotten. */
  useCode(code: string, until: number, now: number): Promise<boolean>
}

/** The cost and revenue of ended tasks. The plan of a change adds the records. */
export interface UsageStore {
  /** Records of a range, in the order of their times, then of their numbers. */
  usage(range: UsageRange, step: UsageStep): Promise<UsageRecord[]>
  /** Records with a greater number, in the order of their numbers. Other processes may still add smaller ones. */
  usageBeyond(number: number, limit: number): Promise<UsageRecord[]>
  /** The greatest number of a record; 0 without records. */
  lastUsage(): Promise<number>
  /** Drops up to `limit` records from before that time. Returns how many. */
  trimUsage(before: number, limit: number): Promise<number>
  /**
   * Makes the holder the only one that sends records to another service, until the lease ends. Returns the number of the
   * last record that was sent, or 0; undefined if another holder has the lease. A holder renews its lease the same way.
   */
  leaseUsageCursor(lease: CursorLease): Promise<number | undefined>
  /** Stores the number of the last record that was sent. False if another holder has the lease: then nothing changed. */
  moveUsageCursor(holder: string, number: number): Promise<boolean>
}

/** Accounts, models and aliases that operators declare while the service runs. */
export interface DeclarationStore {
  /** Those that changed after that revision, in the order of their changes, removed ones too. By default all. */
  declarations(since?: number): Promise<Declaration[]>
  /**
   * Writes the declaration, and the entry in the same transaction. Undefined if its revision is no longer the given one; 0
   * is the revision of one that does not exist. Undefined, too, if any declaration was changed after `newest`.
   */
  saveDeclaration(declaration: Declaration, entry: AuditEntry | null, newest?: number): Promise<Declaration | undefined>
  /** The revision of the last change of any declaration, also of one that can't be read; 0 without one. */
  newestDeclaration(): Promise<number>
  /** Calls back soon after another process may have changed one. Returns a function that ends this. */
  onDeclarations(listener: () => void): () => void
}

/** Figures over the tasks of all owners: for metrics, alarms and the status. */
interface FigureStore {
  figures(wanted: FigureRequest): Promise<Figures>
}

/** Measures what a store writes, for metrics. */
export interface StoreMeter {
  /** When a transaction begins. */
  begin(): number
  /** It is committed, or has failed. */
  end(begun: number): void
  /** So many writes share a transaction. */
  batch(kind: 'group' | 'insert' | 'change', writes: number): void
}

/** How many connections to a database there are, how many of them are idle, and how many statements wait for one. */
export interface PoolUse {
  readonly total: number
  readonly idle: number
  readonly awaited: number
}

/** What operators have to know. */
export interface AlarmStore {
  /** Raises an alarm, or adds the report to the active one of its kind and subject. Returns the alarm. */
  raiseAlarm(report: AlarmReport): Promise<Alarm>
  /** Returns the alarm that it cleared, if one was active. */
  clearAlarm(kind: AlarmKind, subject: string, at: number): Promise<Alarm | undefined>
  /** Clears the active alarms of a kind that were last reported before that time. Returns them. */
  clearUnseenAlarms(kind: AlarmKind, before: number, at: number): Promise<Alarm[]>
  /** The newest first. `after` need not exist: it is only a position in that order. */
  alarms(page: AlarmPage): Promise<Alarm[]>
  /** Critical ones first, and of each severity the newest: a limit cuts off what is less urgent. */
  activeAlarms(limit: number): Promise<Alarm[]>
  /**
   * Writes the entry in the same transaction. An alarm that is acknowledged stays as it is, without another entry. Returns
   * the alarm, if it exists.
   */
  acknowledgeAlarm(id: string, acknowledgement: Acknowledgement, entry: AuditEntry): Promise<Alarm | undefined>
  /** Those with an event that the receiver does not have and no process sends: critical ones first, then the oldest. */
  unsentAlarms(receiver: AlarmReceiverName, now: number, limit: number): Promise<UnsentAlarm[]>
  /** Makes this process the only one that sends it there, until that time. Undefined if another one does, or it is sent. */
  claimAlarm(receiver: AlarmReceiverName, id: string, now: number, until: number): Promise<UnsentAlarm | undefined>
  /** Ends the claim that lasts until `until` at `at`. The claim of another process stays as it is. */
  shortenAlarmClaim(receiver: AlarmReceiverName, id: string, until: number, at: number): Promise<void>
  /** `at` is when its start or end was sent; 0 if it need not be sent. */
  recordAlarmSent(receiver: AlarmReceiverName, id: string, event: AlarmEvent, at: number): Promise<void>
  /** When the start of an alarm of this kind and subject was last sent to the receiver; 0 if it never was. */
  lastAlarmSent(receiver: AlarmReceiverName, kind: AlarmKind, subject: string): Promise<number>
  /** Drops up to `limit` alarms that were cleared before that time. Returns how many. */
  trimAlarms(before: number, limit: number): Promise<number>
}

interface AlarmPage {
  status: AlarmStatus
  after?: string
  limit: number
}

/** Which operator has seen an alarm, and when. */
export interface Acknowledgement {
  by: string
  at: number
}

/** The secrets of all rows, as they are stored: encrypted, or in clear by an earlier version. */
export interface SecretStore {
  /** Those of a column that do not begin with the prefix, in the order of their ids. */
  otherSecrets(column: SecretColumn, prefix: string, page: { after: string; limit: number }): Promise<StoredSecret[]>
  /** Writes another text. False if the secret is no longer this one. */
  replaceSecret(column: SecretColumn, secret: StoredSecret, text: string): Promise<boolean>
}

export interface StoredSecret {
  /** The id of its row. */
  id: string
  text: string
}

export type NewToken = Omit<StoredToken, 'revision'>

export interface ReplayStep {
  state: 'failed' | 'pending'
  after: string
  now: number
  limit: number
}

export interface Page {
  after?: string
  limit: number
  order: 'asc' | 'desc'
  status?: Status
  model?: string
  /** Ends the page after the task that brings its `promptBytes` to this number. The next page has the rest. */
  enoughBytes?: number
  /** Ends a search through very many tasks. */
  signal?: AbortSignal
  /** Such a search waits for a turn before each of its steps, and gives it back after. */
  turn?: () => Promise<Disposable>
}

/** Up to `limit` deliveries of this endpoint. */
export interface EndpointClaim {
  endpoint: string
  limit: number
}

/** Tasks of one state, and of one account if tasks in this state have one. */
export type Lane = SharedLane | PlainLane

/** Each of these tasks may take long, so owners take turns. */
export type SharedLane = { state: 'fetching' } | { state: 'storing'; account: string }

/** The oldest first. `overdue`: queued tasks past `startBy`. */
type PlainLane =
  | { state: 'completed' | 'failed' }
  | { state: 'held' | 'running'; account: string }
  | { state: 'overdue' }

/** Up to `limit` tasks of this owner. */
export interface OwnerClaim {
  owner: string
  limit: number
}

export type Claim = PlainLane & { limit: number; now: number; leaseUntil: number }

export interface QueueClaim extends QueueLimits {
  leaseUntil: number
}

/** What an operator searches for, among the tasks of all owners. All conditions must hold. */
export interface TaskSearch {
  status?: Status
  state?: State
  /** The name that was requested, or the model's own. */
  model?: string
  account?: string
  owner?: string
  /** The id of the token that created it. */
  token?: string
  createdSince?: number
  createdBefore?: number
  errorCode?: string
  /** A part of the prompt. Upper and lower case of A to Z are the same. */
  text?: string
  /** Only deleted tasks, or only others. */
  isDeleted: boolean
}

export interface SearchStep {
  /** A position in the order of ids, the newest first. It need not exist. */
  after?: string
  limit: number
}

export interface SearchFound {
  tasks: Task[]
  /** Where the next step begins; null if there are no more tasks. */
  next: string | null
}

interface UsageRange {
  since: number
  before: number
  owner?: string
}

interface UsageStep {
  /** The last record of the step before. */
  after?: Pick<UsageRecord, 'at' | 'number'>
  limit: number
}

export interface CursorLease {
  holder: string
  now: number
  until: number
}

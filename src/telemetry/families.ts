import { figureLimits, mostOwners } from '../core/figures.ts'

/** A metric with all its series. docs/metrics.md is made of these. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  /** What it counts or measures, in sentences. */
  readonly help: string
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[]
}

const { mostCounted, mostAttempts } = figureLimits

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const taskBuckets = [1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21_600, 86_400]
const workBuckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const storageBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const sizeBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** Every metric, in the order of the page. Labels have few values: never an id, a token or text of a client. */
export const families = {
  requests: {
    name: 'filmgate_http_requests_total',
    type: 'counter',
    labels: ['route', 'method', 'status'],
    help: 'HTTP requests whose response was sent. The route is its pattern; other is an unknown path.',
  },
  requestSeconds: {
    name: 'filmgate_http_request_duration_seconds',
    type: 'histogram',
    labels: ['route', 'method'],
    help: 'Time from the arrival of a request to the end of its response. Waits and streams take as long as they wait.',
    buckets: requestBuckets,
  },
  listeners: {
    name: 'filmgate_listeners',
    type: 'gauge',
    labels: [],
    help: 'Streams and waiting requests that are open.',
  },
  tasks: {
    name: 'filmgate_tasks',
    type: 'gauge',
    labels: ['state'],
    help: `Unfinished tasks by state: fetching, queued, held, running, storing. Counted in the store, up to ${mostCounted} for each model, or account and state.`,
  },
  tasksCreated: {
    name: 'filmgate_tasks_created_total',
    type: 'counter',
    labels: ['model'],
    help: 'Tasks that clients created.',
  },
  tasksEnded: {
    name: 'filmgate_tasks_ended_total',
    type: 'counter',
    labels: ['model', 'outcome'],
    help: 'Tasks that ended: completed, cancelled (deleted before their end), or the error code of a failed task.',
  },
  startSeconds: {
    name: 'filmgate_task_start_seconds',
    type: 'histogram',
    labels: ['model', 'account'],
    help: 'Time from the creation of a task until a provider accepted it.',
    buckets: taskBuckets,
  },
  completionSeconds: {
    name: 'filmgate_task_completion_seconds',
    type: 'histogram',
    labels: ['model', 'account'],
    help: 'Time from the creation of a task until its video was stored.',
    buckets: taskBuckets,
  },
  collectionSeconds: {
    name: 'filmgate_task_collection_seconds',
    type: 'histogram',
    labels: ['model', 'account'],
    help: 'Time from when the provider reported the end of a task until its video was stored, if one process did both.',
    buckets: taskBuckets,
  },
  queueTasks: {
    name: 'filmgate_queue_tasks',
    type: 'gauge',
    labels: ['model'],
    help: `Queued tasks. Counted in the store, up to ${mostCounted} for each model.`,
  },
  queueOldest: {
    name: 'filmgate_queue_oldest_seconds',
    type: 'gauge',
    labels: ['model'],
    help: `Time since the oldest queued task was created. Read from the store: the first task of each project, up to ${mostOwners} projects for each model.`,
  },
  attempts: {
    name: 'filmgate_attempts_total',
    type: 'counter',
    labels: ['account', 'outcome'],
    help: 'Attempts: opened, and what became of them: accepted, refused, abandoned, or unknown (no response).',
  },
  attemptsHeld: {
    name: 'filmgate_attempts_held',
    type: 'gauge',
    labels: ['account'],
    help: `Attempts of unknown outcome. Read from the store, the oldest ${mostAttempts}.`,
  },
  moneyAtRisk: {
    name: 'filmgate_money_at_risk',
    type: 'gauge',
    labels: ['currency'],
    help: 'What providers may charge for the attempts of unknown outcome, in units of the currency. Tasks without a cost (see docs/costs.md) count 0.',
  },
  orphans: {
    name: 'filmgate_orphans',
    type: 'gauge',
    labels: ['account'],
    help: `Attempts that were accepted and that no task uses. Read from the store, the newest ${mostAttempts}.`,
  },
  orphanCost: {
    name: 'filmgate_orphan_cost',
    type: 'gauge',
    labels: ['currency'],
    help: 'What these orphans cost, in units of the currency. Unknown costs count 0.',
  },
  slotsUsed: {
    name: 'filmgate_slots_used',
    type: 'gauge',
    labels: ['account'],
    help: 'Slots of an account that tasks use. Counted in the store.',
  },
  slotsFree: {
    name: 'filmgate_slots_free',
    type: 'gauge',
    labels: ['account'],
    help: 'Slots of an account that are free: its concurrency without the used ones.',
  },
  accountState: {
    name: 'filmgate_account_state',
    type: 'gauge',
    labels: ['account', 'state'],
    help: '1 for the current state of an account, 0 for the others: active; draining, paused (by an operator); credentials (its key was refused), credit (it has none left), failing (its circuit is open), each until a request succeeds; busy (it asked for a pause) until the pause ends.',
  },
  accountPausedUntil: {
    name: 'filmgate_account_paused_until_timestamp_seconds',
    type: 'gauge',
    labels: ['account'],
    help: 'When the pause of an account ends that its health caused, as a Unix time; 0 if it is not paused.',
  },
  accountFailures: {
    name: 'filmgate_account_failures',
    type: 'gauge',
    labels: ['account'],
    help: 'Failures of an account in a row.',
  },
  upstreamRequests: {
    name: 'filmgate_upstream_requests_total',
    type: 'counter',
    labels: ['account', 'call', 'result'],
    help: 'Requests to providers. The call is send (a submit), fetch (polls and lookups) or download; the result is an HTTP status, its class (4xx), unreachable (nothing was sent) or failed.',
  },
  upstreamSeconds: {
    name: 'filmgate_upstream_request_duration_seconds',
    type: 'histogram',
    labels: ['account', 'call'],
    help: 'Time of a request to a provider, with its connection; of a download until its headers.',
    buckets: workBuckets,
  },
  downloadBytes: {
    name: 'filmgate_download_bytes_total',
    type: 'counter',
    labels: ['account'],
    help: 'Bytes of results that were downloaded completely.',
  },
  downloadSeconds: {
    name: 'filmgate_download_duration_seconds',
    type: 'histogram',
    labels: ['account'],
    help: 'Time of a complete download of a result.',
    buckets: workBuckets,
  },
  verificationSeconds: {
    name: 'filmgate_verification_duration_seconds',
    type: 'histogram',
    labels: ['result'],
    help: 'Time of the verification of a result, with its wait for a child process: ok or failed.',
    buckets: workBuckets,
  },
  deliveries: {
    name: 'filmgate_deliveries_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Tries of webhook deliveries: delivered, retried (another try follows) or failed.',
  },
  deliveriesWaiting: {
    name: 'filmgate_deliveries_waiting',
    type: 'gauge',
    labels: [],
    help: `Webhook deliveries that are not delivered yet. Counted in the store, up to ${mostCounted}.`,
  },
  usageCost: {
    name: 'filmgate_usage_cost_total',
    type: 'counter',
    labels: ['currency'],
    help: 'What providers charge for the tasks that ended, also for cancelled ones, in units of the currency.',
  },
  usageRevenue: {
    name: 'filmgate_usage_revenue_total',
    type: 'counter',
    labels: ['currency'],
    help: 'What clients pay for the tasks that ended, in units of the currency.',
  },
  alarms: {
    name: 'filmgate_alarms',
    type: 'gauge',
    labels: ['kind', 'severity'],
    help: 'Active alarms by kind, with 0 for each kind that has none. Read from the store every 15 seconds, up to 1000; an alarm about the database is counted where it was noticed.',
  },
  storeUp: {
    name: 'filmgate_store_up',
    type: 'gauge',
    labels: [],
    help: '1 if the store responds, 0 if not. The figures of the store are absent if they could not be read within 5 seconds.',
  },
  commitSeconds: {
    name: 'filmgate_store_commit_duration_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time of a transaction that writes. With SQLite, a group of writes from its sending to its fsync.',
    buckets: storageBuckets,
  },
  batchSize: {
    name: 'filmgate_store_batch_size',
    type: 'histogram',
    labels: ['kind'],
    help: 'Writes that share a transaction: group (SQLite, all writes), insert and change (PostgreSQL).',
    buckets: sizeBuckets,
  },
  connections: {
    name: 'filmgate_store_connections',
    type: 'gauge',
    labels: ['state'],
    help: 'Connections to PostgreSQL: used or idle. Absent with SQLite.',
  },
  connectionsAwaited: {
    name: 'filmgate_store_connections_awaited',
    type: 'gauge',
    labels: [],
    help: 'Statements that wait for a connection to PostgreSQL. Absent with SQLite.',
  },
  bucketOperations: {
    name: 'filmgate_bucket_operations_total',
    type: 'counter',
    labels: ['operation', 'result'],
    help: 'Operations of the bucket: put, adopt, open, remove, check or link; ok, missing (there is no such object) or failed.',
  },
  bucketSeconds: {
    name: 'filmgate_bucket_operation_duration_seconds',
    type: 'histogram',
    labels: ['operation'],
    help: 'Time of an operation of the bucket; of open until the first byte can be read.',
    buckets: storageBuckets,
  },
  loopDelay: {
    name: 'filmgate_event_loop_delay_p99_seconds',
    type: 'gauge',
    labels: [],
    help: 'The delay of the event loop that one in a hundred samples exceeds. Sampled every 20 ms, since the scrape before.',
  },
  loopDelayMax: {
    name: 'filmgate_event_loop_delay_max_seconds',
    type: 'gauge',
    labels: [],
    help: 'The longest delay of the event loop, since the scrape before.',
  },
  memory: {
    name: 'filmgate_memory_bytes',
    type: 'gauge',
    labels: ['kind'],
    help: 'Memory of the process: heap_used, heap_total, external, resident.',
  },
  children: {
    name: 'filmgate_children',
    type: 'gauge',
    labels: ['activity'],
    help: 'Child processes by what they do, such as verify or render; idle is nothing.',
  },
  startTime: {
    name: 'filmgate_start_time_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the process started, as a Unix time.',
  },
  build: {
    name: 'filmgate_build_info',
    type: 'gauge',
    labels: ['version', 'node', 'store', 'bucket', 'role'],
    help: 'Always 1. The labels show what runs.',
  },
} as const satisfies Record<string, Family>

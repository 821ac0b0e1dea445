import { type Clock, waitAtMost } from '../core/clock.ts'
import { fromMicros } from '../core/money.ts'
import { type Outage, openOutage } from '../core/outage.ts'
import { parseRetryAfter } from '../core/retry-after.ts'
import { graceMs } from '../core/timing.ts'
import type { UsageRecord } from '../core/usage.ts'
import { isAccepted } from '../core/webhook.ts'
import type { Outbound, Posted } from '../outbound.ts'
import type { UsageStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

interface UsageEventOptions {
  store: Pick<UsageStore, 'usageBeyond' | 'lastUsage' | 'leaseUsageCursor' | 'moveUsageCursor'>
  outbound: Pick<Outbound, 'postTrusted'>
  clock: Clock
  log: Log
  /** Whether this process can open another connection. */
  hasFiles: () => boolean
  webhook: UsageWebhook
  /** The name of this process. Of the processes on one store, one sends at a time. */
  holder: string
}

interface UsageWebhook {
  readonly url: string
  /** Sent as `Authorization: Bearer`. */
  readonly token: string | null
}

/** How often it looks for new records. */
const idleMs = 5_000
/** Longer than a POST may take. */
const leaseMs = 60_000
const batchRecords = 200
/** The delay after a failure doubles, up to 5 minutes. It never gives up. */
const [firstDelayMs, mostDelayMs] = [1_000, 300_000]
/** Longer than a transaction of the store may take. */
const gapMs = 30_000

/**
 * Sends the usage of ended tasks to the operator's metering service, as batches of CloudEvents: in order, each at least once.
 * The store keeps how far it came. The id of an event is always the same, so that the receiver can drop repeats.
 */
export function startUsageEvents(options: UsageEventOptions): AsyncDisposable {
  const { store, outbound, clock, log, hasFiles, webhook, holder } = options
  const [stop, cut] = [new AbortController(), new AbortController()]
  const withoutGaps = openGaps(store, clock)
  /** The number of the last record that was sent; undefined if another process may be sending. */
  let sent: number | undefined
  let failures = 0
  const watch = (down: string, up: string) => openOutage({ log, clock, down, up, level: 'warn' })
  const sending = watch('usage events could not be sent; they are sent again', 'usage events are sent again')
  const reading = watch('the store failed: usage events are sent later, or again', 'usage events are read again')

  /** Returns the delay until the next look. */
  async function look(): Promise<number> {
    if (!hasFiles()) return idleMs
    // As long as there is nothing to send, nothing is written.
    if (sent !== undefined && (await store.usageBeyond(sent, 1)).length === 0) return idleMs
    const now = clock.now()
    sent = await store.leaseUsageCursor({ holder, now, until: now + leaseMs })
    if (sent === undefined) return idleMs
    const records = await withoutGaps(await store.usageBeyond(sent, batchRecords), sent, now)
    const last = records.at(-1)
    if (!last) return idleMs
    const posted = await outbound.postTrusted(webhook.url, toRequest(records, webhook), cut.signal)
    if (!('status' in posted && isAccepted(posted.status))) return refused(posted)
    failures = 0
    sending.worked()
    sent = (await store.moveUsageCursor(holder, last.number)) ? last.number : undefined
    return records.length === batchRecords ? 0 : idleMs
  }

  function refused(posted: Posted): number {
    const retryAfter = 'error' in posted ? undefined : parseRetryAfter(posted.retryAfter, clock.now())
    return failed(sending, posted, retryAfter)
  }

  function failed(outage: Outage, reason: Record<string, unknown>, retryAfterMs = 0): number {
    failures += 1
    const delay = Math.min(mostDelayMs, Math.max(retryAfterMs, firstDelayMs * 2 ** (failures - 1)))
    outage.failed({ ...reason, retryInMs: delay })
    return delay
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      let delay = idleMs
      try {
        delay = await look()
        reading.worked()
      } catch (cause) {
        // A POST that fails throws nothing.
        if (!stop.signal.aborted) delay = failed(reading, { cause })
      }
      await clock.sleep(delay, stop.signal)
    }
    // Another process can go on at once.
    const now = clock.now()
    if (sent !== undefined) await store.leaseUsageCursor({ holder, now, until: now }).catch(() => {})
  }
  const running = run()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await waitAtMost(graceMs, running, clock)
      cut.abort()
      await running
    },
  }
}

/**
 * The records before the first gap in their numbers. A missing number may become visible later, if its transaction is
 * still running. Numbers are given out in order: the transactions of all that are missing below the highest one have
 * begun, so `gapMs` later each of them is committed or was rolled back, however many there are.
 */
function openGaps(store: Pick<UsageStore, 'lastUsage'>, clock: Clock) {
  /** Up to this number all transactions have ended. */
  let settled = 0
  /** The highest number at a time. */
  let mark: { number: number; at: number } | null = null
  // `now` is from before the records were read.
  return async (records: readonly UsageRecord[], sent: number, now: number): Promise<readonly UsageRecord[]> => {
    if (mark && now - mark.at >= gapMs) {
      settled = mark.number
      mark = null
    }
    const isGap = ({ number }: UsageRecord, at: number) => number !== (records[at - 1]?.number ?? sent) + 1
    const gap = records.findIndex((record, at) => isGap(record, at) && record.number > settled)
    if (gap < 0) return records
    mark ??= { number: await store.lastUsage(), at: clock.now() }
    return records.slice(0, gap)
  }
}

function toRequest(records: readonly UsageRecord[], { token }: UsageWebhook) {
  return {
    headers: {
      'content-type': 'application/cloudevents-batch+json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(records.map(toEvent)),
  }
}

/** In the shape of OpenMeter: the subject is billed, and meters read the data. */
function toEvent(record: UsageRecord) {
  const { id, at, task, owner, token, model, account, outcome, code, seconds, tookMs, revenue, cost, currency } = record
  return {
    specversion: '1.0',
    id: `${id}:${outcome}`,
    source: 'filmgate',
    type: outcome === 'unused' ? 'filmgate.unused_attempt' : 'filmgate.video',
    subject: owner,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: {
      task,
      token,
      model,
      account,
      outcome,
      error_code: code,
      // A meter that sums them up counts videos that were delivered.
      seconds: outcome === 'completed' ? seconds : 0,
      took_ms: tookMs,
      cost: fromMicros(cost),
      revenue: fromMicros(revenue),
      currency,
    },
  }
}

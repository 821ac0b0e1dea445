import { type Alarm, type AlarmEvent, type AlarmReceivers, describeAlarm } from '../core/alarms.ts'
import { openBell } from '../core/bell.ts'
import { openBounded } from '../core/bounded.ts'
import type { Clock } from '../core/clock.ts'
import { openOutage, openOutages } from '../core/outage.ts'
import { sign } from '../core/signature.ts'
import { isAccepted } from '../core/webhook.ts'
import type { Outbound, Posted } from '../outbound.ts'
import type { Log } from '../telemetry/log.ts'
import { type AlarmQueue, flapMs } from './local.ts'

export interface PushOptions {
  queues: readonly AlarmQueue[]
  receivers: AlarmReceivers
  outbound: Pick<Outbound, 'postTrusted'>
  clock: Clock
  log: Log
  /** Calls back after an alarm was raised or cleared. Returns a function that ends this. */
  onChange(listener: () => void): () => void
  /** Whether this process can open another connection. */
  hasFiles: () => boolean
}

interface Receiver {
  readonly name: 'webhook' | 'slack'
  post(event: AlarmEvent, alarm: Alarm): Promise<Posted>
  failures: number
  /** Nothing is sent to it before this time. */
  pausedUntil: number
}

/** How often it looks for alarms of other processes. */
const idleMs = 5_000
/** Longer than a POST may take. */
const leaseMs = 30_000
/** The delay after a failure doubles, up to 5 minutes. It never gives up. */
const [firstDelayMs, mostDelayMs] = [1_000, 300_000]
/** An alarm that ended this long ago, and was never sent, is no news: the receiver may have been set since then. */
const oldMs = 3_600_000
const batch = 50

/**
 * Sends the start and the end of each alarm to the operator: at least once, under the same id. A second start of the same
 * kind and subject within 5 minutes waits; if the alarm ends before, it is not sent.
 */
export function startAlarmPush(options: PushOptions): AsyncDisposable {
  const { queues, clock, log, hasFiles } = options
  const stop = new AbortController()
  const bell = openBell(clock)
  const stopListening = options.onChange(bell.ring)
  const receivers = receiversOf(options, stop.signal)
  /** What a receiver has accepted while another one has not. */
  const accepted = openBounded<true>(1_000)
  const lines = { down: 'an alarm could not be sent; it is sent again', up: 'alarms are sent again' }
  const outages = openOutages({ log, clock, ...lines, level: 'warn' })
  // The store may be unavailable. Its own alarm is in another queue.
  const readLines = { down: 'alarms could not be read; they are sent later', up: 'alarms can be read again' }
  const reading = openOutage({ log, clock, ...readLines, level: 'warn' })

  async function deliverTo(receiver: Receiver, event: AlarmEvent, alarm: Alarm): Promise<boolean> {
    const key = `${receiver.name} ${event} ${alarm.id}`
    if (accepted.get(key)) return true
    if (clock.now() < receiver.pausedUntil) return false
    const posted = await receiver.post(event, alarm)
    if ('status' in posted && isAccepted(posted.status)) {
      receiver.failures = 0
      outages.worked(receiver.name, { receiver: receiver.name })
      accepted.set(key, true)
      return true
    }
    receiver.failures += 1
    const delay = Math.min(mostDelayMs, firstDelayMs * 2 ** (receiver.failures - 1))
    receiver.pausedUntil = clock.now() + delay
    outages.failed(receiver.name, { receiver: receiver.name, ...posted, retryInMs: delay })
    return false
  }

  /** Sends one event of the alarm. False if it has to wait. */
  async function send(queue: AlarmQueue, found: Alarm): Promise<boolean> {
    const now = clock.now()
    const verdict = await judge(queue, found, now)
    if (verdict === 'later') return false
    const alarm = await queue.claimAlarm(found.id, now, now + leaseMs)
    if (!alarm) return false
    // Another process may have sent its start since it was read.
    const event = alarm.raiseSentAt === null ? 'raised' : 'cleared'
    if (event === 'cleared' ? alarm.raiseSentAt === 0 : verdict === 'skip') {
      await queue.recordAlarmSent(alarm.id, event, 0)
      return true
    }
    const results = await Promise.all(receivers.map((receiver) => deliverTo(receiver, event, alarm)))
    if (!results.every(Boolean)) return false
    await queue.recordAlarmSent(alarm.id, event, clock.now())
    for (const { name } of receivers) accepted.delete(`${name} ${event} ${alarm.id}`)
    return true
  }

  /** Returns whether something was sent, so that more may be waiting. */
  async function look(): Promise<boolean> {
    if (!hasFiles() || receivers.every(({ pausedUntil }) => clock.now() < pausedUntil)) return false
    let isBusy = false
    for (const queue of queues)
      for (const alarm of await queue.unsentAlarms(clock.now(), batch)) {
        if (stop.signal.aborted) return false
        if (await send(queue, alarm)) isBusy = true
      }
    reading.worked()
    return isBusy
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      bell.mute()
      const isBusy = await look().catch((error) => {
        if (!stop.signal.aborted) reading.failed({ error })
        return false
      })
      if (!isBusy) await bell.wait(idleMs, stop.signal)
    }
  }
  const running = run()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      stopListening()
      await running
    },
  }
}

/** Whether an event is not sent, or not yet. */
async function judge(queue: AlarmQueue, alarm: Alarm, now: number): Promise<'send' | 'skip' | 'later'> {
  const { kind, subject, raiseSentAt, clearedAt } = alarm
  // Its start was not sent, so its end is not news.
  if (raiseSentAt !== null) return raiseSentAt === 0 ? 'skip' : 'send'
  if (clearedAt !== null && now - clearedAt > oldMs) return 'skip'
  const last = await queue.lastAlarmSent(kind, subject)
  if (last === 0 || Math.abs(now - last) >= flapMs) return 'send'
  return clearedAt === null ? 'later' : 'skip'
}

function receiversOf({ receivers: { webhook, slack }, outbound, clock }: PushOptions, stop: AbortSignal): Receiver[] {
  const opened = (name: Receiver['name'], url: string, toRequest: ToRequest): Receiver => ({
    name,
    failures: 0,
    pausedUntil: 0,
    post(event, alarm) {
      const { headers, body } = toRequest(event, alarm)
      return outbound.postTrusted(url, { headers: { 'content-type': 'application/json', ...headers }, body }, stop)
    },
  })
  return [
    ...(webhook ? [opened('webhook', webhook.url, (...of) => toEvent(...of, webhook.secret, clock))] : []),
    ...(slack === null ? [] : [opened('slack', slack, (...of) => ({ headers: {}, body: toSlack(...of) }))]),
  ]
}

type ToRequest = (event: AlarmEvent, alarm: Alarm) => { headers: Record<string, string>; body: string }

/** Signed like the webhooks of clients. The id is always the same, so that the receiver can drop repeats. */
function toEvent(event: AlarmEvent, alarm: Alarm, secret: string, clock: Clock) {
  const id = `${alarm.id}_${event}`
  const at = (event === 'raised' ? alarm.raisedAt : alarm.clearedAt) ?? 0
  const data = describeAlarm(alarm)
  const body = JSON.stringify({
    ...{ id, object: 'event', created_at: Math.floor(at / 1_000), type: `alarm.${event}` },
    data,
  })
  const timestamp = Math.floor(clock.now() / 1_000)
  const signature = sign({ id, timestamp, body }, [secret])
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature }
  return { headers, body }
}

/** For Slack, and for services that accept its messages. */
function toSlack(event: AlarmEvent, alarm: Alarm): string {
  const { severity, cause, first_aid: firstAid, runbook } = describeAlarm(alarm)
  const [kind, subject] = [escaped(alarm.kind), escaped(alarm.subject)]
  const title = event === 'raised' ? `[${severity}] ${kind}: ${subject}` : `[cleared] ${kind}: ${subject}`
  const facts = Object.entries(alarm.details).map(([name, value]) => `${name}: ${value}`)
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text: text.slice(0, 2_900) } })
  const blocks = [
    section(`*${title}*`),
    ...(event === 'raised' ? [section(escaped([cause, ...facts].join('\n'))), section(escaped(firstAid))] : []),
    { type: 'context', elements: [{ type: 'mrkdwn', text: `${alarm.id} · ${runbook}` }] },
  ]
  return JSON.stringify({ text: title, blocks })
}

/** Slack reads links and mentions between angle brackets, and clients choose some of the text. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

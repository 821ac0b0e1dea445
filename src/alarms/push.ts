import {
  type Alarm,
  type AlarmEvent,
  type AlarmReceiverName,
  type AlarmReceivers,
  describeAlarm,
  type UnsentAlarm,
} from '../core/alarms.ts'
import { openBell } from '../core/bell.ts'
import { type Clock, waitAtMost } from '../core/clock.ts'
import { type Outage, openOutage, openOutages } from '../core/outage.ts'
import { sign } from '../core/signature.ts'
import { graceMs } from '../core/timing.ts'
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
  readonly name: AlarmReceiverName
  post(event: AlarmEvent, alarm: Alarm): Promise<Posted>
  failures: number
  /** Nothing is sent to it before this time. */
  pausedUntil: number
  /** Alarms that it refused, and when each is sent again. */
  readonly refused: Map<string, { failures: number; until: number }>
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
const mostRefused = 1_000

/**
 * Sends the start and the end of each alarm to each receiver of the operator: at least once, under the same id. Receivers do
 * not wait for each other. A second start of the same kind and subject within 5 minutes waits; if the alarm ends before, it is
 * not sent.
 */
export function startAlarmPush(options: PushOptions): AsyncDisposable {
  const { clock, log } = options
  const [stop, cut] = [new AbortController(), new AbortController()]
  const receivers = receiversOf(options, cut.signal)
  const lines = { down: 'an alarm could not be sent; it is sent again', up: 'alarms are sent again' }
  const sending = openOutages({ log, clock, ...lines, level: 'warn' })
  // The store may be unavailable. Its own alarm is in another queue.
  const readLines = { down: 'alarms could not be read; they are sent later', up: 'alarms can be read again' }
  const reading = openOutage({ log, clock, ...readLines, level: 'warn' })

  async function run(receiver: Receiver): Promise<void> {
    const bell = openBell(clock)
    const stopListening = options.onChange(bell.ring)
    while (!stop.signal.aborted) {
      bell.mute()
      const isBusy = await sendAll(receiver, { ...options, sending, reading, stop: stop.signal }).catch((error) => {
        if (!stop.signal.aborted) reading.failed({ error })
        return false
      })
      const times = [receiver.pausedUntil, ...[...receiver.refused.values()].map(({ until }) => until)]
      const delays = times.map((time) => time - clock.now()).filter((delay) => delay > 0)
      if (!isBusy) await bell.wait(Math.min(idleMs, ...delays), stop.signal)
    }
    stopListening()
  }
  const running = Promise.all(receivers.map(run))
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await waitAtMost(graceMs, running, clock)
      cut.abort()
      await running
    },
  }
}

interface Tools extends Pick<PushOptions, 'queues' | 'clock' | 'hasFiles'> {
  sending: ReturnType<typeof openOutages>
  reading: Outage
  stop: AbortSignal
}

/** Returns whether something was sent, so that more may be waiting. */
async function sendAll(receiver: Receiver, tools: Tools): Promise<boolean> {
  const { queues, clock, hasFiles, reading, stop } = tools
  const mayNotSend = () => stop.aborted || !hasFiles() || clock.now() < receiver.pausedUntil
  if (mayNotSend()) return false
  let isBusy = false
  for (const queue of queues)
    for (const alarm of await queue.unsentAlarms(receiver.name, clock.now(), batch)) {
      if (mayNotSend()) return false
      if (await send(receiver, queue, alarm, tools)) isBusy = true
    }
  reading.worked()
  return isBusy
}

/** Sends one event of the alarm. False if it has to wait. */
async function send(receiver: Receiver, queue: AlarmQueue, found: UnsentAlarm, tools: Tools): Promise<boolean> {
  const { clock } = tools
  const now = clock.now()
  if ((receiver.refused.get(found.id)?.until ?? 0) > now) return false
  const verdict = await judge(receiver, queue, found, now)
  if (verdict === 'later') return false
  const claimedUntil = now + leaseMs
  const alarm = await queue.claimAlarm(receiver.name, found.id, now, claimedUntil)
  if (!alarm) return false
  // Another process may have sent its start since it was read.
  const event = alarm.raiseSentAt === null ? 'raised' : 'cleared'
  const isSkipped = event === 'cleared' ? alarm.raiseSentAt === 0 : verdict === 'skip'
  if (!isSkipped && !(await deliver(receiver, event, alarm, tools))) {
    // Otherwise the next try would wait for the end of the claim.
    const until = Math.min(claimedUntil, receiver.refused.get(alarm.id)?.until ?? receiver.pausedUntil)
    await queue.shortenAlarmClaim(receiver.name, alarm.id, claimedUntil, until)
    return false
  }
  await queue.recordAlarmSent(receiver.name, alarm.id, event, isSkipped ? 0 : clock.now())
  return true
}

async function deliver(
  receiver: Receiver,
  event: AlarmEvent,
  alarm: Alarm,
  { clock, sending }: Tools,
): Promise<boolean> {
  const posted = await receiver.post(event, alarm)
  if ('status' in posted && isAccepted(posted.status)) {
    receiver.failures = 0
    receiver.refused.delete(alarm.id)
    // One that is still refused has no end yet.
    if (receiver.refused.size === 0) sending.worked(receiver.name, { receiver: receiver.name })
    return true
  }
  const delay = 'status' in posted && isRefusal(posted.status) ? refuse(receiver, alarm, clock) : pause(receiver, clock)
  const { kind, subject } = alarm
  sending.failed(receiver.name, { receiver: receiver.name, kind, subject, ...posted, retryInMs: delay })
  return false
}

/** It may accept other alarms: this one must not stop them. */
const isRefusal = (status: number) => status >= 400 && status < 500 && status !== 408 && status !== 429

function delayAfter(failures: number): number {
  return Math.min(mostDelayMs, firstDelayMs * 2 ** (failures - 1))
}

function pause(receiver: Receiver, clock: Clock): number {
  receiver.failures += 1
  const delay = delayAfter(receiver.failures)
  receiver.pausedUntil = clock.now() + delay
  return delay
}

function refuse({ refused }: Receiver, { id }: Alarm, clock: Clock): number {
  const failures = (refused.get(id)?.failures ?? 0) + 1
  const delay = delayAfter(failures)
  const [oldest = ''] = refused.keys()
  if (refused.size >= mostRefused) refused.delete(oldest)
  refused.set(id, { failures, until: clock.now() + delay })
  return delay
}

/** Whether an event is not sent, or not yet. */
async function judge(
  { name }: Receiver,
  queue: AlarmQueue,
  { kind, subject, raiseSentAt, clearedAt }: UnsentAlarm,
  now: number,
): Promise<'send' | 'skip' | 'later'> {
  // Its start was not sent, so its end is not news.
  if (raiseSentAt !== null) return raiseSentAt === 0 ? 'skip' : 'send'
  if (clearedAt !== null && now - clearedAt > oldMs) return 'skip'
  const last = await queue.lastAlarmSent(name, kind, subject)
  if (last === 0 || Math.abs(now - last) >= flapMs) return 'send'
  return clearedAt === null ? 'later' : 'skip'
}

function receiversOf({ receivers: { webhook, slack }, outbound, clock }: PushOptions, cut: AbortSignal): Receiver[] {
  const opened = (name: Receiver['name'], url: string, toRequest: ToRequest): Receiver => ({
    name,
    failures: 0,
    pausedUntil: 0,
    refused: new Map(),
    post(event, alarm) {
      const { headers, body } = toRequest(event, alarm)
      return outbound.postTrusted(url, { headers: { 'content-type': 'application/json', ...headers }, body }, cut)
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

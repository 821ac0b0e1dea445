import type { AlarmBook } from '../alarms.ts'
import type { AccountView } from '../core/account.ts'
import { type AlarmDetails, type AlarmKind, alarmKindNames, alarmKinds } from '../core/alarms.ts'
import type { Catalog, ModelCard } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import type { AttemptFigure, Figures } from '../core/figures.ts'
import { openOutage } from '../core/outage.ts'
import type { PriceSettings } from '../core/prices.ts'
import { matchesGlob } from '../core/token.ts'
import { mostEndpoints } from '../core/webhook.ts'
import type { DeliveryStore, EndpointStore } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'

export interface LookOptions {
  alarms: AlarmBook
  store: Pick<EndpointStore, 'endpoints'> & Pick<DeliveryStore, 'deliveries'>
  /** Reads the health of the accounts, which processes share, and the figures of the store. */
  figures: (mostAgeMs: number) => Promise<Figures>
  accounts: ReadonlyMap<string, AccountView>
  catalog: Catalog
  prices: PriceSettings | null
  clock: Clock
  log: Log
  /** How long a task may be queued. */
  queueAgeMs: number
  /** How often it looks. */
  everyMs: number
  /** Parts that report faults by themselves when they are checked. */
  checks: readonly (() => unknown)[]
}

/** Most attempts are found again by then. */
const heldAfterMs = 3 * 60_000
/** Orphans and abandoned attempts stay in the store. Only new ones are an alarm. */
const orphansForMs = 24 * 3_600_000
const pricesForMs = 90 * 24 * 3_600_000

const accountKinds = ['account_key', 'account_credit', 'circuit_open'] as const
const isAccountKind = (kind: AlarmKind) => accountKinds.some((one) => one === kind)

/**
 * Looks at what is a state rather than an event, and clears alarms that nothing reports any more. Every process looks: the
 * reports of one kind and subject are one alarm, from any process.
 */
export function startAlarmLook(options: LookOptions): AsyncDisposable {
  const { alarms, clock, log, everyMs } = options
  const stop = new AbortController()
  let lookedAt = Number.NEGATIVE_INFINITY
  const lines = { down: 'alarms could not be checked; the check is repeated', up: 'alarms are checked again' }
  const outage = openOutage({ log, clock, ...lines, level: 'warn' })

  async function look(): Promise<void> {
    for (const check of options.checks) await check()
    await alarms.sync()
    const figures = await options.figures(everyMs)
    lookAtAccounts(options)
    lookAtAttempts(options, figures)
    lookAtQueues(options, figures)
    await lookAtEndpoints(options)
    lookAtModels(options)
    const now = clock.now()
    // After an outage or a stall, others had no time to report either: what is not seen may still be wrong.
    const isSteady = now >= lookedAt && now - lookedAt < 2 * everyMs + settleMs
    lookedAt = now
    if (!isSteady) return
    // What was just reported is written first.
    await alarms.sync()
    for (const kind of alarmKindNames)
      if (!alarmKinds[kind].isLocal && !isAccountKind(kind)) await alarms.clearUnseen(kind)
    clearRemovedAccounts(options)
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        await look()
        outage.worked()
      } catch (error) {
        if (!stop.signal.aborted) outage.failed({ error })
      }
      await clock.sleep(everyMs, stop.signal)
    }
  }
  const running = run()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

/** A look may take this long on a busy machine. */
const settleMs = 15_000

/** Raises these, and clears all others of the kind. Only for what every process on the store sees alike. */
function reconcile(alarms: AlarmBook, kind: AlarmKind, found: ReadonlyMap<string, AlarmDetails>): void {
  for (const [subject, details] of found) alarms.raise(kind, subject, details)
  for (const { subject } of alarms.active(kind)) if (!found.has(subject)) alarms.clear(kind, subject)
}

/**
 * The health of an account is shared through the store. A busy account needs no operator. Only an account that has worked
 * since is well again: another fault is no recovery, and a process that just started knows nothing.
 */
function lookAtAccounts({ accounts, alarms }: LookOptions): void {
  for (const { name, health } of accounts.values()) {
    const kind = alarmOf(health)
    const until = new Date(health.pausedUntil).toISOString()
    if (kind) alarms.raise(kind, name, { paused_until: until, failures: health.failures })
    if (health.reason === null && health.hasWorked) for (const one of accountKinds) alarms.clear(one, name)
  }
}

/** Nothing is sent to an account that was removed, so nothing can show that it works. */
function clearRemovedAccounts({ accounts, alarms, clock }: LookOptions): void {
  const now = clock.now()
  for (const kind of accountKinds)
    for (const { subject, lastSeen } of alarms.active(kind))
      if (!accounts.has(subject) && now - lastSeen > alarmKinds[kind].lastsMs) alarms.clear(kind, subject)
}

function alarmOf({ reason, isCredit }: AccountView['health']): (typeof accountKinds)[number] | null {
  if (reason === 'failing') return 'circuit_open'
  if (reason !== 'credentials') return null
  return isCredit ? 'account_credit' : 'account_key'
}

function lookAtAttempts({ alarms, accounts, clock }: LookOptions, { open, orphans, abandoned }: Figures): void {
  const now = clock.now()
  const held = open.filter(({ openedAt }) => now - openedAt >= heldAfterMs)
  reconcile(alarms, 'attempt_held', byAccount(held))
  // An account without a key gets no bill.
  const isFree = (name: string) => accounts.get(name)?.key?.isSet === false
  const isRecent = ({ openedAt, account }: AttemptFigure) => now - openedAt < orphansForMs && !isFree(account)
  const costly = [...orphans, ...abandoned].filter(isRecent).sort((one, other) => other.openedAt - one.openedAt)
  reconcile(alarms, 'orphan_cost', byAccount(costly))
}

function byAccount(attempts: readonly AttemptFigure[]): Map<string, AlarmDetails> {
  const groups = Map.groupBy(attempts, ({ account }) => account)
  return new Map([...groups].map(([account, of]) => [account, { attempts: of.length, task: of[0]?.task ?? null }]))
}

function lookAtQueues({ alarms, clock, queueAgeMs }: LookOptions, { queues }: Figures): void {
  const now = clock.now()
  const old = new Map<string, AlarmDetails>()
  for (const { card, oldestAt } of queues)
    if (oldestAt !== null && now - oldestAt >= queueAgeMs) old.set(card, { oldest: new Date(oldestAt).toISOString() })
  reconcile(alarms, 'queue_old', old)
}

/** An endpoint that was deleted, or enabled again, is not dead. One that only failed is, until it accepts an event. */
async function lookAtEndpoints({ alarms, store }: LookOptions): Promise<void> {
  for (const { subject, details, lastSeen } of alarms.active('endpoint_dead')) {
    const owner = String(details.owner)
    const endpoints = await store.endpoints(owner, { limit: mostEndpoints })
    const disabled = endpoints.filter(({ disabledAt }) => disabledAt !== null)
    const [last] = disabled.toSorted((one, other) => Number(other.disabledAt) - Number(one.disabledAt))
    if (last) {
      const named = { owner, host: URL.parse(last.url)?.host ?? '', endpoint: last.id }
      alarms.raise('endpoint_dead', subject, { ...named, disabled: true, endpoints: disabled.length })
      continue
    }
    const failing = details.disabled === true ? undefined : endpoints.find(({ id }) => id === details.endpoint)
    const [accepted] = failing ? await store.deliveries(failing.id, { state: 'delivered', limit: 1 }) : []
    if (!failing || (accepted?.endedAt ?? 0) > lastSeen) alarms.clear('endpoint_dead', subject)
  }
}

function lookAtModels({ alarms, catalog, prices, clock }: LookOptions): void {
  const now = clock.now()
  const cards = new Set([...catalog.entries.values()].map(({ card }) => card))
  for (const { id, retiresOn } of cards)
    if (retiresOn !== undefined && Date.parse(retiresOn) <= now)
      alarms.raise('model_retired', id, { retires_on: retiresOn })
  const stale = new Map<string, AlarmDetails>()
  for (const card of cards) {
    const on = priceDateOf(card, prices)
    if (on !== null && now - Date.parse(on) > pricesForMs) stale.set(card.ownedBy, { model: card.id, prices_of: on })
  }
  reconcile(alarms, 'price_stale', stale)
}

/** The date of the catalogue's price, if videos are charged by it. */
function priceDateOf({ id, facts }: ModelCard, prices: PriceSettings | null): string | null {
  const hasOwnCost = prices?.rules.some(({ model, cost }) => cost !== undefined && matchesGlob(model, id))
  return prices === null || hasOwnCost ? null : (facts?.price?.on ?? null)
}

import type { AccountView } from '../core/account.ts'
import type { Catalog } from '../core/catalog.ts'
import { type AttemptFigure, type Figures, isHeldAttempt, tasksByState } from '../core/figures.ts'
import { isPaused, pauseReasons } from '../core/health.ts'
import { fromMicros } from '../core/money.ts'
import { type Family, families } from './families.ts'
import { type Instruments, type Sample, toSamples } from './instruments.ts'
import type { LabelNames } from './labels.ts'

/** All scrapes within this time get the same figures. */
export const freshMs = 5_000

interface FigureSources {
  readonly catalog: Catalog
  /** The accounts that this process shows. */
  readonly accounts: () => ReadonlyMap<string, AccountView>
  readonly names: LabelNames
  readonly now: () => number
  /** Undefined if the store can't be read. */
  readonly figures: () => Promise<Figures | undefined>
}

/** One read for all callers within a few seconds. Undefined if it failed. */
export function shareReads<Found>(read: () => Promise<Found>, now: () => number): () => Promise<Found | undefined> {
  let last: { at: number; isOpen: boolean; found: Promise<Found | undefined> } | undefined
  return () => {
    // The clock may have been set back.
    if (last && (last.isOpen || Math.abs(now() - last.at) < freshMs)) return last.found
    const begun = { at: now(), isOpen: true, found: read().catch(() => undefined) }
    void begun.found.then(() => {
      begun.isOpen = false
    })
    last = begun
    return begun.found
  }
}

/** What is read from the store at a scrape. */
export function addFigures({ sampled }: Pick<Instruments, 'sampled'>, sources: FigureSources): void {
  const { names, now, figures } = sources
  const add: Add = (family, read) =>
    sampled(family, async () => {
      const found = await figures()
      return found ? read(found) : []
    })
  /** With 0 for each account that has none. */
  const byAccount = (found: readonly AttemptFigure[]) =>
    toSamples('account', [
      ...[...sources.accounts().keys()].map((name) => [names.account(name), 0] as const),
      ...found.map(({ account }) => [names.account(account), 1] as const),
    ])
  const byCurrency = (found: readonly AttemptFigure[]) =>
    toSamples(
      'currency',
      found.flatMap(({ cost, currency }) => (currency === null ? [] : [[currency, fromMicros(cost ?? 0)] as const])),
    )
  const held = ({ open }: Figures) => open.filter((attempt) => isHeldAttempt(attempt, now()))

  sampled(families.storeUp, async () => [{ value: (await figures()) ? 1 : 0 }])
  add(families.tasks, (found) => toSamples('state', Object.entries(tasksByState(found))))
  addQueues(add, sources)
  add(families.attemptsHeld, (found) => byAccount(held(found)))
  add(families.moneyAtRisk, (found) => byCurrency(held(found)))
  add(families.orphans, ({ orphans }) => byAccount(orphans))
  add(families.orphanCost, ({ orphans }) => byCurrency(orphans))
  add(families.deliveriesWaiting, ({ pendingDeliveries }) => [{ value: pendingDeliveries }])
  addSlots(add, sources)
}

type Add = (family: Family, read: (found: Figures) => Sample[]) => void

function addQueues(add: Add, { catalog, names, now }: FigureSources): void {
  const models = () => [...new Set([...catalog.entries.values()].map(({ card }) => card.id))]
  add(families.queueTasks, ({ queues }) =>
    toSamples('model', [
      ...models().map((model) => [model, 0] as const),
      ...queues.map(({ card, tasks }) => [names.model(card), tasks] as const),
    ]),
  )
  add(families.queueOldest, ({ queues }) => {
    const oldest = new Map(models().map((model) => [model, 0]))
    for (const { card, oldestAt } of queues) {
      const waits = oldestAt === null ? 0 : Math.max(0, now() - oldestAt) / 1_000
      oldest.set(names.model(card), Math.max(waits, oldest.get(names.model(card)) ?? 0))
    }
    return [...oldest].map(([model, value]) => ({ labels: { model }, value }))
  })
}

function addSlots(add: Add, { accounts, names }: FigureSources): void {
  const byAccount = ({ slots }: Figures, toValue: (used: number, concurrency: number) => number) =>
    toSamples(
      'account',
      slots.flatMap(({ account, used }) => {
        const { concurrency } = accounts().get(account) ?? {}
        return concurrency === undefined ? [] : [[names.account(account), toValue(used, concurrency)] as const]
      }),
    )
  add(families.slotsUsed, (found) => byAccount(found, (used) => used))
  add(families.slotsFree, (found) => byAccount(found, (used, concurrency) => Math.max(0, concurrency - used)))
}

const accountStates = ['active', 'draining', 'paused', 'credit', ...pauseReasons] as const

/** The health of accounts. It needs no store: other processes report theirs through the figures. */
export function addAccounts({ sampled }: Pick<Instruments, 'sampled'>, sources: FigureSources): void {
  const { names, now, figures } = sources
  const add = (family: Family, read: (account: AccountView, labels: { account: string }) => Sample[]) =>
    sampled(family, async () => {
      await figures()
      const shown = [...sources.accounts().values()]
      return shown.flatMap((account) => read(account, { account: names.account(account.name) }))
    })
  add(families.accountState, (account, labels) => {
    const current = stateOf(account, now())
    return accountStates.map((state) => ({ labels: { ...labels, state }, value: Number(state === current) }))
  })
  add(families.accountPausedUntil, ({ health }, labels) => [
    { labels, value: isPaused(health, now()) ? health.pausedUntil / 1_000 : 0 },
  ])
  add(families.accountFailures, ({ health }, labels) => [{ labels, value: health.failures }])
}

/** What an operator decided comes before the health. */
function stateOf({ mode = 'active', health }: AccountView, now: number): (typeof accountStates)[number] {
  if (mode !== 'active') return mode
  if (!isPaused(health, now)) return 'active'
  return health.isCredit ? 'credit' : (health.reason ?? 'active')
}

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { AccountRegistry } from '../accounts.ts'
import { addressOf } from '../core/account.ts'
import type { CardTemplate, Catalog, ModelCard } from '../core/catalog.ts'
import { addModel, removeModel, toCard } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import { openOutages } from '../core/outage.ts'
import { Problem } from '../core/problem.ts'
import type { Cards } from '../providers/provider.ts'
import type { Log } from '../telemetry/log.ts'
import type { Account } from '../workers/worker.ts'

interface DiscoveryOptions {
  /** Discovered models are added. They stay as long as one of their accounts exists. */
  catalog: Catalog
  accounts: Pick<AccountRegistry, 'all' | 'onChange'>
  clock: Clock
  log: Log
  /** Keeps the discovered models: after a restart, a client may be faster than an engine. */
  file: string
}

/** By account and address: at another address an account has other models. */
type Discovered = Readonly<Record<string, Cards>>

/** For all engines together: an engine that invents names must not fill the memory. */
const mostModels = 2_000
const retryMs = 5_000
const refreshMs = 60_000
/** How long a start waits for the engines. Those that are not up yet are requested again later. */
const firstReadMs = 2_000

/**
 * Lists the models of every account whose provider can: at the start, when an account is added or gets another address, and
 * once a minute.
 */
export async function openDiscovery({
  catalog,
  accounts,
  clock,
  log,
  file,
}: DiscoveryOptions): Promise<AsyncDisposable> {
  const stop = new AbortController()
  /** Models that were discovered, not declared: another account with the same model becomes one more route. */
  const discovered = new Map<string, ModelCard>()
  /** An operator may declare a model of the same name meanwhile. */
  const isOwn = (card: ModelCard | undefined) => card !== undefined && discovered.get(card.id) === card

  /** The place of each account whose models are listed, and what ends that. */
  const listed = new Map<string, { place: string; end: AbortController }>()
  const running = new Set<Promise<void>>()
  let kept = readKept(file)
  const lines = { down: 'the models of an engine could not be listed', up: 'the models of an engine are listed again' }
  const outages = openOutages({ log, clock, ...lines, level: 'warn' })

  const currentPlace = (name: string) => {
    const account = accounts.all.get(name)
    return account && placeOf(account)
  }
  const put = (card: ModelCard) => {
    discovered.set(card.id, card)
    addModel(catalog, card)
  }
  /** An account that is removed, or has another address, can't generate its models any more. */
  const forgetStale = () => {
    for (const [name, { place, end }] of listed)
      if (currentPlace(name) !== place) {
        end.abort()
        listed.delete(name)
      }
    for (const [id, card] of discovered) {
      const routes = card.routes.filter(({ account }) => listed.has(account))
      if (routes.length === card.routes.length) continue
      const isListed = isOwn(catalog.entries.get(id)?.card)
      discovered.delete(id)
      if (routes.length > 0 && isListed) put({ ...card, routes })
      else if (isListed) removeModel(catalog, id)
    }
  }

  const add = (template: CardTemplate, account: string) => {
    const { id, upstreamModel } = template
    const known = catalog.entries.get(id)?.card
    if (!known && discovered.size >= mostModels) return
    if (known && (!isOwn(known) || known.routes.some((route) => route.account === account))) return
    const card: ModelCard = known
      ? { ...known, routes: [...known.routes, { account, upstreamModel, priority: 0, weight: 1 }] }
      : { ...toCard(template, [account]), ownedBy: account }
    put(card)
    log.info('a model was found', { model: id, account })
  }

  /** Models of accounts that are gone are not kept. */
  const keep = (place: string, cards: Cards) => {
    const places = new Set([...accounts.all.values()].map(placeOf))
    const current = Object.entries(kept).filter(([one]) => places.has(one))
    kept = save(file, { ...Object.fromEntries(current), [place]: cards }, kept)
  }

  /** Whether it succeeded. */
  async function discover(account: Account): Promise<boolean> {
    const { name, provider, upstream, credential } = account
    if (!provider.discover || !upstream || account.mode === 'paused') return true
    const place = placeOf(account)
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)])
    const call = { ...upstream, signal, credential, attemptId: '', now: () => clock.now() }
    try {
      const cards = await provider.discover(call)
      // It may have been removed, or have another address by now.
      if (currentPlace(name) !== place) return true
      for (const card of cards) add(card, name)
      keep(place, cards)
      outages.worked(place, { account: name })
      return true
    } catch (error) {
      if (!stop.signal.aborted) outages.failed(place, { account: name, why: reasonOf(error) })
      return false
    }
  }

  /** Until the account is removed, or has another address. */
  async function repeat(name: string, first: Promise<boolean>, ended: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stop.signal, ended])
    let succeeded = await first
    for (;;) {
      await clock.sleep(succeeded ? refreshMs : retryMs, signal)
      const account = accounts.all.get(name)
      if (signal.aborted || !account) return
      succeeded = await discover(account)
    }
  }

  /** Starts with the accounts that are new, and returns the results of their first requests. */
  function startNew(): Promise<boolean>[] {
    const fresh = [...accounts.all.values()].filter(({ name, provider }) => provider.discover && !listed.has(name))
    return (stop.signal.aborted ? [] : fresh).map((account) => {
      const { name } = account
      const end = new AbortController()
      listed.set(name, { place: placeOf(account), end })
      for (const card of kept[placeOf(account)] ?? []) add(card, name)
      const first = discover(account)
      const repeating: Promise<void> = repeat(name, first, end.signal).finally(() => running.delete(repeating))
      running.add(repeating)
      return first
    })
  }

  accounts.onChange(() => {
    forgetStale()
    void startNew()
  })
  await Promise.race([Promise.all(startNew()), clock.sleep(firstReadMs, stop.signal)])
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all(running)
    },
  }
}

function placeOf({ name, keyVersion }: Pick<Account, 'name' | 'keyVersion'>): string {
  return `${name} ${addressOf(keyVersion)}`
}

/** An unreadable file loses nothing: the engines list their models again. */
function readKept(file: string): Discovered {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as Discovered | null) ?? {}
  } catch {
    return {}
  }
}

/** By a rename, because the process may be killed in the middle. A full disk must not count as a failure of the engine. */
function save(file: string, models: Discovered, before: Discovered): Discovered {
  if (isDeepStrictEqual(models, before)) return before
  try {
    writeFileSync(`${file}.new`, JSON.stringify(models))
    renameSync(`${file}.new`, file)
    return models
  } catch {
    return before
  }
}

/** The message of a problem is for clients, its cause for the operator. */
function reasonOf(error: unknown): string {
  const { message, cause } = Problem.from(error)
  return cause instanceof Error ? cause.message : message
}

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { AccountRegistry } from '../accounts.ts'
import type { CardTemplate, Catalog, ModelCard } from '../core/catalog.ts'
import { toCard } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import { Problem } from '../core/problem.ts'
import type { Cards } from '../providers/provider.ts'
import type { Log } from '../telemetry/log.ts'
import type { Account } from '../workers/worker.ts'

interface DiscoveryOptions {
  /** Grows by the models that are found. None is ever taken away: tasks of it may be in work. */
  catalog: Catalog
  accounts: Pick<AccountRegistry, 'all' | 'onChange'>
  clock: Clock
  log: Log
  /** Where what was found is kept: after a restart an engine may be slower than the first client. */
  file: string
}

/** By account. */
type Found = Readonly<Record<string, Cards>>

/** Of all engines together: one that makes up names must not fill the memory. */
const mostFound = 2_000
const retryMs = 5_000
const refreshMs = 60_000
/** How long a start waits for engines that are up. Those that are not are asked again. */
const patienceMs = 2_000

/** Asks the accounts that can be asked for their models: at the start, when an account is added, and then again and again. */
export async function openDiscovery({
  catalog,
  accounts,
  clock,
  log,
  file,
}: DiscoveryOptions): Promise<AsyncDisposable> {
  const stop = new AbortController()
  /** Models that were found, not configured: an account that has one as well is one more way to it. */
  const found = new Set<string>()

  /** Of whom it was said already that they do not answer. */
  const silent = new Set<string>()

  const add = (template: CardTemplate, account: string) => {
    const { id, upstreamModel } = template
    const known = catalog.entries.get(id)?.card
    if (!known && found.size >= mostFound) return
    if (known && (!found.has(id) || known.routes.some((route) => route.account === account))) return
    const card: ModelCard = known
      ? { ...known, routes: [...known.routes, { account, upstreamModel, priority: 0, weight: 1 }] }
      : { ...toCard(template, [account]), ownedBy: account }
    found.add(id)
    catalog.entries.set(id, { name: id, card })
    log.info('a model was found', { model: id, account })
  }

  async function ask(account: Account): Promise<boolean> {
    const { provider, upstream, credential } = account
    if (!provider.discover || !upstream) return true
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)])
    const call = { ...upstream, signal, credential, attemptId: '', now: () => clock.now() }
    try {
      const cards = await provider.discover(call)
      for (const card of cards) add(card, account.name)
      kept = keep(file, { ...kept, [account.name]: cards }, kept)
      silent.delete(account.name)
      return true
    } catch (error) {
      if (!stop.signal.aborted && !silent.has(account.name))
        log.warn('an engine does not tell its models', { account: account.name, why: whyOf(error) })
      silent.add(account.name)
      return false
    }
  }

  /** Until the account is removed. */
  async function keepAsking(name: string, first: Promise<boolean>): Promise<void> {
    let answered = await first
    for (;;) {
      await clock.sleep(answered ? refreshMs : retryMs, stop.signal)
      const account = accounts.all.get(name)
      if (stop.signal.aborted || !account) break
      answered = await ask(account)
    }
    asking.delete(name)
  }

  /** The first answers of the accounts that are not asked yet. */
  function askNew(): Promise<boolean>[] {
    const fresh = [...accounts.all.values()].filter(({ name, provider }) => provider.discover && !asking.has(name))
    return (stop.signal.aborted ? [] : fresh).map((account) => {
      for (const card of kept[account.name] ?? []) add(card, account.name)
      const answered = ask(account)
      asking.set(account.name, keepAsking(account.name, answered))
      return answered
    })
  }

  let kept = readKept(file)
  const asking = new Map<string, Promise<void>>()
  accounts.onChange(askNew)
  await Promise.race([Promise.all(askNew()), clock.sleep(patienceMs, stop.signal)])
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all(asking.values())
    },
  }
}

/** What can't be read is asked for again, and so is nothing lost. */
function readKept(file: string): Found {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as Found | null) ?? {}
  } catch {
    return {}
  }
}

/** Whole or not at all: a process may be killed in the middle. A disk that is full is no fault of an engine's. */
function keep(file: string, found: Found, before: Found): Found {
  if (isDeepStrictEqual(found, before)) return before
  try {
    writeFileSync(`${file}.new`, JSON.stringify(found))
    renameSync(`${file}.new`, file)
    return found
  } catch {
    return before
  }
}

/** The message of a problem is for clients; behind it is what was seen. */
function whyOf(error: unknown): string {
  const { message, cause } = Problem.from(error)
  return cause instanceof Error ? cause.message : message
}

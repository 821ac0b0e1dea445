import type { Deadlines } from '../core/catalog.ts'
import type { Route } from '../core/routing.ts'
import type { Member } from '../providers/index.ts'
import type { Accounts } from './accounts.ts'
import { parseDuration } from './duration.ts'
import type { Mistakes } from './mistakes.ts'

/** Those that may make a model. */
export interface Makers {
  accounts: Accounts
  members: Readonly<Record<string, Member>>
}

/** What a model is called where a route does not say it. */
export interface Named {
  model: string
  /** Where filmgate.yaml says so, if it does. */
  where: string | null
}

/** `routes: [{account, model, priority, weight}]`: the ways to get a model made. */
export function readRoutes(where: string, given: unknown, usual: Named, makers: Makers, mistakes: Mistakes): Route[] {
  if (!Array.isArray(given) || given.length === 0) {
    mistakes.add(where, 'it is not a list of routes', 'write for example [{account: main, model: name}]')
    return []
  }
  const routes = given.map((value, at) => readRoute(`${where}[${at}]`, value, usual, makers, mistakes))
  const names = routes.map(({ account }) => account).filter((account) => account !== '')
  if (new Set(names).size < names.length)
    mistakes.add(where, 'two routes go to the same account', 'give each account one route')
  return routes
}

function readRoute(where: string, value: unknown, usual: Named, makers: Makers, mistakes: Mistakes): Route {
  const entry = mistakes.mapAt(where, value)
  mistakes.keysOf(where, entry, ['account', 'model', 'priority', 'weight'])
  const { priority = 0, weight = 1 } = entry
  if (!Number.isInteger(priority)) mistakes.add(`${where}.priority`, 'it is not a whole number', 'lower goes first')
  if (!Number.isFinite(weight) || Number(weight) <= 0)
    mistakes.add(`${where}.weight`, 'it is not a number above 0', 'leave it out for 1')
  const account = readAccount(`${where}.account`, entry.account, makers.accounts, mistakes)
  const named = readNamed(`${where}.model`, entry.model, usual, mistakes)
  return {
    account,
    upstreamModel: toUpstreamModel(`${where}.model`, named, account, makers, mistakes),
    priority: priority as number,
    weight: weight as number,
  }
}

/** The name of an account that is there, or nothing after reporting that it is not. */
export function readAccount(where: string, given: unknown, { list, unclear }: Accounts, mistakes: Mistakes): string {
  if (typeof given === 'string' && (unclear.has(given) || list.some(({ name }) => name === given))) return given
  const known = list.length > 0 ? `use one of: ${list.map(({ name }) => name).join(', ')}` : 'configure one'
  mistakes.addUnknown(where, given, known, (quoted) => `there is no account ${quoted}`)
  return ''
}

export function readNamed(where: string, given: unknown, usual: Named, mistakes: Mistakes): Named {
  if (given === undefined || given === null) return usual
  if (typeof given === 'string' && given !== '') return { model: given, where }
  mistakes.add(where, 'it is not text', 'write in quotes what the provider or the catalogue calls the model')
  return usual
}

/**
 * What the account's provider calls the model, by that name or by the catalogue's. A name that it does not know would
 * fail only when a task needs this route.
 */
export function toUpstreamModel(
  where: string,
  named: Named,
  account: string,
  { accounts, members }: Makers,
  mistakes: Mistakes,
): string {
  const { model } = named
  const provider = accounts.list.find(({ name }) => name === account)?.provider ?? ''
  const member = Object.hasOwn(members, provider) ? members[provider] : undefined
  if (!member) return model
  const { cards, unlisted, otherNames } = member
  const card = cards.find((one) => one.upstreamModel === model) ?? cards.find(({ id }) => id === model)
  if (card) return card.upstreamModel
  if (unlisted || otherNames?.test(model)) return model
  const others = otherNames ? ', or what it calls another of its models itself' : ''
  const fix = `use one of: ${cards.map(({ id }) => id).join(', ')}${others}`
  mistakes.addUnknown(named.where ?? where, model, fix, (quoted) => `'${provider}' has no model ${quoted}`)
  return model
}

/** `deadlines: {start: 1h, total: 6h}`. */
export function readDeadlines(
  where: string,
  given: Record<string, unknown>,
  base: Deadlines,
  mistakes: Mistakes,
): Deadlines {
  mistakes.keysOf(where, given, ['start', 'total'])
  const read = (name: 'start' | 'total') => {
    const text = given[name]
    if (text === undefined) return undefined
    const ms = typeof text === 'string' ? parseDuration(text) : undefined
    if (ms === undefined)
      mistakes.add(`${where}.${name}`, 'it is no time', 'use a number and a unit: 90s, 30m, 24h, 7d')
    return ms
  }
  const start = read('start')
  const totalMs = read('total') ?? base.totalMs
  if (start !== undefined && start > totalMs)
    mistakes.add(`${where}.start`, 'it is later than the end', 'make it shorter than total')
  return { startMs: Math.min(start ?? base.startMs, totalMs), totalMs }
}

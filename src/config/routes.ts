import type { Deadlines } from '../core/catalog.ts'
import type { Route } from '../core/routing.ts'
import type { Accounts } from './accounts.ts'
import { parseDuration } from './duration.ts'
import type { Mistakes } from './mistakes.ts'

/** `routes: [{account, model, priority, weight}]`: the ways to get a model made. */
export function readRoutes(
  where: string,
  given: unknown,
  upstreamModel: string,
  accounts: Accounts,
  mistakes: Mistakes,
): Route[] {
  if (!Array.isArray(given) || given.length === 0) {
    mistakes.add(where, 'it is not a list of routes', 'write for example [{account: main, model: name}]')
    return []
  }
  const routes = given.map((value, at) => readRoute(`${where}[${at}]`, value, upstreamModel, accounts, mistakes))
  const names = routes.map(({ account }) => account).filter((account) => account !== '')
  if (new Set(names).size < names.length)
    mistakes.add(where, 'two routes go to the same account', 'give each account one route')
  return routes
}

function readRoute(
  where: string,
  value: unknown,
  upstreamModel: string,
  accounts: Accounts,
  mistakes: Mistakes,
): Route {
  const entry = mistakes.mapAt(where, value)
  mistakes.keysOf(where, entry, ['account', 'model', 'priority', 'weight'])
  const { priority = 0, weight = 1 } = entry
  if (!Number.isInteger(priority)) mistakes.add(`${where}.priority`, 'it is not a whole number', 'lower goes first')
  if (!Number.isFinite(weight) || Number(weight) <= 0)
    mistakes.add(`${where}.weight`, 'it is not a number above 0', 'leave it out for 1')
  return {
    account: readAccount(`${where}.account`, entry.account, accounts, mistakes),
    upstreamModel: readUpstreamModel(`${where}.model`, entry.model, upstreamModel, mistakes),
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

export function readUpstreamModel(where: string, given: unknown, fallback: string, mistakes: Mistakes): string {
  if (given === undefined || given === null) return fallback
  if (typeof given === 'string' && given !== '') return given
  mistakes.add(where, 'it is not text', 'write in quotes what the provider calls the model')
  return fallback
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

import type { Deadlines } from '../core/catalog.ts'
import type { Route } from '../core/routing.ts'
import { parseDuration } from './duration.ts'
import type { Mistakes } from './mistakes.ts'

/** `routes: [{account, model, priority, weight}]`: the ways to get a model made. */
export function readRoutes(
  where: string,
  given: unknown,
  fallback: readonly Route[],
  accounts: readonly string[],
  mistakes: Mistakes,
): readonly Route[] {
  if (given === undefined || given === null) return fallback
  if (!Array.isArray(given) || given.length === 0) {
    mistakes.add(where, 'it is not a list of routes', 'write for example [{account: main, model: name}]')
    return fallback
  }
  const routes = given.map((value, at) => readRoute(`${where}[${at}]`, value, fallback, accounts, mistakes))
  if (new Set(routes.map(({ account }) => account)).size < routes.length)
    mistakes.add(where, 'two routes go to the same account', 'give each account one route')
  return routes
}

function readRoute(
  where: string,
  value: unknown,
  fallback: readonly Route[],
  accounts: readonly string[],
  mistakes: Mistakes,
): Route {
  const entry = mistakes.mapAt(where, value)
  mistakes.keysOf(where, entry, ['account', 'model', 'priority', 'weight'])
  const { account, model = fallback[0]?.upstreamModel, priority = 0, weight = 1 } = entry
  if (typeof account !== 'string' || !accounts.includes(account))
    mistakes.add(`${where}.account`, `there is no account '${account}'`, `use one of: ${accounts.join(', ')}`)
  if (typeof model !== 'string') mistakes.add(`${where}.model`, 'it is not text', 'write it in quotes')
  if (!Number.isInteger(priority)) mistakes.add(`${where}.priority`, 'it is not a whole number', 'lower goes first')
  if (typeof weight !== 'number' || !(weight > 0))
    mistakes.add(`${where}.weight`, 'it is not a number above 0', 'leave it out for 1')
  return { account: String(account), upstreamModel: String(model), priority: Number(priority), weight: Number(weight) }
}

/** `deadlines: {start: 1h, total: 6h}`. */
export function readDeadlines(
  where: string,
  given: Record<string, unknown>,
  base: Deadlines,
  mistakes: Mistakes,
): Deadlines {
  mistakes.keysOf(where, given, ['start', 'total'])
  const read = (name: 'start' | 'total', fallback: number) => {
    if (given[name] === undefined) return fallback
    const ms = parseDuration(String(given[name]))
    if (ms === undefined)
      mistakes.add(`${where}.${name}`, 'it is no time', 'use a number and a unit: 90s, 30m, 24h, 7d')
    return ms ?? fallback
  }
  return { startMs: read('start', base.startMs), totalMs: read('total', base.totalMs) }
}

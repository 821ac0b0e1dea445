import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Config } from './config.ts'
import { localName } from './core/account.ts'
import type { ModelCard } from './core/catalog.ts'
import type { Random } from './core/clock.ts'
import { Problem } from './core/problem.ts'
import type { Member } from './providers/index.ts'

/** Accounts whose provider is this process itself are its own, where it shares a store with others. */
export function localise(config: Config, members: Readonly<Record<string, Member>>, process: string): Config {
  const own = config.accounts.filter(({ provider }) => members[provider]?.needsNothing).map(({ name }) => name)
  const named = (name: string) => (own.includes(name) ? localName(name, process) : name)
  const entries = [...config.catalog.entries.values()]
  // Once for each card: its aliases share it.
  const cards = new Map(entries.map(({ card }) => [card, withRoutes(card, named)]))
  return {
    ...config,
    accounts: config.accounts.map((account) => ({ ...account, name: named(account.name) })),
    catalog: {
      ...config.catalog,
      entries: new Map(entries.map((entry) => [entry.name, { ...entry, card: cards.get(entry.card) ?? entry.card }])),
    },
  }
}

function withRoutes(card: ModelCard, named: (account: string) => string): ModelCard {
  return { ...card, routes: card.routes.map((route) => ({ ...route, account: named(route.account) })) }
}

/**
 * The same for as long as the data folder: what is in it belongs to the process with that name. Where it can't be kept, on a
 * full or read-only disk, it is this process's only, and nothing else is kept there either.
 */
export function identityOf(file: string, random: Random): string {
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (kept !== '') return kept
  const name = Buffer.from(random(6)).toString('hex')
  try {
    // Whole or not at all: half a name would be another's.
    writeFileSync(`${file}.new`, name, { flush: true })
    renameSync(`${file}.new`, file)
  } catch (error) {
    rmSync(`${file}.new`, { force: true })
    if (Problem.from(error).code !== 'storage_unavailable') throw error
  }
  return name
}

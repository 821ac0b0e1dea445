import { isDeepStrictEqual } from 'node:util'
import type { AccountRegistry } from '../accounts.ts'
import type { AccountConfig } from '../config/accounts.ts'
import type { Combined, Combining, DeclaredSettings } from '../config/declared.ts'
import { type Catalog, type CatalogEntry, replaceDeclared } from '../core/catalog.ts'
import type { Clock } from '../core/clock.ts'
import { type Declaration, type DeclarationKind, declarationId } from '../core/declaration.ts'
import { follow } from '../core/follow.ts'
import { type OutageLog, openOutage } from '../core/outage.ts'
import { Problem } from '../core/problem.ts'
import type { DeclarationStore } from '../stores/store.ts'

/**
 * The accounts, models and aliases that operators declared while the service runs. Those that are in force are part of
 * the registry of accounts and of the catalogue.
 */
export interface Declared {
  /** Those that are not removed, by name. */
  all(kind: DeclarationKind): readonly Declaration[]
  /** Also if it is removed. */
  find(kind: DeclarationKind, name: string): Declaration | undefined
  /** Whether the configuration has this name, which wins. */
  isConfigured(kind: DeclarationKind, name: string): boolean
  /** Why it is not in force; null if it is. */
  whyUnused(declaration: Declaration): string | null
  /** Throws `invalid_value` if it, or what depends on it, could not be in force then. */
  check(declaration: Declaration): void
  /** The models that could not be generated any more without it. */
  modelsWithout(declaration: Declaration): string[]
  /** The settings of an account that is in force, configured or declared. */
  configOf(account: string): AccountConfig | undefined
  /** Puts the rows of the store in force, before it resolves. Older ones than those that are known are ignored. */
  adopt(rows: readonly Declaration[]): Promise<void>
  /** The last revision that was adopted. */
  newest(): number
  /** Runs one change after the other: what the first has put in force is checked with the second. */
  inTurn<Result>(change: () => Promise<Result>): Promise<Result>
}

interface DeclaredOptions {
  combining: Combining
  /** What the configuration has, as it is in the registry and in the catalogue. */
  configured: Pick<Combined, 'accounts' | 'catalog'>
  /** Gives accounts of this process names of their own, if processes share the store. */
  localise: (combined: Combined) => Combined
  accounts: Pick<AccountRegistry, 'change'>
  catalog: Catalog
  /** Keeps these secrets out of the log. */
  hide: (secrets: readonly string[]) => void
  warn: (event: string, fields: Record<string, unknown>) => void
}

const order: readonly DeclarationKind[] = ['account', 'model', 'alias']

/** Each change checks all of them. */
const mostDeclarations = 1_000

export function openDeclared(options: DeclaredOptions): Declared {
  const { combining, catalog, hide, warn } = options
  const rows = new Map<string, Declaration>()
  /** By id, why it is not in force. */
  let unused = new Map<string, string>()
  const { apply, configOf, isDeclared } = openApply(options)
  let applying = Promise.resolve()
  let lastChange: Promise<unknown> = Promise.resolve()

  const present = () =>
    [...rows.values()]
      .filter(({ removedAt }) => removedAt === null)
      .toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || (a.name < b.name ? -1 : 1))
  const isInForce = (one: Declaration) => !unused.has(declarationId(one))
  const othersThan = (id: string) => present().filter((one) => isInForce(one) && declarationId(one) !== id)

  async function putInForce(): Promise<void> {
    const settled = settle(present(), combining)
    const stored = [...rows.values()].flatMap(({ key }) => key ?? [])
    // A key of several lines is used as one line.
    const used = settled.combined.accounts.flatMap(({ credential }) => credential ?? [])
    hide([...new Set([...stored, ...used])])
    for (const [id, why] of settled.unused)
      if (unused.get(id) !== why) warn('a declaration is not in force', { declaration: id, why })
    unused = settled.unused
    await apply(settled.combined, settled.used)
  }

  return {
    all: (kind) => present().filter((one) => one.kind === kind),
    find: (kind, name) => rows.get(declarationId({ kind, name })),
    isConfigured: combining.isConfigured,
    configOf,
    whyUnused: (declaration) => unused.get(declarationId(declaration)) ?? null,
    check(declaration) {
      const known = rows.get(declarationId(declaration))
      const isNew = declaration.removedAt === null && (known === undefined || known.removedAt !== null)
      if (isNew && present().length >= mostDeclarations) throw tooMany(declaration)
      const others = othersThan(declarationId(declaration))
      const wanted = declaration.removedAt === null ? [...others, declaration] : others
      const [mistake] = combining.combine(toSettings(wanted)).mistakes
      if (mistake !== undefined) throw refusal(declaration, mistake)
    },
    modelsWithout(declaration) {
      const { name: removed, kind } = declaration
      const left = combining.combine(toSettings(othersThan(declarationId(declaration)))).catalog.entries
      const isLost = ({ name, card }: CatalogEntry) => {
        if (isDeclared(name)) return !left.has(name)
        // It was discovered.
        return kind === 'account' && card.routes.every(({ account }) => account === removed)
      }
      const models = [...catalog.entries.values()].filter((entry) => entry.name === entry.card.id)
      return models.filter(isLost).map(({ name }) => name)
    },
    adopt(changed) {
      for (const row of changed) {
        const id = declarationId(row)
        if (row.revision > (rows.get(id)?.revision ?? 0)) rows.set(id, row)
      }
      // One after another: the last one has all rows.
      applying = applying.catch(() => {}).then(putInForce)
      return applying
    },
    newest: () => Math.max(0, ...[...rows.values()].map(({ revision }) => revision)),
    inTurn(change) {
      const done = lastChange.then(change)
      lastChange = done.catch(() => {})
      return done
    },
  }
}

/** Follows what other processes change. */
export function followDeclared(
  store: Pick<DeclarationStore, 'declarations' | 'onDeclarations'>,
  declared: Pick<Declared, 'adopt'>,
  { clock, since, log }: { clock: Clock; since: number; log: OutageLog },
): AsyncDisposable {
  let known = since
  const lines = {
    down: "changes of accounts and models can't be read: those before stay in force",
    up: 'changes of accounts and models are read again',
  }
  return follow({
    async look() {
      const changed = await store.declarations(known)
      const newest = changed.at(-1)
      if (!newest) return
      await declared.adopt(changed)
      known = newest.revision
    },
    onMessage: store.onDeclarations,
    clock,
    outage: openOutage({ log, clock, ...lines, level: 'warn' }),
  })
}

interface Settled {
  combined: Combined
  used: readonly Declaration[]
  unused: Map<string, string>
}

/**
 * Everything that can be in force together. The configuration may have changed since something was declared: that must
 * not keep the service from starting. What has a mistake is left out, accounts first: without them, models and aliases may
 * have other mistakes. Each round takes as long as one check of everything.
 */
function settle(declarations: readonly Declaration[], { combine, isConfigured }: Combining): Settled {
  const unused = new Map<string, string>()
  let used = declarations.filter((one) => {
    const isTaken = isConfigured(one.kind, one.name)
    if (isTaken) unused.set(declarationId(one), `the configuration has the same ${one.kind}`)
    return !isTaken
  })
  for (;;) {
    const combined = combine(toSettings(used))
    if (combined.mistakes.length === 0) return { combined, used, unused }
    const blamed = used.filter((one) => combined.blamed.has(declarationId(one)))
    const whyOf = (one: Declaration) => [declarationId(one), combined.blamed.get(declarationId(one)) ?? ''] as const
    const wrong = new Map(blamed.filter(({ kind }) => kind === blamed[0]?.kind).map(whyOf))
    if (wrong.size === 0) for (const [id, why] of findTogether(used, combine)) wrong.set(id, why)
    if (wrong.size === 0) return { combined, used, unused }
    for (const [id, why] of wrong) unused.set(id, why)
    used = used.filter((one) => !wrong.has(declarationId(one)))
  }
}

/** Those that have a mistake together with others before them, and what depends on them: found by halves. */
function findTogether(declarations: readonly Declaration[], combine: Combining['combine']): Map<string, string> {
  const found = new Map<string, string>()
  const kept: Declaration[] = []
  const add = (some: readonly Declaration[]): void => {
    const [one, ...others] = some
    if (!one) return
    const [mistake] = combine(toSettings([...kept, ...some])).mistakes
    if (mistake === undefined) kept.push(...some)
    else if (others.length === 0) found.set(declarationId(one), mistake)
    else {
      const half = some.length >> 1
      add(some.slice(0, half))
      add(some.slice(half))
    }
  }
  add(declarations)
  return found
}

function toSettings(declarations: readonly Declaration[]): DeclaredSettings {
  const of = (kind: DeclarationKind, read: (one: Declaration) => unknown) =>
    Object.fromEntries(declarations.filter((one) => one.kind === kind).map((one) => [one.name, read(one)] as const))
  return {
    accounts: of('account', ({ settings, key }) => ({ ...settings, ...(key !== null && { key }) })),
    models: of('model', ({ settings }) => settings),
    aliases: of('alias', ({ settings }) => settings.model),
  }
}

/** Changes the registry and the catalogue to what is combined. */
function openApply({ configured, localise, accounts, catalog }: DeclaredOptions) {
  let opened = new Map(configured.accounts.map((account) => [account.name, account]))
  let names: ReadonlySet<string> = new Set(configured.catalog.entries.keys())

  async function apply(combined: Combined, used: readonly Declaration[]): Promise<void> {
    const modes = new Map(used.filter(({ kind }) => kind === 'account').map(({ name, mode }) => [name, mode]))
    const local = localise(combined)
    const wanted = local.accounts.map((account): AccountConfig => {
      const mode = modes.get(account.name)
      return mode === undefined ? account : { ...account, mode }
    })
    const set = wanted.filter((account) => !isDeepStrictEqual(account, opened.get(account.name)))
    const remove = [...opened.keys()].filter((name) => !wanted.some((account) => account.name === name))
    // A new account exists before a model has a route to it, and a removed one after no model has one.
    if (set.length > 0) await accounts.change({ set })
    replaceDeclared(catalog, names, local.catalog.entries)
    if (remove.length > 0) await accounts.change({ remove })
    opened = new Map(wanted.map((account) => [account.name, account]))
    names = new Set(local.catalog.entries.keys())
  }
  return {
    apply,
    configOf: (name: string) => opened.get(name),
    /** Whether the name is in the catalogue because it is declared, not because it was discovered. */
    isDeclared: (name: string) => names.has(name),
  }
}

function tooMany({ kind, name }: Declaration): Problem {
  const message =
    `The ${kind} '${name.slice(0, 50)}' can't be added: there are ${mostDeclarations} accounts, models and aliases, the most that can be ` +
    'added while the service runs. Remove some, or write it into filmgate.yaml.'
  return new Problem('invalid_request', message)
}

/** The operator changes one account: `accounts.main.base_url: it is missing; write …` is about their field `base_url`. */
function refusal({ kind, name, removedAt }: Declaration, mistake: string): Problem {
  if (removedAt !== null)
    return new Problem('invalid_request', `The ${kind} '${name}' can't be removed, because it is used. ${mistake}.`)
  const place = { account: 'accounts', model: 'models', alias: 'aliases' }[kind]
  const own = `${place}.${name}.`
  const [param = ''] = mistake.startsWith(own) ? mistake.slice(own.length).split(':') : []
  return new Problem('invalid_value', `${mistake}.`, param === '' ? {} : { param })
}

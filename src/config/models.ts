import { defaultDeadlines, type ModelCard, toCard } from '../core/catalog.ts'
import type { Route } from '../core/routing.ts'
import type { Accounts } from './accounts.ts'
import { checkLimits } from './limits.ts'
import { type Mistakes, placeIn } from './mistakes.ts'
import { type Makers, readAccount, readNamed, readRoutes, toUpstreamModel } from './routes.ts'
import { type Rules, readRules } from './rules.ts'

interface Known extends Makers {
  /** Those of the providers, and of filmgate.yaml as far as it is read. */
  cards: Map<string, ModelCard>
}

/** Those of the command line or of its variable. They come after those of the file, and win. */
export interface GivenAliases {
  where: string
  pairs: readonly (readonly [alias: string, model: string])[]
}

/** The cards of the accounts' providers, as `models`, `aliases` and `default_model` of filmgate.yaml change them. */
export function readModels(
  yaml: Record<string, unknown>,
  accounts: Accounts,
  members: Makers['members'],
  given: GivenAliases,
  mistakes: Mistakes,
) {
  const cards = new Map<string, ModelCard>()
  for (const [provider, { cards: listed }] of Object.entries(members)) {
    const names = accounts.list.filter((account) => account.provider === provider).map(({ name }) => name)
    for (const card of names.length > 0 ? listed : []) cards.set(card.id, toCard(card, names))
  }
  const changed = mistakes.mapAt('models', yaml.models)
  for (const [id, value] of Object.entries(changed)) {
    const settings = mistakes.mapAt(placeIn('models', id), value)
    const card = readCard(id, settings, { cards, accounts, members }, mistakes)
    if (card) cards.set(id, card)
  }
  // A model with a mistake is a model all the same: its alias is none.
  const models = new Set([...cards.keys(), ...Object.keys(changed)])
  const aliases = readAliases(yaml.aliases, given, models, mistakes)

  const { default_model: wanted } = yaml
  const names = [...models, ...Object.keys(aliases)]
  if (wanted === undefined || wanted === null) return { cards: cards.values(), aliases, defaultModel: null }
  if (typeof wanted !== 'string' || !names.includes(wanted))
    mistakes.addUnknown('default_model', wanted, oneOf(names), (quoted) => `there is no model ${quoted}`)
  return { cards: cards.values(), aliases, defaultModel: wanted as string }
}

function readAliases(
  listed: unknown,
  { where: place, pairs }: GivenAliases,
  models: ReadonlySet<string>,
  mistakes: Mistakes,
): Record<string, string> {
  const aliases: [string, string][] = []
  const inFile = Object.entries(mistakes.mapAt('aliases', listed))
  const all = [
    ...inFile.map(([name, target]) => ({ where: placeIn('aliases', name), name, target })),
    ...pairs.map(([name, target]) => ({ where: place, name, target })),
  ]
  for (const { where, name, target } of all) {
    checkName(where, name, mistakes)
    if (models.has(name))
      mistakes.add(where, 'a model has this name already', 'choose another alias, or change the model under models')
    else if (typeof target !== 'string' || !models.has(target))
      mistakes.addUnknown(where, target, oneOf(models), (quoted) => `there is no model ${quoted}`)
    else aliases.push([name, target])
  }
  // Not one by one: an assignment to '__proto__' would be lost.
  return Object.fromEntries(aliases)
}

/** What is checked against where it is not known who makes the model. */
const anything: Rules = {
  ...{ concurrency: null, deadlines: defaultDeadlines, description: '', image: 'optional' },
  seconds: { min: 1, max: 3_600, default: 4 },
  size: { minSide: 1, maxSide: 99_999, multipleOf: 1, default: '1280x720' },
}

/** A card of the catalogue with changes, or a new one like the first that the account's provider has. */
function readCard(id: string, given: Record<string, unknown>, known: Known, mistakes: Mistakes): ModelCard | undefined {
  const { cards, accounts } = known
  const where = placeIn('models', id)
  mistakes.keysOf(where, given, [
    ...['account', 'model', 'routes', 'description', 'seconds', 'size', 'image', 'concurrency', 'deadlines'],
  ])
  checkName(where, id, mistakes)
  const first = Array.isArray(given.routes) ? given.routes[0]?.account : given.account
  const provider = accounts.list.find(({ name }) => name === first)?.provider
  const base =
    cards.get(id) ?? [...cards.values()].find(({ ownedBy }) => ownedBy === provider) ?? unlisted(provider, known)
  const routes = readWays(where, given, { ...known, id, base }, mistakes)
  const rules = readRules(where, given, base ?? anything, mistakes)
  if (!base || routes.length === 0) return undefined
  // What is known of another model, such as its price, says nothing of this one.
  const { facts, makes = [], ...like } = base
  const own = cards.has(id) && facts ? { facts } : {}
  // Whoever may get a task must be able to make it: another provider would leave its source out.
  const sameMaker = routes.every(
    ({ account }) => accounts.list.find(({ name }) => name === account)?.provider === base.ownedBy,
  )
  const card = { ...like, ...own, ...(sameMaker && { makes }), id, ownedBy: provider ?? base.ownedBy, routes, ...rules }
  checkLimits(where, card, known, mistakes)
  return card
}

/** Of a provider that lists none of its models: it is asked for them later. */
function unlisted(provider: string | undefined, { members }: Known): ModelCard | undefined {
  const template = provider === undefined ? undefined : members[provider]?.unlisted
  return template && toCard(template, [])
}

/** `account`, `routes`, or where the catalogue has the model already, neither. */
function readWays(
  where: string,
  given: Record<string, unknown>,
  { id, base, ...makers }: Makers & { id: string; base: ModelCard | undefined },
  mistakes: Mistakes,
): readonly Route[] {
  const usual = { model: base?.routes[0]?.upstreamModel ?? id, where: null }
  const place = `${where}.model`
  const named = readNamed(place, given.model, usual, mistakes)
  const accountIsSaid = given.account !== undefined && given.account !== null
  if (given.routes !== undefined && given.routes !== null) {
    if (accountIsSaid) mistakes.add(`${where}.account`, 'there are routes as well', 'leave out one of the two')
    return readRoutes(`${where}.routes`, given.routes, named, makers, mistakes)
  }
  if (!accountIsSaid && base) {
    // All of one provider, so that one is asked for all.
    const upstreamModel = toUpstreamModel(place, named, base.routes[0]?.account ?? '', makers, mistakes)
    return base.routes.map((route) => ({ ...route, upstreamModel }))
  }
  const account = readAccount(`${where}.account`, given.account, makers.accounts, mistakes)
  const upstreamModel = toUpstreamModel(place, named, account, makers, mistakes)
  return account === '' ? [] : [{ account, upstreamModel, priority: 0, weight: 1 }]
}

function checkName(where: string, name: string, mistakes: Mistakes): void {
  if (!/^[\w.:/@-]{1,200}$/.test(name))
    mistakes.add(where, 'the name has other characters', 'use letters, digits and . _ : / @ -')
}

function oneOf(names: Iterable<string>): string {
  return `use one of: ${[...names].join(', ')}`
}

import {
  acceptsSeconds,
  acceptsSize,
  type CardTemplate,
  type Deadlines,
  defaultDeadlines,
  describeLimits,
  type ModelCard,
  type SecondsRule,
  type SizeRule,
  toCard,
} from '../core/catalog.ts'
import type { PriceLine } from '../core/prices.ts'
import type { Route } from '../core/routing.ts'
import type { Accounts, Members } from './accounts.ts'
import { type Mistakes, placeIn } from './mistakes.ts'
import { type FileSettings, longestSeconds, type ModelSettings, modelName, type RouteSettings } from './schema.ts'
import { parseDuration } from './settings.ts'

interface Providers {
  accounts: Accounts
  members: Members
}

interface Known extends Providers {
  /** The cards of the providers, and those of filmgate.yaml that are read so far. */
  cards: Map<string, ModelCard>
}

/** The aliases of the command line or of its variable. They come after those of the file, and win. */
export interface GivenAliases {
  where: string
  pairs: readonly (readonly [alias: string, model: string])[]
}

/** The cards of the accounts' providers, as `models`, `aliases` and `default_model` of filmgate.yaml change them. */
export function readModels(
  file: FileSettings,
  accounts: Accounts,
  members: Members,
  given: GivenAliases,
  mistakes: Mistakes,
) {
  const cards = new Map<string, ModelCard>()
  for (const [provider, { cards: listed }] of Object.entries(members)) {
    const names = accounts.list.filter((account) => account.provider === provider).map(({ name }) => name)
    for (const card of names.length > 0 ? listed : []) cards.set(card.id, toCard(card, names))
  }
  const { models: changed = {}, default_model: defaultModel } = file
  for (const [id, settings = {}] of Object.entries(changed)) {
    const card = readCard(id, settings, { cards, accounts, members }, mistakes)
    if (card) cards.set(id, card)
  }
  // A model with a mistake is still a model: its alias is not another mistake.
  const models = new Set([...cards.keys(), ...Object.keys(changed)])
  const aliases = readAliases(file.aliases ?? {}, given, models, mistakes)
  const names = [...models, ...Object.keys(aliases)]
  if (defaultModel === undefined ? mistakes.isRefused('default_model') : !names.includes(defaultModel))
    mistakes.addUnknown('default_model', defaultModel, oneOf(names), (quoted) => `there is no model ${quoted}`)
  return { cards: cards.values(), aliases, defaultModel: defaultModel ?? null }
}

function readAliases(
  listed: NonNullable<FileSettings['aliases']>,
  { where: place, pairs }: GivenAliases,
  models: ReadonlySet<string>,
  mistakes: Mistakes,
): Record<string, string> {
  const [what = '', fix = ''] = modelName.errorMessage.split('; ')
  for (const [name] of pairs) if (!new RegExp(modelName.pattern).test(name)) mistakes.add(place, what, fix)
  const all = [
    ...Object.entries(listed).map(([name, target]) => ({ where: placeIn('aliases', name), name, target })),
    ...pairs.map(([name, target]) => ({ where: place, name, target })),
  ]
  const aliases: [string, string][] = []
  for (const { where, name, target } of all) {
    if (models.has(name))
      mistakes.add(where, 'a model has this name already', 'choose another alias, or change the model under models')
    else if (target === undefined || !models.has(target))
      mistakes.addUnknown(where, target, oneOf(models), (quoted) => `there is no model ${quoted}`)
    else aliases.push([name, target])
  }
  // `fromEntries`, because an assignment to '__proto__' would be lost.
  return Object.fromEntries(aliases)
}

function oneOf(names: Iterable<string>): string {
  return `use one of: ${[...names].join(', ')}`
}

type Rules = Pick<ModelCard, 'concurrency' | 'deadlines' | 'description' | 'seconds' | 'size' | 'image'>

/** The rules of a model whose provider is not known. */
const anything: Rules = {
  concurrency: null,
  deadlines: defaultDeadlines,
  description: '',
  image: 'optional',
  seconds: { min: 1, max: longestSeconds, default: 4 },
  size: { minSide: 1, maxSide: 99_999, multipleOf: 1, default: '1280x720' },
}

/** A changed card of the catalogue, or a new one that is based on the first of the account's provider. */
function readCard(id: string, given: ModelSettings, known: Known, mistakes: Mistakes): ModelCard | undefined {
  const { cards, accounts } = known
  const where = placeIn('models', id)
  const first = given.routes ? given.routes[0]?.account : given.account
  const provider = accounts.list.find(({ name }) => name === first)?.provider
  const base =
    cards.get(id) ?? [...cards.values()].find(({ ownedBy }) => ownedBy === provider) ?? unlisted(provider, known)
  const routes = readModelRoutes(where, given, { ...known, id, base }, mistakes)
  const rules = readRules(where, given, base ?? anything, mistakes)
  if (!base || routes.length === 0) return undefined
  // The facts of the base, such as its price, are not those of a new model.
  const { facts, makes = [], retiresOn, isPaused: _, ownPrice: __, ...like } = base
  const own = cards.has(id) && facts ? { facts } : {}
  // If all its routes lead to other models, the end of this one does not matter.
  const ends = cards.has(id) && retiresOn !== undefined && routes.some((route) => isUsual(route, base, known))
  // Every route must be able to use the source of a task: another provider would leave it out.
  const isOneProvider = routes.every(
    ({ account }) => accounts.list.find(({ name }) => name === account)?.provider === base.ownedBy,
  )
  const card = {
    ...like,
    ...own,
    ...(ends && { retiresOn }),
    ...(isOneProvider && { makes }),
    ...(given.paused && { isPaused: true as const }),
    ...(given.price && { ownPrice: given.price as PriceLine[] }),
    id,
    ownedBy: provider ?? base.ownedBy,
    routes: cards.has(id) ? routes.map((route) => withPrice(route, base, known)) : routes,
    ...rules,
  }
  checkLimits(where, card, known, mistakes)
  return card
}

/** Whether a route leads to the model of the card. */
function isUsual(
  { account, upstreamModel }: Route,
  { ownedBy, routes: [usual] }: ModelCard,
  { accounts }: Known,
): boolean {
  const provider = accounts.list.find(({ name }) => name === account)?.provider
  return provider === ownedBy && upstreamModel === usual?.upstreamModel
}

/** A route to another model than that of the card has the price of that model. */
function withPrice(route: Route, base: ModelCard, known: Known): Route {
  if (isUsual(route, base, known)) return route
  const { accounts, members } = known
  const provider = accounts.list.find(({ name }) => name === route.account)?.provider ?? ''
  const listed = Object.hasOwn(members, provider) ? (members[provider]?.cards ?? []) : []
  const card = listed.find(({ upstreamModel }) => upstreamModel === route.upstreamModel)
  return { ...route, price: card?.facts?.price ?? null }
}

/** For a provider without cards: discovery reads its models later. */
function unlisted(provider: string | undefined, { members }: Known): ModelCard | undefined {
  const template = provider === undefined ? undefined : members[provider]?.unlisted
  return template && toCard(template, [])
}

/** The model name of routes without one, and its place if it is in filmgate.yaml. */
interface Named {
  model: string
  where: string | null
}

/** From `account`, from `routes`, or from the catalogue. */
function readModelRoutes(
  where: string,
  given: ModelSettings,
  { id, base, ...providers }: Providers & { id: string; base: ModelCard | undefined },
  mistakes: Mistakes,
): readonly Route[] {
  const { account: only, routes } = given
  const place = `${where}.model`
  const named =
    given.model === undefined
      ? { model: base?.routes[0]?.upstreamModel ?? id, where: null }
      : { model: given.model, where: place }
  if (mistakes.isRefused(`${where}.routes`)) return []
  if (routes) {
    if (only !== undefined)
      mistakes.add(`${where}.account`, 'it is set together with routes', 'leave out one of the two')
    return readRoutes(`${where}.routes`, routes, named, providers, mistakes)
  }
  if (only === undefined && base && !mistakes.isRefused(`${where}.account`)) {
    // All its routes have the same provider, so the first is enough.
    const upstreamModel = toUpstreamModel(place, named, base.routes[0]?.account ?? '', providers, mistakes)
    return base.routes.map((route) => ({ ...route, upstreamModel }))
  }
  const account = readAccount(`${where}.account`, only, providers.accounts, mistakes)
  const upstreamModel = toUpstreamModel(place, named, account, providers, mistakes)
  return account === '' ? [] : [{ account, upstreamModel, priority: 0, weight: 1 }]
}

function readRoutes(
  where: string,
  given: readonly RouteSettings[],
  byDefault: Named,
  providers: Providers,
  mistakes: Mistakes,
): Route[] {
  const routes = given.map(({ account: name, model, priority = 0, weight = 1 }, at) => {
    const account = readAccount(`${where}[${at}].account`, name, providers.accounts, mistakes)
    const place = `${where}[${at}].model`
    const named = model === undefined ? byDefault : { model, where: place }
    return { account, upstreamModel: toUpstreamModel(place, named, account, providers, mistakes), priority, weight }
  })
  const names = routes.map(({ account }) => account).filter((account) => account !== '')
  if (new Set(names).size < names.length)
    mistakes.add(where, 'two routes go to the same account', 'give each account one route')
  return routes
}

/** The name of an account that exists, or '' after reporting that it does not. */
function readAccount(
  where: string,
  given: string | undefined,
  { list, unclear }: Accounts,
  mistakes: Mistakes,
): string {
  if (given !== undefined && (unclear.has(given) || list.some(({ name }) => name === given))) return given
  const known = list.length > 0 ? oneOf(list.map(({ name }) => name)) : 'configure one'
  mistakes.addUnknown(where, given, known, (quoted) => `there is no account ${quoted}`)
  return ''
}

/**
 * The provider's name of a model, from that name or from the catalogue's. Checked here, because an unknown name would
 * fail only when a task needs the route.
 */
function toUpstreamModel(
  where: string,
  named: Named,
  account: string,
  { accounts, members }: Providers,
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
  const others = otherNames ? ', or the name of another model at the provider' : ''
  const fix = `${oneOf(cards.map(({ id }) => id))}${others}`
  mistakes.addUnknown(named.where ?? where, model, fix, (quoted) => `'${provider}' has no model ${quoted}`)
  return model
}

function readRules(where: string, given: ModelSettings, base: Rules, mistakes: Mistakes): Rules {
  return {
    concurrency: given.concurrency ?? base.concurrency,
    deadlines: readDeadlines(`${where}.deadlines`, given.deadlines ?? {}, base.deadlines, mistakes),
    description: given.description ?? base.description,
    seconds: readSeconds(`${where}.seconds`, given.seconds ?? {}, base.seconds, mistakes),
    size: readSize(`${where}.size`, given.size ?? {}, base.size, mistakes),
    image: given.image ?? base.image,
  }
}

type Part<Key extends keyof ModelSettings> = NonNullable<ModelSettings[Key]>

function readDeadlines(where: string, given: Part<'deadlines'>, base: Deadlines, mistakes: Mistakes): Deadlines {
  const start = given.start === undefined ? undefined : parseDuration(given.start)
  const totalMs = (given.total === undefined ? undefined : parseDuration(given.total)) ?? base.totalMs
  if (start !== undefined && start > totalMs)
    mistakes.add(`${where}.start`, 'it is longer than total', 'make it shorter, or total longer')
  return { startMs: Math.min(start ?? base.startMs, totalMs), totalMs }
}

function readSeconds(where: string, given: Part<'seconds'>, base: SecondsRule, mistakes: Mistakes): SecondsRule {
  if (['values', 'min', 'max'].some((key) => mistakes.isRefused(`${where}.${key}`))) return base
  const isRange = given.min !== undefined || given.max !== undefined
  if (given.values && isRange) mistakes.add(where, 'there are values and a range', 'write values, or min and max')
  const values = given.values ?? ('values' in base && !isRange ? base.values : undefined)
  if (values) return { values, default: defaultOf(where, given.default, values, base.default, mistakes) }
  const { min = 'min' in base ? base.min : 1, max = 'max' in base ? base.max : longestSeconds } = given
  if (min > max) {
    mistakes.add(where, `min (${min}) is greater than max (${max})`, 'write for example min: 1 and max: 20')
    return base
  }
  const defaultValue = given.default ?? Math.min(Math.max(base.default, min), max)
  if (defaultValue < min || defaultValue > max || mistakes.isRefused(`${where}.default`))
    mistakes.add(`${where}.default`, 'it is outside the range', `choose from ${min} to ${max}`)
  return { min, max, default: defaultValue }
}

function readSize(where: string, given: Part<'size'>, base: SizeRule, mistakes: Mistakes): SizeRule {
  if (mistakes.isRefused(`${where}.values`)) return base
  const values = given.values ?? ('values' in base ? base.values : undefined)
  if (!values) {
    const { default: defaultValue = base.default } = given
    if (acceptsSize(base, defaultValue)) return { ...base, default: defaultValue }
    mistakes.add(`${where}.default`, 'the model does not accept this size', `choose one such as '${base.default}'`)
    return base
  }
  // The provider's names of the sizes that are left.
  const shapes = 'shapes' in base ? base.shapes : undefined
  const left = shapes && Object.fromEntries(Object.entries(shapes).filter(([size]) => values.includes(size)))
  const defaultValue = defaultOf(where, given.default, values, base.default, mistakes)
  return { values, default: defaultValue, ...(left && { shapes: left }) }
}

function defaultOf<T>(
  where: string,
  given: T | undefined,
  values: readonly T[],
  defaultValue: T,
  mistakes: Mistakes,
): T {
  const chosen = given ?? (values.includes(defaultValue) ? defaultValue : (values[0] ?? defaultValue))
  if (!values.includes(chosen) || mistakes.isRefused(`${where}.default`))
    mistakes.add(`${where}.default`, 'it is not among the values', 'choose one of them')
  return chosen
}

/** A model may allow less than its providers, but not more: such a video would fail there. */
function checkLimits(where: string, card: ModelCard, providers: Providers, mistakes: Mistakes): void {
  const checked = new Set<CardTemplate>()
  for (const route of card.routes) {
    const limit = limitOf(route, providers)
    if (!limit || checked.has(limit)) continue
    checked.add(limit)
    const takes = describeLimits({ ...limit, id: limit.upstreamModel })
    const tooLong = secondsOf(card).find((seconds) => !acceptsSeconds(limit.seconds, seconds))
    if (tooLong !== undefined)
      mistakes.add(
        `${where}.seconds`,
        `'${limit.provider}' does not generate videos of ${tooLong} s`,
        inOneLine(takes.seconds),
      )
    const wrong = sizesOf(card, limit).find((size) => !acceptsSize(limit.size, size))
    if (wrong !== undefined)
      mistakes.add(`${where}.size`, `'${limit.provider}' does not generate videos of ${wrong}`, inOneLine(takes.size))
  }
}

/** The provider's own card of the model; undefined if it does not list the model. */
function limitOf({ account, upstreamModel }: Route, { accounts, members }: Providers): CardTemplate | undefined {
  const provider = accounts.list.find(({ name }) => name === account)?.provider
  const member = provider === undefined ? undefined : members[provider]
  return member?.cards.find((card) => card.upstreamModel === upstreamModel)
}

function secondsOf({ seconds: rule }: ModelCard): readonly number[] {
  if ('values' in rule) return rule.values
  return Array.from({ length: rule.max - rule.min + 1 }, (_, at) => rule.min + at)
}

/** Of a range, only the ends and the first step: if they are allowed, so is every size between them. */
function sizesOf({ size: rule }: ModelCard, limit: CardTemplate): readonly string[] {
  if ('values' in rule) return rule.values
  if ('values' in limit.size)
    return [rule.default, `${rule.minSide}x${rule.minSide}`, `${rule.maxSide}x${rule.maxSide}`]
  const step = rule.multipleOf
  const least = Math.ceil(rule.minSide / step) * step
  const most = Math.floor(rule.maxSide / step) * step
  return [least, Math.min(least + step, most), most].map((side) => `${side}x${side}`)
}

function inOneLine(sentence: string): string {
  return sentence.replace(/\.$/, '')
}

import { type ImageRule, type ModelCard, parseSize, type SecondsRule, type SizeRule, toCard } from '../core/catalog.ts'
import type { Member } from '../providers/index.ts'
import type { AccountConfig } from './accounts.ts'
import type { Mistakes } from './mistakes.ts'
import { readDeadlines, readRoutes } from './routes.ts'

/** The cards of the accounts' providers, as `models`, `aliases` and `default_model` of filmgate.yaml change them. */
export function readModels(
  yaml: Record<string, unknown>,
  accounts: readonly AccountConfig[],
  members: Readonly<Record<string, Member>>,
  mistakes: Mistakes,
) {
  const cards = new Map<string, ModelCard>()
  for (const [provider, { cards: listed }] of Object.entries(members)) {
    const names = accounts.filter((account) => account.provider === provider).map(({ name }) => name)
    for (const card of names.length > 0 ? listed : []) cards.set(card.id, toCard(card, names))
  }

  for (const [id, value] of Object.entries(mistakes.mapAt('models', yaml.models))) {
    const card = readCard(id, mistakes.mapAt(`models.${id}`, value), cards, accounts, mistakes)
    if (card) cards.set(id, card)
  }

  const aliases: Record<string, string> = {}
  for (const [name, target] of Object.entries(mistakes.mapAt('aliases', yaml.aliases))) {
    const where = `aliases.${name}`
    checkName(where, name, mistakes)
    if (cards.has(name))
      mistakes.add(where, 'a model has this name already', 'choose another alias, or change the model under models')
    else if (typeof target !== 'string' || !cards.has(target))
      mistakes.add(where, `there is no model '${target}'`, oneOf(cards.keys()))
    else aliases[name] = target
  }

  const { default_model: wanted } = yaml
  const names = [...cards.keys(), ...Object.keys(aliases)]
  if (wanted === undefined || wanted === null) return { cards: cards.values(), aliases, defaultModel: null }
  if (typeof wanted !== 'string' || !names.includes(wanted))
    mistakes.add('default_model', `there is no model '${wanted}'`, oneOf(names))
  return { cards: cards.values(), aliases, defaultModel: String(wanted) }
}

/** A card of the catalogue with changes, or a new one like the first that the account's provider has. */
function readCard(
  id: string,
  given: Record<string, unknown>,
  cards: ReadonlyMap<string, ModelCard>,
  accounts: readonly AccountConfig[],
  mistakes: Mistakes,
): ModelCard | undefined {
  const where = `models.${id}`
  const names = accounts.map(({ name }) => name)
  mistakes.keysOf(where, given, [
    ...['account', 'model', 'routes', 'description', 'seconds', 'size', 'image', 'concurrency', 'deadlines'],
  ])
  checkName(where, id, mistakes)
  const first = (Array.isArray(given.routes) ? given.routes[0]?.account : undefined) ?? given.account
  const wanted = accounts.find(({ name }) => name === first)
  const base = cards.get(id) ?? [...cards.values()].find(({ ownedBy }) => ownedBy === wanted?.provider)
  if (!base || (first !== undefined && !wanted)) {
    const what = first === undefined ? 'it is missing' : `there is no account '${first}'`
    mistakes.add(`${where}.account`, what, oneOf(names))
    return undefined
  }
  const upstreamModel = readText(`${where}.model`, given.model, base.routes[0]?.upstreamModel ?? id, mistakes)
  const own = base.routes.filter(({ account }) => first === undefined || account === first)
  const routes = (own.length > 0 ? own : base.routes.slice(0, 1)).map((route) => ({
    ...route,
    account: wanted?.name ?? route.account,
    upstreamModel,
  }))
  return {
    ...base,
    id,
    ownedBy: wanted?.provider ?? base.ownedBy,
    routes: readRoutes(`${where}.routes`, given.routes, routes, names, mistakes),
    ...readRules(where, given, base, mistakes),
  }
}

/** What a card says beside who makes it. */
function readRules(where: string, given: Record<string, unknown>, base: ModelCard, mistakes: Mistakes) {
  const { concurrency = base.concurrency } = given
  if (concurrency !== null && (!Number.isInteger(concurrency) || Number(concurrency) < 1))
    mistakes.add(`${where}.concurrency`, 'it is not a whole number above 0', 'leave it out for no limit')
  const image = readText(`${where}.image`, given.image, base.image, mistakes)
  if (!['none', 'optional', 'required'].includes(image))
    mistakes.add(`${where}.image`, `'${image}' means nothing`, 'use none, optional or required')
  const mapAt = (key: string) => mistakes.mapAt(`${where}.${key}`, given[key])
  return {
    concurrency: concurrency as number | null,
    deadlines: readDeadlines(`${where}.deadlines`, mapAt('deadlines'), base.deadlines, mistakes),
    description: readText(`${where}.description`, given.description, base.description, mistakes),
    seconds: readSeconds(`${where}.seconds`, mapAt('seconds'), base.seconds, mistakes),
    size: readSize(`${where}.size`, mapAt('size'), base.size, mistakes),
    image: image as ImageRule,
  }
}

function readText(where: string, given: unknown, fallback: string, mistakes: Mistakes): string {
  const value = given ?? fallback
  if (typeof value !== 'string') mistakes.add(where, 'it is not text', 'write it in quotes')
  return String(value)
}

function readSeconds(
  where: string,
  given: Record<string, unknown>,
  base: SecondsRule,
  mistakes: Mistakes,
): SecondsRule {
  mistakes.keysOf(where, given, ['values', 'min', 'max', 'default'])
  const values =
    given.values ?? ('values' in base && given.min === undefined && given.max === undefined ? base.values : undefined)
  const whole = (value: unknown): value is number =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 3_600
  if (values !== undefined) {
    const usable = Array.isArray(values) && values.length > 0 && values.every(whole)
    const rule = {
      values: values as number[],
      default: Number(given.default ?? (usable && !values.includes(base.default) ? values[0] : base.default)),
    }
    if (!usable) mistakes.add(`${where}.values`, 'it is not a list of whole seconds', 'write for example [4, 8, 12]')
    else if (!rule.values.includes(rule.default))
      mistakes.add(`${where}.default`, 'it is not among the values', 'choose one of them')
    return rule
  }
  const { min = 'min' in base ? base.min : 1, max = 'max' in base ? base.max : 3_600 } = given
  const rule = {
    min: Number(min),
    max: Number(max),
    default: Number(given.default ?? Math.min(Math.max(base.default, Number(min)), Number(max))),
  }
  if (!whole(min) || !whole(max) || rule.min > rule.max)
    mistakes.add(where, 'min and max are no range of whole seconds', 'write for example min: 1 and max: 20')
  else if (!whole(rule.default) || rule.default < rule.min || rule.default > rule.max)
    mistakes.add(`${where}.default`, 'it is outside the range', `choose from ${rule.min} to ${rule.max}`)
  return rule
}

function readSize(where: string, given: Record<string, unknown>, base: SizeRule, mistakes: Mistakes): SizeRule {
  mistakes.keysOf(where, given, ['values', 'default'])
  const values = given.values ?? ('values' in base ? base.values : undefined)
  if (values === undefined) {
    const fallback = String(given.default ?? base.default)
    if (!parseSize(fallback)) mistakes.add(`${where}.default`, 'it is not a size', "write for example '1280x720'")
    return { ...base, default: fallback }
  }
  const usable =
    Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string' && parseSize(value))
  const rule = {
    values: values as string[],
    default: String(given.default ?? (usable && !values.includes(base.default) ? values[0] : base.default)),
  }
  if (!usable) mistakes.add(`${where}.values`, 'it is not a list of sizes', 'write for example [1280x720, 720x1280]')
  else if (!rule.values.includes(rule.default))
    mistakes.add(`${where}.default`, 'it is not among the values', 'choose one of them')
  return rule
}

function checkName(where: string, name: string, mistakes: Mistakes): void {
  if (!/^[\w.:/@-]{1,200}$/.test(name))
    mistakes.add(where, 'the name has other characters', 'use letters, digits and . _ : / @ -')
}

function oneOf(names: Iterable<string>): string {
  return `use one of: ${[...names].join(', ')}`
}

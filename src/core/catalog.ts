import type { ParameterRule } from './parameters.ts'
import { Problem } from './problem.ts'
import type { Route } from './routing.ts'
import type { Size } from './task.ts'
import { matchesGlob, type Token } from './token.ts'

/** All that is known of one model. Cards are data: they come with a provider and can be changed in filmgate.yaml. */
export interface ModelCard {
  readonly id: string
  /** Who makes it, for the model list. */
  readonly ownedBy: string
  /** The ways to get it made, at least one. */
  readonly routes: readonly Route[]
  readonly description: string
  /** Unix seconds, for the model list. */
  readonly created: number
  readonly seconds: SecondsRule
  readonly size: SizeRule
  readonly image: ImageRule
  /** What it takes beyond the common fields, by name. */
  readonly parameters: Readonly<Record<string, ParameterRule>>
  /** How long a client should wait between two polls. */
  readonly pollAfterMs: number
  /** How many of its tasks may be in work at once, over all accounts; null is as many as those take. */
  readonly concurrency: number | null
  /** How long a task may wait to be started, and may take altogether. */
  readonly deadlines: Deadlines
  /** Whether a failed generation is charged for. Where it is not, another route may be tried. */
  readonly failuresBilled: boolean
}

/** A card as its provider knows it: whoever has an account there has the model. */
export type CardTemplate = Omit<ModelCard, 'ownedBy' | 'routes' | 'concurrency' | 'deadlines'> & {
  readonly provider: string
  /** What the provider itself calls the model. */
  readonly upstreamModel: string
}

export const defaultDeadlines: Deadlines = { startMs: 24 * 3_600_000, totalMs: 48 * 3_600_000 }

/** All accounts of its provider share a model's tasks, unless routes say otherwise. */
export function toCard({ provider, upstreamModel, ...card }: CardTemplate, accounts: readonly string[]): ModelCard {
  const routes = accounts.map((account) => ({ account, upstreamModel, priority: 0, weight: 1 }))
  return { ...card, ownedBy: provider, routes, concurrency: null, deadlines: defaultDeadlines }
}

export interface Deadlines {
  readonly startMs: number
  readonly totalMs: number
}

export type SecondsRule = ({ readonly min: number; readonly max: number } | { readonly values: readonly number[] }) & {
  readonly default: number
}

export type SizeRule = (
  | { readonly minSide: number; readonly maxSide: number; readonly multipleOf: number }
  | { readonly values: readonly string[] }
) & { readonly default: string }

export type ImageRule = 'none' | 'optional' | 'required'

/** A name that clients may ask for: a model's own, or an alias of it. */
export interface CatalogEntry {
  readonly name: string
  readonly card: ModelCard
}

export interface Catalog {
  readonly entries: ReadonlyMap<string, CatalogEntry>
  readonly defaultModel: string | null
}

export function buildCatalog(cards: Iterable<ModelCard>, aliases: Record<string, string>, defaultModel: string | null) {
  const entries = new Map<string, CatalogEntry>()
  for (const card of cards) entries.set(card.id, { name: card.id, card })
  for (const [name, target] of Object.entries(aliases)) {
    const card = entries.get(target)?.card
    if (card) entries.set(name, { name, card })
  }
  return { entries, defaultModel } satisfies Catalog
}

/** A token may use a name that its globs match, and every alias of a model that they match. */
export function mayUse(token: Token, entry: CatalogEntry): boolean {
  return token.models.some((glob) => matchesGlob(glob, entry.name) || matchesGlob(glob, entry.card.id))
}

/** The entry, or `model_not_found`: the same answer for a model that is not there and one that is not for this token. */
export function findModel(catalog: Catalog, token: Token, name: string): CatalogEntry {
  const entry = catalog.entries.get(name)
  if (entry && mayUse(token, entry)) return entry
  throw new Problem(
    'model_not_found',
    `The model '${name.slice(0, 200)}' does not exist or you do not have access to it. GET /v1/models lists the models you can use.`,
    { param: 'model' },
  )
}

export function fitSeconds(card: ModelCard, asked: string | number | undefined): number {
  const rule = card.seconds
  if (asked === undefined) return rule.default
  const text = String(asked)
  const seconds = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN
  if (takesSeconds(rule, seconds)) return seconds
  throw new Problem('invalid_value', `Invalid value: '${text.slice(0, 50)}'. ${whatItTakes(card).seconds}`, {
    param: 'seconds',
  })
}

export function fitSize(card: ModelCard, asked: string | undefined): Size {
  const text = asked ?? card.size.default
  const size = parseSize(text)
  if (size && takesSize(card.size, text)) return size
  throw new Problem('invalid_value', `Invalid value: '${text.slice(0, 50)}'. ${whatItTakes(card).size}`, {
    param: 'size',
  })
}

export function takesSeconds(rule: SecondsRule, seconds: number): boolean {
  return 'values' in rule ? rule.values.includes(seconds) : seconds >= rule.min && seconds <= rule.max
}

export function takesSize(rule: SizeRule, text: string): boolean {
  if ('values' in rule) return rule.values.includes(text)
  const size = parseSize(text)
  return size !== undefined && fitsSides(rule, size)
}

/** In words for whoever asked for something else. */
export function whatItTakes({ id, seconds, size }: Pick<ModelCard, 'id' | 'seconds' | 'size'>) {
  const listed = (values: readonly (string | number)[]) =>
    `Supported values are: ${values.map((value) => `'${value}'`).join(', ')}.`
  return {
    seconds:
      'values' in seconds
        ? listed(seconds.values)
        : `Model '${id}' takes whole seconds from '${seconds.min}' to '${seconds.max}'.`,
    size:
      'values' in size
        ? listed(size.values)
        : `Model '${id}' takes <width>x<height> with each side from ${size.minSide} to ${size.maxSide}, a multiple of ${size.multipleOf}, for example '${size.default}'.`,
  }
}

export function parseSize(text: string): Size | undefined {
  const match = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text)
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined
}

export function formatSize(size: Size): string {
  return `${size.width}x${size.height}`
}

function fitsSides(rule: { minSide: number; maxSide: number; multipleOf: number }, size: Size): boolean {
  return [size.width, size.height].every(
    (side) => side >= rule.minSide && side <= rule.maxSide && side % rule.multipleOf === 0,
  )
}

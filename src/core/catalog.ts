import { closest } from './closest.ts'
import type { ParameterRule } from './parameters.ts'
import { Problem } from './problem.ts'
import type { Route } from './routing.ts'
import type { Size, SourceKind } from './task.ts'
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
  /** What it can make of another video; nothing, where it is left out. */
  readonly makes?: readonly SourceKind[]
  /** What is known of it beyond that; of a model that nobody described, nothing is. */
  readonly facts?: CardFacts
}

/** What an operator and a client want to know before they pay. */
export interface CardFacts {
  readonly audio: 'always' | 'optional' | 'never'
  /** What the image is to the film; null where it takes none. */
  readonly imageIs: 'first frame' | 'reference' | null
  /** As the provider asks for it, on that day, by that source. Per video where its length can't be chosen. */
  readonly price: {
    readonly usd: number
    readonly per: 'second' | 'video'
    readonly on: string
    readonly source: string
  } | null
  /** How long the provider keeps a result, and how long it usually takes to make one. */
  readonly keptMs: number | null
  readonly usuallyMs: number | null
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
  | { readonly values: readonly string[]; readonly shapes?: Shapes }
) & { readonly default: string }

/** How a provider names each size that it makes: clients may ask for it in these words as well. */
export type Shapes = Readonly<Record<string, Shape>>
export interface Shape {
  readonly resolution: string
  readonly ratio: string
}

/** The sizes of a model whose provider knows no pixels, only these words. */
export function sizesOf(shapes: Shapes, usual: string): SizeRule {
  return { values: Object.keys(shapes), shapes, default: usual }
}

type ImageRule = 'none' | 'optional' | 'required'

/** A name that clients may ask for: a model's own, or an alias of it. */
export interface CatalogEntry {
  readonly name: string
  readonly card: ModelCard
}

export interface Catalog {
  /** Grows as engines tell what they have. */
  readonly entries: Map<string, CatalogEntry>
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

/**
 * A token may use a model that its globs match, under each of its names. An alias that happens to fit a glob opens no other
 * model: only one that is named in full does.
 */
export function mayUse(token: Token, entry: CatalogEntry): boolean {
  return token.models.some((glob) => matchesModel(glob, entry))
}

export function matchesModel(glob: string, { name, card }: CatalogEntry): boolean {
  return matchesGlob(glob, card.id) || glob === name
}

/** The entry, or `model_not_found`: the same answer for a model that is not there and one that is not for this token. */
export function findModel(catalog: Catalog, token: Token, name: string): CatalogEntry {
  const entry = catalog.entries.get(name)
  if (entry && mayUse(token, entry)) return entry
  const usable = [...catalog.entries.values()].filter((one) => mayUse(token, one)).slice(0, mostCompared)
  const near = nearest(name, usable)
  const message =
    `The model '${name.slice(0, 200)}' does not exist or you do not have access to it.` +
    (near.length > 0 ? ` The closest models are: ${near.join(', ')}.` : '') +
    ` GET /v1/models lists the models you can use.${entry ? '' : aliasHint(name, usable)}`
  throw new Problem('model_not_found', message, { param: 'model' })
}

/** Comparing names takes time, and any client can send names of models that do not exist. */
const mostCompared = 100

/** Of names with a provider in front, as gateways have them, the rest is compared; and a dated name with its model. */
function nearest(asked: string, usable: readonly CatalogEntry[]): string[] {
  const bare = (name: string) => name.slice(name.lastIndexOf('/') + 1)
  const given = bare(asked).toLowerCase()
  const begun = usable.filter(({ name }) => given.startsWith(bare(name).toLowerCase()))
  const similar = closest(
    given,
    usable.map(({ name }) => bare(name)),
  )
  const names = [...begun, ...similar.flatMap((word) => usable.filter(({ name }) => bare(name) === word))]
  return [...new Set(names.map(({ name }) => name))].slice(0, 3)
}

/** OpenAI's own ids are written into its clients: their operator can give them to another model. */
function aliasHint(name: string, usable: readonly CatalogEntry[]): string {
  if (usable.length === 0 || !/^(\w{1,40}\/)?sora(-[\w.-]{1,40})?$/i.test(name)) return ''
  return ` To serve it with another model, start the server with --alias ${name}=MODEL.`
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

/** A size, or what of it is said in the provider's words: `resolution` and `aspect_ratio`. */
export interface AskedSize {
  size?: string | undefined
  resolution?: string | undefined
  aspect_ratio?: string | undefined
}

export function fitSize(card: ModelCard, asked: AskedSize): Size {
  const text = sizeInWords(card, asked) ?? asked.size ?? card.size.default
  const size = parseSize(text)
  if (size && takesSize(card.size, text)) return size
  throw new Problem('invalid_value', `Invalid value: '${text.slice(0, 50)}'. ${whatItTakes(card).size}`, {
    param: 'size',
  })
}

/** The size that the words mean; what of them is left out is as in the default. */
function sizeInWords({ id, size: rule }: ModelCard, { size, ...words }: AskedSize): string | undefined {
  if (words.aspect_ratio === undefined && words.resolution === undefined) return undefined
  const shapes = shapesOf(rule, size)
  const usual = shapes[size ?? rule.default]
  const { resolution = usual?.resolution, aspect_ratio: ratio = usual?.ratio } = words
  const isAsked = (shape: Shape) => shape.resolution.toLowerCase() === resolution?.toLowerCase()
  const named = Object.entries(shapes).find(([, shape]) => isAsked(shape) && shape.ratio === ratio)?.[0]
  const isRatio =
    words.resolution === undefined || (words.aspect_ratio !== undefined && Object.values(shapes).some(isAsked))
  const param = isRatio ? 'aspect_ratio' : 'resolution'
  const refuse = (why: string) => {
    throw new Problem('invalid_value', `Invalid '${param}': ${why}`, { param })
  }
  if (named === undefined) {
    const listed = Object.values(shapes)
      .map((shape) => `${shape.resolution} ${shape.ratio}`)
      .join(', ')
    return refuse(`model '${id}' does not make '${String(words[param]).slice(0, 50)}'. It makes: ${listed}.`)
  }
  return size === undefined || size === named
    ? named
    : refuse(`it is not that of 'size' ${size}. Leave out one of them.`)
}

/** What the sizes of a model are called; where its provider has no words for them, by their shorter side and their ratio. */
function shapesOf(rule: SizeRule, asked: string | undefined): Shapes {
  if ('shapes' in rule && rule.shapes) return rule.shapes
  const sizes =
    'values' in rule
      ? rule.values
      : [...(asked === undefined ? [] : [asked]), ...usualSizes].filter((size) => takesSize(rule, size))
  return Object.fromEntries(sizes.flatMap((text) => (parseSize(text) ? [[text, shapeOf(text)]] : [])))
}

function shapeOf(text: string): Shape {
  const { width, height } = parseSize(text) ?? { width: 1, height: 1 }
  const divisor = greatestDivisor(width, height)
  const ratio = `${width / divisor}:${height / divisor}`
  return { resolution: `${Math.min(width, height)}p`, ratio: usualNames[ratio] ?? ratio }
}

/** Cinema says 21:9, not 7:3. */
const usualNames: Readonly<Record<string, string>> = { '7:3': '21:9', '3:7': '9:21' }

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/** Of a model that makes any size: each usual resolution in each usual ratio, where whole pixels give exactly that. */
const usualSizes: readonly string[] = [360, 480, 540, 720, 768, 1_080].flatMap((side) =>
  ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'].flatMap((ratio) => {
    const [across = 1, down = 1] = ratio.split(':').map(Number)
    const unit = side / Math.min(across, down)
    return Number.isInteger(unit * Math.max(across, down)) ? [`${unit * across}x${unit * down}`] : []
  }),
)

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

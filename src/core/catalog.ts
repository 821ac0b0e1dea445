import { closest } from './closest.ts'
import type { ParameterRule } from './parameters.ts'
import type { PriceLine, PriceTable } from './prices.ts'
import { Problem } from './problem.ts'
import type { Route } from './routing.ts'
import type { Size, SourceKind, Task, VideoFacts } from './task.ts'
import { matchesGlob, type Token } from './token.ts'

/** The name of a model is also a part of URLs, where a segment `.` or `..` would lead elsewhere. */
export const modelNameForm = /^(?!(.*\/)?\.\.?(\/|$))[\w.:/@-]{1,200}$/

/** Everything known about one model. Cards are data: they come with a provider and can be changed in filmgate.yaml. */
export interface ModelCard {
  readonly id: string
  /** The provider, for the model list. */
  readonly ownedBy: string
  /** At least one. */
  readonly routes: readonly Route[]
  readonly description: string
  /** Unix seconds, for the model list. */
  readonly created: number
  readonly seconds: SecondsRule
  readonly size: SizeRule
  /** Whether a request has a reference image. */
  readonly image: (typeof imageRules)[number]
  /** The parameters that it accepts besides the common fields, by name. */
  readonly parameters: Readonly<Record<string, ParameterRule>>
  /** How long a client should wait between two polls. */
  readonly pollAfterMs: number
  /** How many of its tasks may run at once, over all accounts; null: only the accounts limit it. */
  readonly concurrency: number | null
  /** How long a task may wait to be started, and may take in total. */
  readonly deadlines: Deadlines
  /** Whether a failed generation is charged for. If not, another route may be tried. */
  readonly failuresBilled: boolean
  /** The price for clients, as an operator declared it with the model. */
  readonly ownPrice?: readonly PriceLine[]
  /** An operator paused it: new videos are refused. */
  readonly isPaused?: true
  /** The day from which its vendor may retire it, such as 2026-11-17. */
  readonly retiresOn?: string
  /** What it can derive from another video; nothing if it is left out. */
  readonly makes?: readonly SourceKind[]
  /** Absent for a model that has no description of its own. */
  readonly facts?: CardFacts
}

/** What operators and clients want to know before they pay. */
export interface CardFacts {
  readonly audio: 'always' | 'optional' | 'never'
  /** What the image is used for; null if the model accepts none. */
  readonly imageIs: 'first frame' | 'reference' | null
  /** What the provider charges, as far as it is known. */
  readonly price: PriceTable | null
  /** How long the provider keeps a result, and how long a generation usually takes. */
  readonly keptMs: number | null
  readonly usuallyMs: number | null
}

/** A card as its provider declares it: every account of the provider has the model. */
export type CardTemplate = Omit<ModelCard, 'ownedBy' | 'routes' | 'concurrency' | 'deadlines'> & {
  readonly provider: string
  /** The provider's name for the model. */
  readonly upstreamModel: string
}

export const defaultDeadlines: Deadlines = { startMs: 24 * 3_600_000, totalMs: 48 * 3_600_000 }

/** All accounts of the provider share the tasks of the model, unless routes say otherwise. */
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

/** The provider's names of each size. Clients may use these words instead of pixels. */
export type Shapes = Readonly<Record<string, Shape>>
export interface Shape {
  readonly resolution: string
  readonly ratio: string
}

/** The sizes of a model whose provider accepts only these words, no pixels. */
export function sizesOf(shapes: Shapes, usual: string): SizeRule {
  return { values: Object.keys(shapes), shapes, default: usual }
}

export const imageRules = ['none', 'optional', 'required'] as const

/** A name that clients may use: a model's own, or an alias of it. */
export interface CatalogEntry {
  readonly name: string
  readonly card: ModelCard
}

export interface Catalog {
  /** Changes as engines report their models, and as operators declare others. */
  readonly entries: Map<string, CatalogEntry>
  readonly defaultModel: string | null
  /** The number of changes since the start. What was built from another version is out of date. */
  version: number
}

export function buildCatalog(cards: Iterable<ModelCard>, aliases: Record<string, string>, defaultModel: string | null) {
  const entries = new Map<string, CatalogEntry>()
  for (const card of cards) entries.set(card.id, { name: card.id, card })
  for (const [name, target] of Object.entries(aliases)) {
    const card = entries.get(target)?.card
    if (card) entries.set(name, { name, card })
  }
  return { entries, defaultModel, version: 0 } satisfies Catalog
}

/** Replaces the models and aliases that are declared, and leaves those that were discovered. */
export function replaceDeclared(
  catalog: Catalog,
  before: Iterable<string>,
  declared: ReadonlyMap<string, CatalogEntry>,
): void {
  for (const name of before) if (!declared.has(name)) catalog.entries.delete(name)
  for (const [name, entry] of declared) catalog.entries.set(name, entry)
  catalog.version += 1
}

/** Removes a model that was discovered. */
export function removeModel(catalog: Catalog, id: string): void {
  catalog.entries.delete(id)
  catalog.version += 1
}

/** Adds a model that was discovered, or replaces its card. */
export function addModel(catalog: Catalog, card: ModelCard): void {
  catalog.entries.set(card.id, { name: card.id, card })
  catalog.version += 1
}

/**
 * A token may use a model that its globs match, under each of its names. An alias that happens to match a glob gives no
 * access to another model, unless the glob is the full alias.
 */
export function mayUse(token: Token, entry: CatalogEntry): boolean {
  return token.models.some((glob) => matchesModel(glob, entry))
}

export function matchesModel(glob: string, { name, card }: CatalogEntry): boolean {
  return matchesGlob(glob, card.id) || glob === name
}

/** Throws `model_not_found`: the same for a model that does not exist and for one that the token may not use. */
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

/** Comparing names takes time, and any client can send the name of a model that does not exist. */
const mostCompared = 100

/** A provider in front of a name, as gateways write it, is ignored. A dated name is close to its model. */
function nearest(requested: string, usable: readonly CatalogEntry[]): string[] {
  const bare = (name: string) => name.slice(name.lastIndexOf('/') + 1)
  const given = bare(requested).toLowerCase()
  const prefixes = usable.filter(({ name }) => given.startsWith(bare(name).toLowerCase()))
  const similar = closest(
    given,
    usable.map(({ name }) => bare(name)),
  )
  const names = [...prefixes, ...similar.flatMap((word) => usable.filter(({ name }) => bare(name) === word))]
  return [...new Set(names.map(({ name }) => name))].slice(0, 3)
}

/** OpenAI's model ids are built into its clients. An operator can map them to another model. */
function aliasHint(name: string, usable: readonly CatalogEntry[]): string {
  if (usable.length === 0 || !/^(\w{1,40}\/)?sora(-[\w.-]{1,40})?$/i.test(name)) return ''
  return ` To serve it with another model, start the server with --alias ${name}=MODEL.`
}

export function fitSeconds(card: ModelCard, requested: string | number | undefined): number {
  const rule = card.seconds
  if (requested === undefined) return rule.default
  const text = String(requested)
  const seconds = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN
  if (acceptsSeconds(rule, seconds)) return seconds
  throw new Problem('invalid_value', `\`seconds\` is '${text.slice(0, 50)}'. ${describeLimits(card).seconds}`, {
    param: 'seconds',
  })
}

/** A size in pixels, or in the words `resolution` and `aspect_ratio`. */
export interface RequestedSize {
  size?: string | undefined
  resolution?: string | undefined
  aspect_ratio?: string | undefined
}

export function fitSize(card: ModelCard, requested: RequestedSize): Size {
  const text = sizeInWords(card, requested) ?? requested.size ?? card.size.default
  const size = parseSize(text)
  if (size && acceptsSize(card.size, text)) return size
  throw new Problem('invalid_value', `\`size\` is '${text.slice(0, 50)}'. ${describeLimits(card).size}`, {
    param: 'size',
  })
}

/** The size that the words mean. A word that is left out is taken from the default size. */
function sizeInWords({ id, size: rule }: ModelCard, { size, ...words }: RequestedSize): string | undefined {
  if (words.aspect_ratio === undefined && words.resolution === undefined) return undefined
  const shapes = shapesOf(rule, size)
  const usual = shapes[size ?? rule.default]
  const { resolution = usual?.resolution, aspect_ratio: ratio = usual?.ratio } = words
  const hasResolution = (shape: Shape) => shape.resolution.toLowerCase() === resolution?.toLowerCase()
  const named = Object.entries(shapes).find(([, shape]) => hasResolution(shape) && shape.ratio === ratio)?.[0]
  const isRatio =
    words.resolution === undefined || (words.aspect_ratio !== undefined && Object.values(shapes).some(hasResolution))
  const param = isRatio ? 'aspect_ratio' : 'resolution'
  const refuse = (why: string) => {
    throw new Problem('invalid_value', `Invalid '${param}': ${why}`, { param })
  }
  if (named === undefined) {
    const listed = Object.values(shapes)
      .map((shape) => `${shape.resolution} ${shape.ratio}`)
      .join(', ')
    return refuse(`model '${id}' does not support '${String(words[param]).slice(0, 50)}'. It supports: ${listed}.`)
  }
  return size === undefined || size === named
    ? named
    : refuse(`it does not match 'size' ${size}. Leave out one of them.`)
}

/** The words for each size. If the provider has none, they are the shorter side and the ratio. */
function shapesOf(rule: SizeRule, requested: string | undefined): Shapes {
  if ('shapes' in rule && rule.shapes) return rule.shapes
  const sizes =
    'values' in rule
      ? rule.values
      : [...(requested === undefined ? [] : [requested]), ...usualSizes].filter((size) => acceptsSize(rule, size))
  return Object.fromEntries(sizes.flatMap((text) => (parseSize(text) ? [[text, shapeOf(text)]] : [])))
}

function shapeOf(text: string): Shape {
  const { width, height } = parseSize(text) ?? { width: 1, height: 1 }
  const divisor = greatestDivisor(width, height)
  const ratio = `${width / divisor}:${height / divisor}`
  return { resolution: `${Math.min(width, height)}p`, ratio: usualNames[ratio] ?? ratio }
}

/** The usual name of 7:3 is 21:9. */
const usualNames: Readonly<Record<string, string>> = { '7:3': '21:9', '3:7': '9:21' }

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/** For a model that accepts any size: each usual resolution in each usual ratio that whole pixels give exactly. */
const usualSizes: readonly string[] = [360, 480, 540, 720, 768, 1_080].flatMap((side) =>
  ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'].flatMap((ratio) => {
    const [width = 1, height = 1] = ratio.split(':').map(Number)
    const unit = side / Math.min(width, height)
    return Number.isInteger(unit * Math.max(width, height)) ? [`${unit * width}x${unit * height}`] : []
  }),
)

export function acceptsSeconds(rule: SecondsRule, seconds: number): boolean {
  return 'values' in rule ? rule.values.includes(seconds) : seconds >= rule.min && seconds <= rule.max
}

export function acceptsSize(rule: SizeRule, text: string): boolean {
  if ('values' in rule) return rule.values.includes(text)
  const size = parseSize(text)
  return size !== undefined && fitsSides(rule, size)
}

/** Sentences for error messages. */
export function describeLimits({ id, seconds, size }: Pick<ModelCard, 'id' | 'seconds' | 'size'>) {
  const listed = (values: readonly (string | number)[]) =>
    `Supported values are: ${values.map((value) => `'${value}'`).join(', ')}.`
  return {
    seconds:
      'values' in seconds
        ? listed(seconds.values)
        : `Model '${id}' accepts whole seconds from '${seconds.min}' to '${seconds.max}'.`,
    size:
      'values' in size
        ? listed(size.values)
        : `Model '${id}' accepts <width>x<height> with each side from ${size.minSide} to ${size.maxSide}, a multiple of ${size.multipleOf}, for example '${size.default}'.`,
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

/** Engines generate whole groups of frames. A larger difference also changes the reported `seconds`. */
const secondsAllowed = 0.5
/** Engines round each side to a multiple of 16 or 32 pixels. */
const pixelsAllowed = 16
/** Providers that accept a resolution and a ratio choose the pixels themselves. */
const shareAllowed = 0.05

type Requested = Pick<Task, 'seconds' | 'size' | 'image'>

/**
 * How a generated video differs from the request by more than its card allows: one sentence for each field. A card that
 * is no longer configured allows what an engine may do.
 */
export function describeDifferences(task: Requested, facts: VideoFacts, card: ModelCard | undefined): string[] {
  const differences: string[] = []
  if (Math.abs(facts.duration - task.seconds) > secondsAllowed)
    differences.push(`\`seconds\` was ${task.seconds}; the provider generated ${Number(facts.duration.toFixed(2))} s.`)
  if (!isSizeAllowed(task, facts, card))
    differences.push(`\`size\` was ${formatSize(task.size)}; the provider generated ${formatSize(facts)}.`)
  return differences
}

function isSizeAllowed({ size, image }: Requested, facts: VideoFacts, card: ModelCard | undefined): boolean {
  const share = card && 'shapes' in card.size ? shareAllowed : 0
  const isClose = (side: 'width' | 'height') =>
    Math.abs(facts[side] - size[side]) <= Math.max(pixelsAllowed, share * size[side])
  if (isClose('width') && isClose('height')) return true
  // A video that begins with the image has its shape.
  const follows = image !== null && 'asset' in image && card?.facts?.imageIs !== 'reference'
  return follows && Math.abs(ratioOf(facts) / ratioOf(image.size) - 1) <= shareAllowed
}

function ratioOf({ width, height }: Size): number {
  return width / height
}

import type { ModelCard } from './catalog.ts'
import { type Decimal, multiply, sum, toDecimal, toMicros, toText, withoutZeros } from './money.ts'
import { Problem } from './problem.ts'
import type { Parameters, PricePart, Size, TaskPrice } from './task.ts'
import { matchesGlob, type Token } from './token.ts'

/* What a video costs: the tables of providers, the operator's own prices, and the price that a submit freezes. */

/** What a price is for. Every video needs a price of one of the first three; the others are added to it. */
export const priceUnits = ['second', 'video', 'output_token', 'input_image', 'input_second'] as const
type PriceUnit = (typeof priceUnits)[number]

/** A price for requests that meet all of its conditions. */
export interface PriceLine {
  readonly unit: PriceUnit
  /** A decimal number, as text: JSON numbers are not exact. */
  readonly price: string
  /** The provider's word, or the shorter side: 720p. */
  readonly resolution?: string
  readonly audio?: boolean
  /** The value of the parameter `mode`. */
  readonly mode?: string
  /** The region of the operator's contract, as `prices.region` names it. */
  readonly region?: string
  /** With `output_token`: at most this many for each second of video. Without it, nothing can be reserved. */
  readonly tokens_per_second?: number
}

/** The price of a provider on that day, from that source. */
export interface PriceTable {
  readonly currency: string
  readonly on: string
  readonly source: string
  readonly lines: readonly PriceLine[]
}

/** Prices in US dollars for each second: by resolution, and with or without sound if that makes a difference. */
export function perSecond(
  { on, source, audio }: Pick<PriceTable, 'on' | 'source'> & { audio?: boolean },
  prices: Readonly<Record<string, string>>,
): PriceTable {
  const lines = Object.entries(prices).map(([resolution, price]): PriceLine => {
    const condition = audio === undefined ? {} : { audio }
    return { unit: 'second', price, resolution, ...condition }
  })
  return { currency: 'USD', on, source, lines }
}

/** What the operator decided. Without settings every video is free and nothing is recorded. */
export interface PriceSettings {
  readonly currency: string
  /** Currencies of earlier amounts that the operator knows of: they do not count towards caps. */
  readonly formerCurrencies?: readonly string[]
  /** A model without a price is refused, or free. */
  readonly unpriced: 'refuse' | 'free'
  readonly region: string | null
  /** The first that fits decides: those of a project before those of all, those of a model before those of all. */
  readonly rules: readonly PriceRule[]
}

export interface PriceRule {
  /** Null: of all projects. */
  readonly project: string | null
  /** A glob of model names. */
  readonly model: string
  /** The price for clients. */
  readonly price?: readonly PriceLine[]
  /** Or the provider's cost times this. */
  readonly markup?: string
  /** The provider's cost, in place of the card's. */
  readonly cost?: readonly PriceLine[]
}

/** The part of a request that decides its price, after all defaults are known. */
export interface PricedRequest {
  readonly card: ModelCard
  /** The project that pays. */
  readonly owner: string
  readonly seconds: number
  readonly size: Size
  readonly parameters: Parameters
  readonly hasImage: boolean
  /** The length of the source video that is sent to the provider; 0 if none is. */
  readonly sourceSeconds: number
}

/** Of the prices on the cards, and of an operator who names no other. */
export const usualCurrency = 'USD'

const plainPrices: PriceSettings = { currency: usualCurrency, unpriced: 'refuse', region: null, rules: [] }

/**
 * The settings for a token. Without prices of the operator, videos of a token with a spend cap have the prices of the
 * cards. Operators see those, too. A token with a cap gets nothing that can't be counted.
 */
export function pricesFor(settings: PriceSettings | null, { spend, kind }: Pick<Token, 'spend' | 'kind'>) {
  const isCapped = Boolean(spend?.length)
  if (!settings) return isCapped || kind === 'operator' ? plainPrices : null
  return isCapped ? { ...settings, unpriced: 'refuse' as const } : settings
}

/** The price of a request; null if it is free. Throws `price_unknown` if it can't be computed and must not be free. */
export function priceRequest(settings: PriceSettings | null, request: PricedRequest): TaskPrice | null {
  if (!settings) return null
  const found = computePrice(settings, request)
  if (!('reason' in found)) return found
  if (settings.unpriced === 'free' && !found.isTooLarge) return null
  const { id } = request.card
  const message = `The price of this video can't be computed: ${found.reason}. Ask your operator to set a price for '${id}' in \`prices\`.`
  throw new Problem('price_unknown', message, { param: 'model' })
}

/** Why the default request of a model has no price; undefined if it has one. */
export function whyUnpriced(settings: PriceSettings, request: PricedRequest): string | undefined {
  const found = computePrice(settings, request)
  return 'reason' in found ? found.reason : undefined
}

interface Unknown {
  readonly reason: string
  /** There is a price, of more than an amount can be. */
  readonly isTooLarge?: true
}

function computePrice(settings: PriceSettings, request: PricedRequest): TaskPrice | Unknown {
  const { card } = request
  const { rules, rule } = rulesFor(settings, card, request.owner)
  const costs = costParts(settings, request, rules)
  const charges = rule?.price ? partsOf(rule.price, request, settings) : costs
  if (!Array.isArray(charges)) return charges
  const markup = toDecimal((rule?.price ? undefined : rule?.markup) ?? '1')
  const charge = charges.map((part) => ({ ...part, price: toText(multiply(toDecimal(part.price), markup)) }))
  const cost = Array.isArray(costs) ? costs : null
  const [charged, costing] = [amountOf(charge), cost && amountOf(cost)]
  if (charged === undefined || costing === undefined) return { reason: 'the amount is too large', isTooLarge: true }
  const isMetered = [...charge, ...(cost ?? [])].some(({ metered }) => metered)
  return {
    currency: settings.currency,
    charge: charged,
    cost: costing,
    billsFailures: card.failuresBilled,
    ...(isMetered && { metered: { charge, cost } }),
  }
}

/** The rules that are about a model and a project, and the one that decides the price for clients. */
function rulesFor(settings: PriceSettings, card: ModelCard, owner: string) {
  const rules = settings.rules.filter(
    ({ project, model }) => (project === null || project === owner) && matchesGlob(model, card.id),
  )
  const deciding = rules.filter(({ price, markup }) => price ?? markup)
  // What the configuration says about a project or about this very model wins over what was declared with the model.
  const named = deciding.find(({ project, model }) => project !== null || model === card.id)
  const own = card.ownPrice && { price: card.ownPrice }
  const rule: Pick<PriceRule, 'price' | 'markup'> | undefined = named ?? own ?? deciding[0]
  return { rules, rule }
}

/** What a model costs, line by line. */
export type ModelPrice = Pick<PriceTable, 'currency' | 'lines'>

/**
 * What videos of a model cost a project. Null if they are not charged, if the price is unknown, or if it depends on the
 * route: a quote has the price of each request.
 */
export function priceOfModel(settings: PriceSettings | null, card: ModelCard, owner: string): ModelPrice | null {
  if (!settings) return null
  const { rules, rule } = rulesFor(settings, card, owner)
  if (rule?.price) return priceIn(settings, rule.price)
  const costs = rules.find(({ cost }) => cost)?.cost ?? providerLines(settings, card)
  const markup = toDecimal(rule?.markup ?? '1')
  const charged = ({ price }: PriceLine) => withoutZeros(toText(multiply(toDecimal(price), markup)))
  return priceIn(
    settings,
    costs.map((line) => ({ ...line, price: charged(line) })),
  )
}

/** Whether clients see other prices than what the provider charges. */
export function hasOwnPrices(settings: PriceSettings | null, { ownPrice }: ModelCard): boolean {
  return settings !== null || ownPrice !== undefined
}

function providerLines({ currency }: PriceSettings, card: ModelCard): readonly PriceLine[] {
  const [table, ...others] = tablesOf(card)
  if (!table || !hasCurrency(table, currency)) return []
  const prices = JSON.stringify(table.lines)
  return others.every((other) => JSON.stringify(other?.lines) === prices) ? table.lines : []
}

/** Only what applies in the operator's region. */
function priceIn({ currency, region }: PriceSettings, all: readonly PriceLine[]): ModelPrice | null {
  const lines = all.filter((line) => line.region === undefined || line.region === region)
  const conditions = ({ unit, resolution, audio, mode }: PriceLine) => JSON.stringify([unit, resolution, audio, mode])
  const regional = new Set(lines.filter((line) => line.region !== undefined).map(conditions))
  const applying = lines.filter((line) => line.region !== undefined || !regional.has(conditions(line)))
  const isUnknown = ({ unit, tokens_per_second: rate }: PriceLine) => unit === 'output_token' && rate === undefined
  const isPriced = applying.some(({ unit }) => generating.includes(unit)) && !applying.some(isUnknown)
  return isPriced ? { currency, lines: applying } : null
}

/** The provider's cost: the operator's own figure, or the cards' if those have the same currency. */
function costParts(
  settings: PriceSettings,
  request: PricedRequest,
  rules: readonly PriceRule[],
): PricePart[] | Unknown {
  const own = rules.find(({ cost }) => cost)?.cost
  if (own) return partsOf(own, request, settings)
  const found = tablesOf(request.card).map((table) => tableParts(settings, request, table))
  return found.find((parts) => !Array.isArray(parts)) ?? found.filter(Array.isArray).toSorted(byAmount)[0] ?? []
}

/** Of each route, because which one a task takes is not known yet. Null: a route without a known price. */
function tablesOf({ routes, facts }: ModelCard): (PriceTable | null)[] {
  const tables = new Set(routes.map(({ price }) => (price === undefined ? facts?.price : price) ?? null))
  return tables.size === 0 ? [facts?.price ?? null] : [...tables]
}

/** The dearest first. */
function byAmount(one: readonly PricePart[], other: readonly PricePart[]): number {
  return (amountOf(other) ?? Number.POSITIVE_INFINITY) - (amountOf(one) ?? Number.POSITIVE_INFINITY)
}

function tableParts(settings: PriceSettings, request: PricedRequest, table: PriceTable | null): PricePart[] | Unknown {
  const { id } = request.card
  if (!table) return { reason: `'${id}' has no price` }
  if (!hasCurrency(table, settings.currency))
    return { reason: `the price of '${id}' is in ${table.currency}, and prices here are in ${settings.currency}` }
  return partsOf(table.lines, request, settings)
}

/** Nothing is the same in all currencies. */
function hasCurrency({ currency, lines }: PriceTable, wanted: string): boolean {
  return currency === wanted || lines.every(({ price }) => toDecimal(price).digits === 0n)
}

/** Units that a video is generated for. One of them must have a price. */
const generating: readonly PriceUnit[] = ['second', 'video', 'output_token']

function partsOf(
  lines: readonly PriceLine[],
  request: PricedRequest,
  { region }: Pick<PriceSettings, 'region'>,
): PricePart[] | Unknown {
  const { card, seconds, hasImage, sourceSeconds } = request
  const priced = new Set(lines.map(({ unit }) => unit))
  const needed: Partial<Record<PriceUnit, number>> = { second: seconds, video: 1, output_token: seconds }
  if (hasImage) needed.input_image = 1
  if (sourceSeconds > 0) needed.input_second = sourceSeconds
  const parts: PricePart[] = []
  let isGenerated = false
  for (const [unit, quantity] of Object.entries(needed) as [PriceUnit, number][]) {
    if (!priced.has(unit)) continue
    const line = bestOf(lines, unit, request, region)
    // Prices of a model may be by second in one resolution, and by video in another.
    if (!line && generating.includes(unit)) continue
    if (!line) return { reason: `'${card.id}' has no price for ${describe(request)} with an input` }
    const { tokens_per_second: rate, price } = line
    if (unit === 'output_token' && rate === undefined)
      return { reason: `the price of '${card.id}' has no \`tokens_per_second\`, so its maximum is unknown` }
    isGenerated ||= generating.includes(unit)
    parts.push(
      unit === 'output_token' ? { quantity: quantity * Number(rate), price, metered: true } : { quantity, price },
    )
  }
  return isGenerated ? parts : { reason: `'${card.id}' has no price for ${describe(request)}` }
}

/** The line with the most conditions. If the request leaves a choice to the provider, that of its most expensive choice. */
function bestOf(
  lines: readonly PriceLine[],
  unit: PriceUnit,
  request: PricedRequest,
  region: string | null,
): PriceLine | undefined {
  const fitting = lines.filter((line) => line.unit === unit && fits(line, request, region))
  const [sounds, mode] = [soundOf(request), request.parameters.mode]
  const modes = mode === undefined ? [undefined, ...fitting.map((line) => line.mode)] : [mode]
  const choices = (sounds === undefined ? [true, false] : [sounds]).flatMap((audio) =>
    modes.map((mode) => ({ audio, mode })),
  )
  const conditions = (line: PriceLine) =>
    [line.resolution, line.audio, line.mode, line.region].filter((condition) => condition !== undefined).length
  const byPrice = (a: PriceLine, b: PriceLine) => compare(toDecimal(b.price), toDecimal(a.price))
  const bests = choices.flatMap(
    ({ audio, mode }) =>
      fitting
        .filter((line) => (line.audio ?? audio) === audio && (line.mode ?? mode) === mode)
        .sort((a, b) => conditions(b) - conditions(a) || byPrice(a, b))[0] ?? [],
  )
  return bests.sort(byPrice)[0]
}

function fits(line: PriceLine, request: PricedRequest, region: string | null): boolean {
  const { resolution, audio, mode } = line
  const sounds = soundOf(request)
  const chosen = request.parameters.mode
  return (
    (resolution === undefined || resolution.toLowerCase() === resolutionOf(request)) &&
    (audio === undefined || sounds === undefined || audio === sounds) &&
    (mode === undefined || chosen === undefined || mode === chosen) &&
    (line.region === undefined || line.region === region)
  )
}

/** Undefined if the provider decides. */
function soundOf({ card, parameters }: PricedRequest): boolean | undefined {
  const rule = card.facts?.audio
  if (rule === 'always' || rule === 'never') return rule === 'always'
  return typeof parameters.audio === 'boolean' ? parameters.audio : undefined
}

function resolutionOf({ card: { size: rule }, size }: PricedRequest): string {
  const shapes = 'shapes' in rule ? rule.shapes : undefined
  const word = shapes?.[`${size.width}x${size.height}`]?.resolution ?? `${Math.min(size.width, size.height)}p`
  return word.toLowerCase()
}

function describe(request: PricedRequest): string {
  const sounds = soundOf(request)
  const sound = sounds === undefined ? '' : sounds ? ' with sound' : ' without sound'
  return `${resolutionOf(request)}${sound}`
}

/** Micros. Undefined if it is too large. */
export function amountOf(parts: readonly PricePart[]): number | undefined {
  return toMicros(
    sum(parts.map(({ quantity, price }) => multiply(toDecimal(price), { digits: BigInt(quantity), scale: 0 }))),
  )
}

function compare(one: Decimal, other: Decimal): number {
  const difference = one.digits * 10n ** BigInt(other.scale) - other.digits * 10n ** BigInt(one.scale)
  return difference > 0n ? 1 : difference < 0n ? -1 : 0
}

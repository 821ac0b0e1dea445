import { type Catalog, type ModelCard, matchesModel, parseSize } from '../core/catalog.ts'
import { decimalPattern, toDecimal, toMicros } from '../core/money.ts'
import {
  type PricedRequest,
  type PriceLine,
  type PriceRule,
  type PriceSettings,
  priceUnits,
  usualCurrency,
  whyUnpriced,
} from '../core/prices.ts'
import { isTimeZone, type SpendCap, spendPeriods } from '../core/spend.ts'
import { type Mistakes, placeIn } from './mistakes.ts'
import type { FileSettings, TokenSettings } from './schema.ts'

/* What videos cost, and how much a token may spend: the keys of filmgate.yaml, and how they are read. */

/** Text, because a number of YAML is not exact. */
const decimal = {
  type: 'string',
  pattern: decimalPattern,
  errorMessage: "it is not a decimal number in quotes; write for example '0.084'",
} as const

const word = { type: 'string', minLength: 1, errorMessage: 'it is empty or not text; write it in quotes' } as const

const line = {
  type: 'object',
  description: 'A price for requests that meet all of its conditions.',
  additionalProperties: false,
  required: ['unit', 'price'],
  properties: {
    unit: {
      type: 'string',
      enum: priceUnits,
      description:
        'What is charged for: a `second` of video, a `video`, an `output_token`, an `input_image`, or an `input_second` of a source video.',
    },
    price: { ...decimal, description: 'The price of one unit.' },
    resolution: { ...word, description: "Condition: the provider's word for the resolution, such as 720p." },
    audio: { type: 'boolean', description: 'Condition: with or without sound.' },
    mode: { ...word, description: 'Condition: the parameter `mode`.' },
    region: { ...word, description: 'Condition: `region` of `prices`.' },
    tokens_per_second: {
      type: 'integer',
      minimum: 1,
      maximum: 100_000_000,
      description: 'With `output_token`: the most tokens for a second of video. That many are reserved.',
      errorMessage: 'it is not a whole number above 0; write for example 21600',
    },
  },
} as const

export const priceLines = {
  type: 'array',
  minItems: 1,
  items: line,
  errorMessage: "it is not a list of prices; write for example [{unit: second, price: '0.10'}]",
} as const

const markup = {
  ...decimal,
  description: "The price for clients is the provider's cost times this. The default is 1.",
  errorMessage: "it is not a decimal number in quotes; write for example '1.2' to add 20 %",
} as const

const models = {
  type: ['object', 'null'],
  description: 'Prices of models, by name. `*` stands for any characters; a full name comes first.',
  additionalProperties: {
    type: ['object', 'null'],
    description: 'The price of a model.',
    additionalProperties: false,
    properties: {
      price: { ...priceLines, description: 'The price for clients.' },
      markup,
      cost: { ...priceLines, description: "The provider's cost, in place of the prices in the catalogue." },
    },
  },
} as const

const currency = {
  type: 'string',
  pattern: '^[A-Z]{3}$',
  errorMessage: 'it is not the code of a currency; write three capital letters such as USD',
} as const

export const pricesSchema = {
  type: ['object', 'null'],
  description:
    'What videos cost. Without this key, only videos of tokens with `spend` have a price, that of the catalogue in US dollars; all others are free, and nothing is recorded for them.',
  additionalProperties: false,
  properties: {
    currency: {
      ...currency,
      default: usualCurrency,
      description: 'The currency of all amounts here and in `spend`.',
    },
    former_currencies: {
      type: 'array',
      items: currency,
      description:
        'Currencies that `currency` had before. Amounts in them stay in the ledger, and do not count towards the caps of `spend`.',
      errorMessage: 'it is not a list of currencies; write for example [USD]',
    },
    unpriced: {
      type: 'string',
      enum: ['refuse', 'free'],
      default: 'refuse',
      description: 'What happens to a request whose price is unknown. `refuse` responds with 400.',
    },
    region: { ...word, description: 'The region of your contracts, for prices with that condition.' },
    markup,
    models,
    projects: {
      type: ['object', 'null'],
      description:
        'Prices of projects: by the project, else by the id or the configured name of a token. They come before the others.',
      additionalProperties: {
        type: ['object', 'null'],
        description: 'The prices of a project.',
        additionalProperties: false,
        properties: { markup, models },
      },
    },
  },
} as const

const limit = {
  ...decimal,
  description: 'The limit, in the currency of `prices`.',
  errorMessage: "it is not an amount in quotes; write for example '5.00'",
} as const

const cap = (period: string) =>
  ({
    type: 'object',
    description: `The limit ${period}.`,
    additionalProperties: false,
    required: ['limit'],
    properties: {
      limit,
      time_zone: {
        ...word,
        default: 'UTC',
        description: 'The time zone in which the period begins, such as Europe/Berlin.',
        errorMessage: 'it is empty or not text; write for example Europe/Berlin',
      },
    },
  }) as const

export const spendSchema = {
  type: ['object', 'null'],
  description: 'How much its videos may cost. No limit by default.',
  additionalProperties: false,
  properties: { day: cap('of a day'), month: cap('of a calendar month'), total: cap('of all time') },
} as const

/** Null if no prices are configured. */
export function readPrices({ prices }: FileSettings, mistakes: Mistakes): PriceSettings | null {
  if (prices === undefined) return null
  const {
    currency = usualCurrency,
    unpriced = 'refuse',
    region = null,
    former_currencies: former,
    ...all
  } = prices ?? {}
  const projects = Object.entries(all.projects ?? {}).flatMap(([project, settings = {}]) =>
    readRules(placeIn('prices.projects', project), project, settings, mistakes),
  )
  const rules = [...projects, ...readRules('prices', null, all, mistakes)]
  return { currency, unpriced, region, rules, ...(former && { formerCurrencies: former }) }
}

type Rules = Pick<NonNullable<FileSettings['prices']>, 'markup' | 'models'>

/** Full names before globs, and models before all of them. */
function readRules(where: string, project: string | null, given: Rules, mistakes: Mistakes): PriceRule[] {
  const entries = Object.entries(given.models ?? {}).sort(
    ([a], [b]) => Number(a.includes('*')) - Number(b.includes('*')),
  )
  const rules = entries.map(([model, { price, markup, cost } = {}]) => {
    if (price && markup !== undefined)
      mistakes.add(
        `${placeIn(`${where}.models`, model)}.markup`,
        'it is set together with price',
        'leave out one of the two',
      )
    return {
      project,
      model,
      ...(price && { price: price as PriceLine[] }),
      ...(markup !== undefined && { markup }),
      ...(cost && { cost: cost as PriceLine[] }),
    }
  })
  return [...rules, ...(given.markup === undefined ? [] : [{ project, model: '*', markup: given.markup }])]
}

export function readSpend(
  where: string,
  given: NonNullable<TokenSettings['spend']>,
  mistakes: Mistakes,
): readonly SpendCap[] {
  return spendPeriods.flatMap((period) => {
    const { limit, time_zone: zone = 'UTC' } = given[period] ?? {}
    if (limit === undefined) return []
    if (!isTimeZone(zone))
      mistakes.addUnknown(
        `${where}.${period}.time_zone`,
        zone,
        'use a name such as UTC or Europe/Berlin',
        (quoted) => `there is no time zone ${quoted}`,
      )
    return [{ period, limit: toMicros(toDecimal(limit)) ?? 0, zone }]
  })
}

/** Names of models that are probably typos, and models without a price. */
export function warningsOfPrices(settings: PriceSettings | null, { entries }: Catalog): string[] {
  if (!settings) return []
  const all = [...entries.values()]
  const unknown = settings.rules
    .filter(({ model }) => model !== '*' && !all.some((entry) => matchesModel(model, entry)))
    .map(({ model }) => `prices: '${model}' matches no model`)
  const unpriced = all
    .filter(({ name, card }) => name === card.id && whyUnpriced(settings, defaultRequest(card)) !== undefined)
    .map(({ name }) => name)
  const isFree = settings.unpriced === 'free'
  const fate = isFree ? 'are free' : 'are refused'
  const fix = `set a price under \`prices.models\`${isFree ? '' : ', or `prices.unpriced: free`'}`
  const names = unpriced.slice(0, 10).join(', ') + (unpriced.length > 10 ? ` and ${unpriced.length - 10} others` : '')
  return unpriced.length === 0 ? unknown : [...unknown, `prices: models without a price ${fate} (${names}); ${fix}`]
}

function defaultRequest(card: ModelCard): PricedRequest {
  const size = parseSize(card.size.default) ?? { width: 1, height: 1 }
  return { card, owner: '', seconds: card.seconds.default, size, parameters: {}, hasImage: false, sourceSeconds: 0 }
}

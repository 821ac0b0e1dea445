import { readFileSync } from 'node:fs'
import { loadConfig } from '../config.ts'
import type { ModelCard } from '../core/catalog.ts'
import { findListed, type ListedModel, type PriceList, readPriceList } from '../core/price-lists.ts'
import type { PriceLine } from '../core/prices.ts'
import { messageOf } from '../core/problem.ts'
import { type Command, readArguments, suggestion } from './arguments.ts'
import { exits, Failure, UsageFailure } from './failure.ts'
import { jsonLine, printable } from './screen/text.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate prices import FILE [options]

Reads the prices of video models from a published list, and prints those of your
models as \`prices\` of filmgate.yaml: the provider's cost, in US dollars. FILE is
LiteLLM's model_prices_and_context_window.json, or the response of OpenRouter's
GET /api/v1/videos/models. Nothing is changed: check the prices and paste them.
Stderr names the models that the list does not have, prices that it has in a
form that is not understood, and prices on the cards that differ or are old.

Examples:
  filmgate prices import model_prices_and_context_window.json > prices.yaml
  filmgate prices import models.json --map google/veo-3.1=fal/veo-3.1

Options:
  --map LISTED=MODEL  the name of a model in the list, and yours; repeat it
  --config FILE       the path of filmgate.yaml (./filmgate.yaml, if it exists)
  --json              one JSON object on stdout

Exit codes: 0 prices were found, 1 none was found or FILE can't be read, 2 a
mistake in the command or the configuration.
`

const options = {
  map: { type: 'string', multiple: true },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const

/** A price on a card that is older than this is named. */
const staleMs = 90 * 86_400_000

export const command: Command = {
  help,
  async run([word = '', ...args], terminal) {
    if (word === '') throw new UsageFailure('the word after prices is missing; use prices import FILE')
    if (word !== 'import') throw new UsageFailure(`there is no 'prices ${word}'${suggestion(word, ['import'])}`)
    const { values, operands } = readArguments(args, { options, operands: ['FILE'] })
    const flags = values.config === undefined ? {} : { config: values.config }
    const { catalog } = loadConfig({ flags, env: terminal.env })
    const entries = [...catalog.entries.values()].filter(({ name, card }) => name === card.id)
    const cards = entries.map(({ card }) => card)
    const renamed = readMap([values.map ?? []].flat(), cards)
    const list = readList(operands[0] ?? '')
    const found = compare(list, cards, renamed, terminal.now())
    if (values.json) terminal.out(jsonLine({ object: 'price_list', publisher: list.publisher, ...found }))
    else show(list, found, terminal)
    return found.data.length > 0 ? exits.done : exits.error
  },
}

function readMap(pairs: readonly string[], cards: readonly ModelCard[]): Map<string, string> {
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      const [listed, model] = [pair.slice(0, at), pair.slice(at + 1)]
      if (at < 1 || model === '') throw new UsageFailure(`--map is '${pair}'; write it as LISTED=MODEL`)
      const names = cards.map(({ id }) => id)
      if (!names.includes(model)) throw new UsageFailure(`there is no model '${model}'${suggestion(model, names)}`)
      return [listed, model]
    }),
  )
}

function readList(path: string): PriceList {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Failure(`${path} can't be read: ${messageOf(error).split('\n', 1)[0]}`)
  }
  const list = readPriceList(value)
  if (!list) throw new Failure(`${path} is neither LiteLLM's list of prices nor OpenRouter's list of video models`)
  return list
}

interface Imported {
  model: string
  listed_as: string
  lines: readonly PriceLine[]
}

interface Comparison {
  data: Imported[]
  /** Models that the list does not have, or has no usable price for. */
  missing: string[]
  /** Prices of the list that are not understood. */
  unread: { model: string; prices: readonly string[] }[]
  /** Models whose card has another price. */
  changed: string[]
  /** Models whose card has an old price. */
  stale: string[]
}

function compare(
  list: PriceList,
  cards: readonly ModelCard[],
  renamed: ReadonlyMap<string, string>,
  now: number,
): Comparison {
  const found = cards.flatMap((card) => {
    const listed = findListed(list, card, renamed)
    return listed ? [{ card, listed }] : []
  })
  const usable = found.filter(({ listed }) => listed.lines.length > 0)
  const names = new Set(usable.map(({ card }) => card.id))
  return {
    data: usable.map(({ card, listed }) => ({ model: card.id, listed_as: listed.name, lines: listed.lines })),
    // What runs on this machine has no list price.
    missing: cards.filter((card) => !names.has(card.id) && !isFree(card)).map(({ id }) => id),
    unread: found.flatMap(({ card, listed: { unread } }) =>
      unread.length > 0 ? [{ model: card.id, prices: unread }] : [],
    ),
    changed: usable.filter(({ card, listed }) => differs(card, listed)).map(({ card }) => card.id),
    stale: cards.filter((card) => !isFree(card) && isStale(card, now)).map(({ id }) => id),
  }
}

function isFree({ facts }: ModelCard): boolean {
  return facts?.price?.lines.every(({ price }) => Number(price) === 0) ?? false
}

function isStale({ facts }: ModelCard, now: number): boolean {
  return facts?.price ? now - Date.parse(facts.price.on) > staleMs : false
}

/** A line of the card with the same conditions has another price. */
function differs({ facts }: ModelCard, { lines }: ListedModel): boolean {
  const keyOf = ({ unit, resolution, audio }: PriceLine) => JSON.stringify([unit, resolution, audio])
  const own = new Map(facts?.price?.lines.map((line) => [keyOf(line), Number(line.price)]))
  return lines.some((line) => (own.get(keyOf(line)) ?? Number(line.price)) !== Number(line.price))
}

function show({ publisher }: PriceList, found: Comparison, terminal: Terminal): void {
  const { data, missing, unread, changed, stale } = found
  const date = new Date(terminal.now()).toISOString().slice(0, 10)
  if (data.length > 0)
    terminal.out(
      [
        `# From ${publisher}'s list, ${date}. The provider's bill decides.`,
        'prices:',
        '  models:',
        ...data.flatMap(({ model, listed_as: name, lines }) => [
          `    ${JSON.stringify(model)}: # ${printable(name)}`,
          '      cost:',
          ...lines.map((line) => `        - ${yamlOf(line)}`),
        ]),
        '',
      ].join('\n'),
    )
  else terminal.err(`${publisher}'s list has none of your models. Assign names with --map LISTED=MODEL.\n`)
  if (missing.length > 0) terminal.err(`Missing in the list: ${missing.join(', ')}\n`)
  for (const { model, prices } of unread)
    terminal.err(`Not understood, for ${model}: ${printable(prices.join(', '))}\n`)
  if (changed.length > 0) terminal.err(`Another price than on the card: ${changed.join(', ')}\n`)
  if (stale.length > 0) terminal.err(`The price on the card is older than 90 days: ${stale.join(', ')}\n`)
}

/** JSON is YAML, and prices stay text. */
function yamlOf(line: PriceLine): string {
  const fields = Object.entries(line).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return `{ ${fields.join(', ')} }`
}

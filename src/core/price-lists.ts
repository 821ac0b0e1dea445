import type { ModelCard } from './catalog.ts'
import { withoutZeros } from './money.ts'
import type { PriceLine } from './prices.ts'

/* Price lists that others publish: LiteLLM's `model_prices_and_context_window.json`, and OpenRouter's list of video models. */

/** The video models of a published list. */
export interface PriceList {
  readonly publisher: 'LiteLLM' | 'OpenRouter'
  readonly models: readonly ListedModel[]
}

export interface ListedModel {
  readonly name: string
  /** In US dollars. */
  readonly lines: readonly PriceLine[]
  /** Prices that are not understood, by their names in the list. */
  readonly unread: readonly string[]
}

type Fields = Record<string, unknown>

/** Undefined if the value is neither of the two lists. */
export function readPriceList(value: unknown): PriceList | undefined {
  if (!isFields(value)) return undefined
  if (Array.isArray(value.data)) {
    const models = value.data.filter(isFields).flatMap((entry) => readOpenRouter(entry))
    return { publisher: 'OpenRouter', models }
  }
  const entries = Object.entries(value).filter((entry): entry is [string, Fields] => isFields(entry[1]))
  if (!entries.some(([, { litellm_provider: provider }]) => typeof provider === 'string')) return undefined
  const videos = entries.filter(([, { mode }]) => mode === 'video_generation')
  return { publisher: 'LiteLLM', models: videos.map(([name, fields]) => readLiteLlm(name, fields)) }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `output_cost_per_second`, `output_cost_per_video_per_second_1080p`, `output_cost_per_video`. */
const liteLlmPrice = /^output_cost_per_(?:(video)|(?:video_per_)?second)(?:_(\d+p|\dk))?$/

function readLiteLlm(name: string, fields: Fields): ListedModel {
  const lines: PriceLine[] = []
  const unread: string[] = []
  for (const [field, value] of Object.entries(fields)) {
    if (!/^(in|out)put_cost_per_/.test(field)) continue
    const [, isVideo, resolution] = liteLlmPrice.exec(field) ?? []
    const price = decimalOf(value)
    if (!liteLlmPrice.test(field) || price === undefined) unread.push(field)
    else lines.push({ unit: isVideo ? 'video' : 'second', price, ...(resolution !== undefined && { resolution }) })
  }
  return { name, lines: withoutRepeats(lines), unread }
}

/** `duration_seconds`, `duration_seconds_without_audio_720p`, `cents_per_second_output`. */
const openRouterPrice =
  /^(?:text_to_video_)?(?:duration_seconds|(cents)_per_second_output)(?:_(with|without)_audio)?(?:_(\d+p|\dk))?$/i

function readOpenRouter({ id, pricing_skus: prices }: Fields): ListedModel[] {
  if (typeof id !== 'string' || !isFields(prices)) return []
  const lines: PriceLine[] = []
  const unread: string[] = []
  for (const [name, value] of Object.entries(prices)) {
    const [, cents, sound, resolution] = openRouterPrice.exec(name) ?? []
    const price = decimalOf(Number(value) / (cents ? 100 : 1))
    if (!openRouterPrice.test(name) || price === undefined) unread.push(name)
    else
      lines.push({
        unit: 'second',
        price,
        ...(resolution !== undefined && { resolution: resolution.toLowerCase() }),
        ...(sound !== undefined && { audio: sound.toLowerCase() === 'with' }),
      })
  }
  return [{ name: id, lines, unread }]
}

/** A number of JSON as decimal text: 0.0000025, not 2.5e-6. Prices have far fewer than 12 digits after the point. */
function decimalOf(value: unknown): string | undefined {
  if (typeof value !== 'number' || !(value >= 0 && value < 1e9)) return undefined
  return withoutZeros(value.toFixed(12))
}

function withoutRepeats(lines: readonly PriceLine[]): PriceLine[] {
  return [...new Map(lines.map((line) => [JSON.stringify(line), line])).values()]
}

/** Others sell the same models for other prices: their models are known by the whole name only. */
const resellers = ['fal', 'replicate']

/** The entry of a list for a model of the catalogue. `renamed` are names in the list that the operator assigned to models. */
export function findListed(
  { models }: PriceList,
  card: ModelCard,
  renamed: ReadonlyMap<string, string>,
): ListedModel | undefined {
  const assigned = models.find(({ name }) => renamed.get(name) === card.id)
  if (assigned) return assigned
  const names = [card.id, ...card.routes.map(({ upstreamModel }) => upstreamModel)]
  const isSame = ({ name }: ListedModel) =>
    resellers.includes(card.ownedBy)
      ? names.some((own) => own.includes('/') && (name === own || name.endsWith(`/${own}`)))
      : names.some((own) => bare(own) === bare(name))
  return models.find((model) => !renamed.has(model.name) && isSame(model))
}

/** Without the provider in front of it. */
function bare(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1).toLowerCase()
}

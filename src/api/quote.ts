import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AccountView, acceptsTasks } from '../core/account.ts'
import { type CatalogEntry, formatSize } from '../core/catalog.ts'
import type { Clock, Random } from '../core/clock.ts'
import { isPaused } from '../core/health.ts'
import { fromMicros } from '../core/money.ts'
import { priceRequest, pricesFor, whyUnpriced } from '../core/prices.ts'
import { Problem } from '../core/problem.ts'
import { orderRoutes } from '../core/routing.ts'
import { ownerOf } from '../core/token.ts'
import { CreateVideo, OperatorQuote, OperatorQuoteQuery, VideoQuote } from '../wire/videos.ts'
import { maxBodyBytes } from './body.ts'
import type { Estimates } from './estimates.ts'
import { type BodyRequest, bodyFaults, defineRoute, type Route } from './route.ts'
import { readSubmit } from './spellings.ts'
import { openSpend, orUnavailable } from './spend.ts'
import type { VideoDependencies } from './submit.ts'
import {
  type CreateBody,
  generations,
  ignored,
  openResolve,
  type Quote,
  refuseImageMismatch,
  type UploadHooks,
} from './videos.ts'

/* What a request would create and cost. Nothing is stored, no URL in it is fetched or resolved, and no image decoded. */

interface QuoteDependencies extends VideoDependencies, UploadHooks {
  estimates: Estimates
  accounts: ReadonlyMap<string, AccountView>
  clock: Clock
  random: Random
}

export const quotePath = '/v1/videos/quote'
/** Where `?dry_run=true` is accepted. */
const dryRunPaths = ['/v1/videos', ...generations.map(({ path }) => path)]
const example = { model: 'studio', prompt: 'a red fox in snow at dusk', seconds: '4', size: '1280x720' }

/** Whether a request creates nothing. Elsewhere, `dry_run` must not be ignored: the client would pay for a video. */
export function isQuote({ query, routeOptions: { url = '' } }: FastifyRequest): boolean {
  const { dry_run: dryRun } = query as { dry_run?: unknown }
  const misspelt = Object.keys(query as object).find((name) => name !== 'dry_run' && isDryRun(name))
  if (misspelt !== undefined)
    throw new Problem('unknown_parameter', `Unknown parameter: '${misspelt.slice(0, 50)}'. Did you mean 'dry_run'?`, {
      param: 'dry_run',
    })
  if (url === quotePath) return true
  if (dryRun === undefined || dryRunPaths.includes(url)) return dryRun === 'true'
  const message = "Unknown parameter: 'dry_run'. Only POST /v1/videos accepts it."
  throw new Problem('unknown_parameter', message, { param: 'dry_run' })
}

/** However it is spelt: `dryRun`, `dry-run`, `dry_run[]`. */
function isDryRun(name: string): boolean {
  return name.toLowerCase().replace(/[^a-z]/g, '') === 'dryrun'
}

interface Quotes {
  quote: Quote
  clientRoute: Route
  operatorRoute: Route
}

export function openQuotes(dependencies: QuoteDependencies): Quotes {
  const answer = openAnswer(dependencies)
  const spendOf = openSpend(dependencies)
  const quote: Quote = async (request, reply) => {
    const { shown } = await answer(request, reply, { owner: ownerOf(request.token) })
    return { object: 'video.quote', ...shown, spend: await orUnavailable(spendOf(request.token)) }
  }
  const errors = [...bodyFaults, 'model_not_found', 'price_unknown'] as const
  const clientRoute = defineRoute({
    at: `POST ${quotePath}`,
    id: 'quoteVideo',
    summary: 'Quote a video',
    description:
      'The most that a request to create a video would cost, the request with all defaults, and how long it would take. ' +
      'Nothing is created, and URLs in the request are not fetched. The price of a later request may differ.',
    body: {
      schema: CreateVideo,
      as: 'json or form',
      files: ['image', 'input_reference'],
      readByHand: ['resolution', 'aspect_ratio', 'metadata'],
      example,
    },
    responses: { 200: { description: 'The quote.', schema: VideoQuote, headers: ignored } },
    errors: [...errors, 'invalid_multipart', 'rate_limit_exceeded'],
    options: { ...dependencies.bounds, bodyLimit: maxBodyBytes, preValidation: readSubmit(dependencies) },
    handler: quote,
  })
  const operatorRoute = defineRoute({
    at: 'POST /operator/v1/quote',
    id: 'quoteForProject',
    summary: 'Quote a video for a project',
    description:
      'The same as `POST /v1/videos/quote`, with the cost, and the accounts that the request would be sent to. A video without a price gets the reason in place of an error.',
    query: { schema: OperatorQuoteQuery },
    body: {
      schema: CreateVideo,
      as: 'json',
      readByHand: ['image', 'input_reference', 'resolution', 'aspect_ratio', 'metadata'],
      example,
    },
    responses: { 200: { description: 'The quote.', schema: OperatorQuote } },
    errors,
    async handler(request, reply): Promise<OperatorQuote> {
      const buyer = { owner: request.query.project ?? '', acceptsUnpriced: true }
      const { shown, entry, cost, unpriced } = await answer(request, reply, buyer)
      return { object: 'operator.quote', ...shown, cost, unpriced, routes: routesOf(entry, dependencies) }
    },
  })
  return { quote, clientRoute, operatorRoute }
}

interface Buyer {
  owner: string
  /** Whether a video whose price can't be computed gets the reason, not an error. */
  acceptsUnpriced?: boolean
}

function openAnswer(dependencies: QuoteDependencies) {
  const { prices = null, estimates } = dependencies
  const resolve = openResolve(dependencies)
  return async (
    request: BodyRequest<CreateBody & { input_reference?: unknown }>,
    reply: FastifyReply,
    { owner, acceptsUnpriced = false }: Buyer,
  ) => {
    const { entry, prompt, seconds, size, parameters } = resolve(request, reply)
    const { image, input_reference: reference } = request.body
    const hasImage = (image ?? reference ?? null) !== null
    refuseImageMismatch(hasImage, entry, parameters)
    const asked = { card: entry.card, owner, seconds, size, parameters, hasImage, sourceSeconds: 0 }
    const settings = pricesFor(prices, request.token)
    const isReported = acceptsUnpriced && settings?.unpriced === 'refuse'
    const unpriced = (isReported && whyUnpriced(settings, asked)) || null
    const price = unpriced === null ? priceRequest(settings, asked) : null
    const amount = (micros: number | null | undefined) =>
      price && typeof micros === 'number' ? { cost: fromMicros(micros), currency: price.currency } : null
    const { eta, queuePosition } = await estimates.ofNew(entry.card, owner)
    const shown = {
      model: entry.name,
      seconds: String(seconds),
      size: formatSize(size),
      prompt,
      parameters,
      price: amount(price?.charge),
      eta,
      queue_position: queuePosition,
    }
    return { shown, entry, cost: amount(price?.cost), unpriced }
  }
}

function routesOf({ card }: CatalogEntry, { accounts, clock, random }: QuoteDependencies): OperatorQuote['routes'] {
  const now = clock.now()
  return orderRoutes(card.routes, random).flatMap(({ account: name, upstreamModel }) => {
    const account = accounts.get(name)
    if (!account) return []
    const paused = isPaused(account.health, now) || !acceptsTasks(account)
    return [{ account: name, upstream_model: upstreamModel, paused }]
  })
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Catalog, type CatalogEntry, findModel, mayUse } from '../core/catalog.ts'
import { hasOwnPrices, type PriceSettings, priceOfModel, pricesFor } from '../core/prices.ts'
import { ownerOf, type Token } from '../core/token.ts'
import { Model, ModelList } from '../wire/models.ts'
import { pathParam, type Route } from './route.ts'
import { toWireList, toWireModel } from './wire.ts'

/** The models, and what they cost. */
export interface ModelDependencies {
  catalog: Catalog
  prices?: PriceSettings | null
}

export function modelRoutes({ catalog, prices = null }: ModelDependencies): Route[] {
  const describe = (entry: CatalogEntry, token: Token) =>
    toWireModel(entry, {
      price: priceOfModel(pricesFor(prices, token), entry.card, ownerOf(token)),
      hidesCost: hasOwnPrices(prices, entry.card),
    })
  return [
    {
      at: 'GET /v1/models',
      id: 'listModels',
      summary: 'List the models',
      description: 'The models that this token may use, and what each accepts.',
      responses: { 200: { description: 'All models.', schema: ModelList } },
      handler: listModels(catalog, describe),
    },
    {
      // Ids may contain slashes.
      at: 'GET /v1/models/*',
      id: 'retrieveModel',
      summary: 'Show a model',
      description: 'A name may contain slashes, as they are or as `%2F`.',
      path: { model: 'The name of the model.' },
      responses: { 200: { description: 'The model.', schema: Model } },
      errors: ['model_not_found'],
      handler: async (request) => describe(findModel(catalog, request.token, pathParam(request, '*')), request.token),
    },
  ]
}

/** Lists only models that the token may use. To this token, others don't exist. */
function listModels(catalog: Catalog, describe: (entry: CatalogEntry, token: Token) => Model) {
  // Many kilobytes that rarely change, so they are built once for each token and version of the catalogue.
  const lists = new WeakMap<Token, { text: string; version: number }>()
  return async ({ token }: FastifyRequest, reply: FastifyReply) => {
    const { version } = catalog
    let list = lists.get(token)
    if (list?.version !== version) {
      const entries = [...catalog.entries.values()].filter((entry) => mayUse(token, entry))
      const models = entries.map((entry) => describe(entry, token))
      list = { text: JSON.stringify(toWireList(models)), version }
      lists.set(token, list)
    }
    return reply.type('application/json; charset=utf-8').send(list.text)
  }
}

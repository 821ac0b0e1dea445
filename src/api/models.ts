import type { FastifyRequest } from 'fastify'
import { type Catalog, findModel, mayUse } from '../core/catalog.ts'
import { toWireList, toWireModel } from './wire.ts'

/** Only what the token may use: a model that is not for it is as unknown as one that is not there. */
export function listModels(catalog: Catalog) {
  return async ({ token }: FastifyRequest) => {
    return toWireList([...catalog.entries.values()].filter((entry) => mayUse(token, entry)).map(toWireModel))
  }
}

export function retrieveModel(catalog: Catalog) {
  return async ({ token, params }: FastifyRequest) => {
    return toWireModel(findModel(catalog, token, (params as { '*': string })['*']))
  }
}

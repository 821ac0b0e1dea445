import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Catalog, findModel, mayUse } from '../core/catalog.ts'
import type { Token } from '../core/token.ts'
import { toWireList, toWireModel } from './wire.ts'

/** Only what the token may use: a model that is not for it is as unknown as one that is not there. */
export function listModels(catalog: Catalog) {
  // Many kilobytes, which never change: made once for each token.
  const texts = new WeakMap<Token, string>()
  return async ({ token }: FastifyRequest, reply: FastifyReply) => {
    const known = texts.get(token)
    const text = known ?? JSON.stringify(toWireList(modelsOf(catalog, token)))
    if (known === undefined) texts.set(token, text)
    return reply.type('application/json; charset=utf-8').send(text)
  }
}

function modelsOf({ entries }: Catalog, token: Token) {
  return [...entries.values()].filter((entry) => mayUse(token, entry)).map(toWireModel)
}

export function retrieveModel(catalog: Catalog) {
  return async ({ token, params }: FastifyRequest) => {
    return toWireModel(findModel(catalog, token, (params as { '*': string })['*']))
  }
}

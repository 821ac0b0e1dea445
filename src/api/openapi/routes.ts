import type { FastifyInstance } from 'fastify'
import type { Schema } from './schemas/schema.ts'

/** A route as it is registered, with the schemas that its requests are really checked with. */
export interface CollectedRoute {
  /** 'GET /v1/videos/:id' */
  readonly key: string
  readonly body?: Schema
  readonly query?: Schema
}

/** Every route that is registered after this. The answer to HEAD is that to GET without its body: it is not listed. */
export function collectRoutes(app: FastifyInstance): readonly CollectedRoute[] {
  const routes: CollectedRoute[] = []
  app.addHook('onRoute', ({ method, url, schema }) => {
    for (const one of [method].flat().filter((name) => name !== 'HEAD')) {
      const [body, query] = [schema?.body as Schema | undefined, schema?.querystring as Schema | undefined]
      routes.push({ key: `${one} ${url}`, ...(body && { body }), ...(query && { query }) })
    }
  })
  return routes
}

import assert from 'node:assert/strict'
import { it } from 'node:test'
import Fastify from 'fastify'
import { addModel, buildCatalog, defaultDeadlines, type ModelCard } from '../core/catalog.ts'
import type { Token } from '../core/token.ts'
import { modelRoutes } from './models.ts'
import { addRoute } from './route.ts'

function cardOf(id: string): ModelCard {
  return {
    id,
    ownedBy: 'engine',
    routes: [],
    description: '',
    created: 0,
    seconds: { min: 1, max: 20, default: 4 },
    size: { values: ['1280x720'], default: '1280x720' },
    image: 'none',
    parameters: {},
    pollAfterMs: 1_000,
    concurrency: null,
    deadlines: defaultDeadlines,
    failuresBilled: false,
  }
}

it('a token that listed the models before sees the models that an engine reports later', async () => {
  const catalog = buildCatalog([cardOf('a')], {}, null)
  const tokens: Record<string, Token> = {
    all: { kind: 'client', name: 'all', digest: '', models: ['*'] },
    few: { kind: 'client', name: 'few', digest: '', models: ['a'] },
  }
  await using app = Fastify()
  app.addHook('onRequest', async (request) => {
    request.token = tokens[String(request.headers.authorization)] as Token
  })
  for (const route of modelRoutes({ catalog })) addRoute(app, route)
  const listOf = async (authorization: string) => {
    const response = await app.inject({ url: '/v1/models', headers: { authorization } })
    return response.json().data.map(({ id }: { id: string }) => id)
  }
  assert.deepEqual([await listOf('all'), await listOf('few')], [['a'], ['a']])
  addModel(catalog, cardOf('b'))
  assert.deepEqual([await listOf('all'), await listOf('few')], [['a', 'b'], ['a']])
  assert.equal((await app.inject({ url: '/v1/models/b', headers: { authorization: 'all' } })).statusCode, 200)
})

import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import { after, before, it } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { sampleOf } from '../src/api/docs/sample.ts'
import type { Document } from '../src/api/openapi/document.ts'
import { loadConfig } from '../src/config.ts'
import { fieldsOf, openChecks, operationsOf } from './document.ts'
import { startService, type TestService } from './service.ts'

/* GET /openapi.json fits the routes of the service, and the rules of OpenAPI 3.1. */

/** The routes as Fastify reports them. */
const routes = new Set<string>()
/** Compiles and runs each check of a request, by its route and the part that it checks. */
const checks = new Map<string, () => void>()
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  fastify.addHook('onRoute', function ({ method, url, schema }) {
    for (const one of [method].flat()) routes.add(`${one} ${url}`)
    for (const [httpPart, part] of Object.entries(schema ?? {}))
      checks.set(`${httpPart} of ${method} ${url}`, () => {
        assert.ok(this.validatorCompiler)
        this.validatorCompiler({ schema: part, method: String(method), url, httpPart })({})
      })
  })
})

let service: TestService
let document: Document

before(async () => {
  service = await startService()
  const answer = await fetch(`${service.url}/openapi.json`)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  document = (await answer.json()) as Document
})
after(() => service[Symbol.asyncDispose]())

it('every route is documented, and every route that is documented exists', () => {
  // Fastify answers HEAD wherever there is a GET.
  const registered = [...routes].filter((key) => !key.startsWith('HEAD ') || !routes.has(key.replace('HEAD', 'GET')))
  assert.ok(registered.length > 10, 'the routes were not told')
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const nameless = (key: string) => key.replace(/:\w+|\*|\{\w+\}/g, '{}')
  assert.deepEqual(registered.map(nameless).toSorted(), [...documented, ...refused].map(nameless).toSorted())
  assert.equal(operationsOf(document).size, documented.length, 'every operation has a name of its own')
})

it('the check of every request compiles: a service compiles it only at the first request of the route', () => {
  assert.ok(checks.size > 20, `only ${checks.size} checks were told`)
  for (const [name, check] of checks) assert.doesNotThrow(check, name)
})

/** Routes that are not in the document: one redirects to it, the console's are for its own pages, the others only return an error. */
const refused = [
  'GET /',
  'GET /console/session',
  'POST /console/session',
  'DELETE /console/session',
  'GET /v1/videos/characters',
  'POST /v1/videos/characters',
  'GET /v1/videos/characters/:id',
  'GET /v1/videos/edits',
  'DELETE /v1/videos/edits',
  'GET /v1/videos/generations',
  'DELETE /v1/videos/generations',
  'GET /v1/video/generations',
  'DELETE /v1/video/generations',
  'GET /v1/videos/extensions',
  'DELETE /v1/videos/extensions',
  'GET /v1/videos/quote',
  'DELETE /v1/videos/quote',
]

it('it is OpenAPI 3.1: versions, relative servers, tags that are used, security schemes that are there', () => {
  assert.match(document.openapi, /^3\.1\.\d$/)
  assert.match(document.info.version, /^\d+\.\d+\.\d+/)
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    ['/'],
  )
  const named = [...operationsOf(document).values()]
  const used = new Set(named.flatMap(({ operation }) => operation.tags))
  assert.deepEqual(document.tags.map(({ name }) => name).toSorted(), [...used].toSorted())
  for (const { operation } of named) {
    const [scheme] = operation.security.flatMap((one) => Object.keys(one))
    if (scheme !== undefined) assert.ok(scheme in document.components.securitySchemes, scheme)
  }
})

it('every operation says of each field what it is', () => {
  for (const [id, { path, operation }] of operationsOf(document)) {
    assert.match(id, /^[a-z][a-zA-Z]+$/)
    const { parameters = [], requestBody, responses } = operation
    const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
    assert.deepEqual(
      inPath,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      id,
    )
    for (const { name, description } of parameters) assert.ok(description, `${id}: ${name} is not described`)
    for (const { schema } of Object.values(requestBody?.content ?? {}))
      assert.ok(schema.$ref, `${id}: its body has no name`)
    for (const [status, { description }] of Object.entries(responses)) assert.ok(description, `${id} ${status}`)
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    for (const field of fieldsOf(schema)) {
      const said = field.schema.description ?? field.schema.$ref
      assert.ok(said, `${name}.${field.name} is not described`)
    }
  }
})

it('every reference leads somewhere, and every schema is used', () => {
  const refs = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = '']) => ref))
  const there = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
  assert.deepEqual([...refs].toSorted(), there.toSorted())
})

it('every schema is JSON Schema 2020-12, and what the reference shows as an example fits it', () => {
  const check = openChecks(document)
  const { schemas } = document.components
  for (const [name, schema] of Object.entries(schemas)) check(schema, sampleOf(schema, schemas), name)
  for (const [id, { operation }] of operationsOf(document)) {
    for (const [type, { schema, example }] of Object.entries(operation.requestBody?.content ?? {}))
      if (example) check(schema, example, `the example of ${id} as ${type}`)
    for (const { schema, example } of Object.values(operation.responses[200]?.content ?? {}))
      if (example) check(schema, example, `the example of a response of ${id}`)
  }
})

it('the example of a response is the result of the example of its request', () => {
  const { schemas } = document.components
  for (const [id, { operation }] of operationsOf(document)) {
    const sent = { ...operation.requestBody?.content['application/json']?.example }
    const { schema = {}, example } = operation.responses[200]?.content?.['application/json'] ?? {}
    if (!operation.requestBody || schema.$ref !== '#/components/schemas/Video') continue
    const video = Object.assign({}, example ?? sampleOf(schema, schemas)) as Record<string, unknown>
    const { id: source } = Object.assign({}, sent.video) as { id?: string }
    assert.deepEqual([video.prompt, video.metadata], [sent.prompt, sent.metadata], id)
    assert.notEqual(video.id, source, id)
    assert.equal('remixed_from_video_id' in video, id === 'remixVideo' || id === 'editVideo', id)
    if (id === 'editVideo') assert.equal(video.remixed_from_video_id, source)
  }
  const tested = sampleOf(schemas.WebhookTest ?? {}, schemas)
  assert.partialDeepStrictEqual(tested, { status_code: 200, success: true })
})

it('the fields of a request are those that it is checked by', () => {
  const { CreateVideo, RemixVideo, EditVideo, ExtendVideo } = document.components.schemas
  assert.deepEqual(CreateVideo?.required, ['prompt'])
  assert.equal(CreateVideo?.properties?.prompt?.maxLength, 32_000)
  assert.deepEqual(CreateVideo?.properties?.seconds?.type, ['string', 'integer'])
  for (const schema of [RemixVideo, EditVideo, ExtendVideo])
    assert.deepEqual(schema?.properties?.metadata, CreateVideo?.properties?.metadata)
  const order = operationsOf(document)
    .get('listVideos')
    ?.operation.parameters?.find(({ name }) => name === 'order')
  assert.deepEqual(order?.schema.enum, ['asc', 'desc'])
})

it('FILMGATE_DOCS=off leaves no trace of it, and anything but on and off is a mistake', async () => {
  await using silent = await startService({ env: { FILMGATE_DOCS: 'off' } })
  for (const path of [
    '/',
    '/openapi.json',
    '/docs',
    '/docs/models',
    '/docs/models/studio',
    '/docs/images/1280x720.png',
    '/docs/sample.mp4',
    '/llms.txt',
  ]) {
    const answer = await fetch(silent.url + path, { headers: { accept: 'text/html' } })
    const { error } = (await answer.json()) as { error: { code: string } }
    assert.deepEqual([answer.status, error.code], [404, 'unknown_url'], path)
  }
  assert.equal((await silent.fetch('/v1/models')).status, 200)
  assert.throws(() => loadConfig({ flags: {}, env: { FILMGATE_DOCS: 'maybe' } }), /FILMGATE_DOCS.*use on or off/s)
})

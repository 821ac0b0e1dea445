import type { ProblemCode } from '../../core/problem.ts'
import { eventTypes } from '../../core/webhook.ts'
import { statuses } from '../errors.ts'
import { meanings } from './codes.ts'
import { operations } from './operations/index.ts'
import { type Answer, type Body, type Operation, tags } from './operations/operation.ts'
import type { CollectedRoute } from './routes.ts'
import { schemas } from './schemas/index.ts'
import { refer, type Schema } from './schemas/schema.ts'

export type Document = ReturnType<typeof buildDocument>

/** OpenAPI 3.1. Routes and tables are held against each other by `test/openapi.test.ts`. */
export function buildDocument(routes: readonly CollectedRoute[], version: string) {
  const paths: Record<string, Record<string, ReturnType<typeof toOperation>>> = {}
  const bodies: Record<string, Schema> = {}
  for (const [key, operation] of Object.entries(operations)) {
    const route = routes.find((one) => one.key === key)
    if (!route) continue
    const [method = '', url = ''] = key.split(' ')
    if (operation.body) Object.assign(bodies, bodySchemas(operation.body, route))
    const path = pathOf(url, operation)
    paths[path] = { ...paths[path], [method.toLowerCase()]: toOperation(operation, route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Filmgate',
      version,
      summary: 'One Videos API in front of every video model',
      description:
        'The shapes are those of OpenAI’s Videos API, so its SDKs work with a changed base URL. Every answer carries ' +
        '`x-request-id`. A video or model of another token gets the same answer as one that does not exist.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: Object.fromEntries(eventTypes.map((type) => [type, { post: toWebhook(type) }])),
    components: {
      schemas: { ...schemas, ...bodies } as Readonly<Record<string, Schema>>,
      securitySchemes: {
        client: { type: 'http', scheme: 'bearer', description: 'A client token: it makes videos and sees its own.' },
        operator: { type: 'http', scheme: 'bearer', description: 'The operator token: it makes no videos.' },
      },
    },
  }
}

/** What we send, for who writes the receiver. */
function toWebhook(type: string) {
  return {
    operationId: type.replace(/\.(\w)/, (_dot, letter: string) => letter.toUpperCase()),
    tags: ['Webhooks'],
    summary: `Sent when \`${type}\` happens`,
    requestBody: { required: true, content: { 'application/json': { schema: refer('WebhookEvent') } } },
    responses: { '2XX': { description: 'It arrived.' }, default: { description: 'It is tried again later.' } },
  }
}

/** Each `:name` and `*` is replaced by the parameter that stands in its place in the table. */
function pathOf(url: string, { path = {} }: Operation): string {
  const names = Object.keys(path)
  return url.replace(/:\w+|\*/g, () => `{${names.shift()}}`)
}

function toOperation(operation: Operation, route: CollectedRoute) {
  const { id: operationId, tag, summary, description, access, body } = operation
  const parameters = parametersOf(operation, route)
  return {
    ...{ operationId, tags: [tag], summary, description },
    security: access === 'anyone' ? [] : [{ [access]: [] as string[] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !isOptional(route.body), content: contentOf(body) } }),
    responses: responsesOf(operation, route.key),
  }
}

/** Where no body at all is as good as an empty one. */
function isOptional(body: Schema | undefined): boolean {
  return [body?.type].flat().includes('null')
}

export interface Parameter {
  name: string
  in: string
  required: boolean
  description: string
  schema: Schema
}

function parametersOf({ path = {}, headers = {}, query = {} }: Operation, route: CollectedRoute): Parameter[] {
  const text = { type: 'string' }
  const named = (place: string, required: boolean, given: Readonly<Record<string, string>>) =>
    Object.entries(given).map(([name, description]) => ({ name, in: place, required, description, schema: text }))
  const asked = Object.entries(overlay(route.query?.properties, query)).map(
    ([name, { description = '', ...schema }]) => ({
      ...{ name, in: 'query', description, schema },
      required: route.query?.required?.includes(name) ?? false,
    }),
  )
  return [...named('path', true, path), ...asked, ...named('header', false, headers)]
}

/** What the route checks, and what the table adds to it. */
function overlay(checked: Schema['properties'] = {}, told: Schema['properties'] = {}): Record<string, Schema> {
  const names = [...new Set([...Object.keys(checked), ...Object.keys(told)])]
  return Object.fromEntries(names.map((name) => [name, { ...checked[name], ...told[name] }]))
}

export interface MediaType {
  readonly schema: Schema
  readonly example?: Body['example']
}

const formName = ({ name, as }: Body) => (as === 'form' ? name : `${name}Form`)

function contentOf(body: Body) {
  const { name, as, example } = body
  const json = { 'application/json': { schema: refer(name), example } }
  // A file has no example that could be read.
  const form = { 'multipart/form-data': { schema: refer(formName(body)), ...(!body.files && { example }) } }
  const encoded = { 'application/x-www-form-urlencoded': { schema: refer(name) } }
  return { ...(as !== 'form' && json), ...(as !== 'json' && form), ...(as === 'json or form' && encoded) } as Readonly<
    Record<string, MediaType>
  >
}

function bodySchemas(body: Body, route: CollectedRoute): Record<string, Schema> {
  const { name, fields, as, files = [], others } = body
  const properties = overlay(route.body?.properties, fields)
  const whole = {
    type: 'object',
    required: route.body?.required ?? [],
    properties,
    additionalProperties: others === undefined ? false : { description: others },
  }
  const asFile = (field: string): Schema => ({
    ...{ type: 'string', format: 'binary' },
    description: properties[field]?.description ?? '',
  })
  const inForm = Object.fromEntries(files.map((field) => [field, asFile(field)]))
  return {
    ...(as !== 'form' && { [name]: whole }),
    ...(as !== 'json' && { [formName(body)]: { ...whole, properties: { ...properties, ...inForm } } }),
  }
}

/** Any body may be malformed in these ways, also one that is sent where none is expected. */
const bodyErrors: readonly ProblemCode[] = ['invalid_json', 'body_too_large', 'unsupported_media_type']

function responsesOf({ answers, errors = [], access }: Operation, key: string) {
  const codes = [
    ...errors,
    ...(access === 'anyone' ? [] : (['invalid_api_key'] as const)),
    ...(key.startsWith('GET ') ? [] : bodyErrors),
  ]
  const byStatus = Object.groupBy(codes, (code) => statuses[code])
  const failed = Object.entries(byStatus).map(([status, some = []]) => [status, toFailure(status, some)])
  const other = { description: 'Any other error.', content: { 'application/json': { schema: refer('Error') } } }
  const told = Object.entries(answers).map(([status, answer]) => [status, toResponse(answer)])
  return Object.fromEntries([...told, ...failed, ['default', other]]) as Record<string, Response>
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, { description: string; schema: Schema }>>
  readonly content?: Readonly<Record<string, { schema: Schema }>>
  /** The codes that an error of this status may have. */
  readonly 'x-codes'?: readonly ProblemCode[]
  /** What the `data` of each event of a stream is: OpenAPI 3.1 has no word for it. */
  readonly 'x-event-data'?: Schema
}

function toResponse({ description, type = 'application/json', schema, headers, events }: Answer): Response {
  const told = Object.entries(headers ?? {}).map(([name, what]) => [
    name,
    { description: what, schema: { type: 'string' } },
  ])
  return {
    description,
    ...(headers && { headers: Object.fromEntries(told) }),
    ...(schema && { content: Object.fromEntries([type].flat().map((one) => [one, { schema }])) }),
    ...(events && { 'x-event-data': events }),
  }
}

function toFailure(status: string, codes: readonly ProblemCode[]): Response {
  const description = codes.map((code) => `\`${code}\`: ${meanings[code]}`).join('\n\n')
  const after = { 'Retry-After': { description: 'After how many seconds to try again.', schema: { type: 'string' } } }
  return {
    description,
    ...((status === '429' || status === '503') && { headers: after }),
    content: { 'application/json': { schema: refer('Error') } },
    'x-codes': codes,
  }
}

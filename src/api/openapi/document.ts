import { type ProblemCode, problemCodes } from '../../core/codes.ts'
import { eventTypes } from '../../core/webhook.ts'
import { accountRequests, accountResponses } from '../../wire/accounts.ts'
import { alarmResponses } from '../../wire/alarms.ts'
import { auditResponses } from '../../wire/audit.ts'
import { consoleResponses } from '../../wire/console.ts'
import { declaredModelRequests, declaredModelResponses } from '../../wire/declared-models.ts'
import { modelResponses } from '../../wire/models.ts'
import { operatorRequests, operatorResponses } from '../../wire/operator.ts'
import type { Schema, Schemas } from '../../wire/schema.ts'
import { ErrorResponse, serviceResponses } from '../../wire/service.ts'
import { settingResponses } from '../../wire/settings.ts'
import { storageResponses } from '../../wire/storage.ts'
import { tokenRequests, tokenResponses } from '../../wire/tokens.ts'
import { usageResponses } from '../../wire/usage.ts'
import { videoRequests, videoResponses } from '../../wire/videos.ts'
import { WebhookEvent, webhookRequests, webhookResponses } from '../../wire/webhooks.ts'
import { sampleOf } from '../docs/sample.ts'
import { accessTo, type Body, type Route, type RouteResponse, tagOf, tags } from '../route.ts'

const responseSchemas: Schemas = {
  ...videoResponses,
  ...webhookResponses,
  ...modelResponses,
  ...operatorResponses,
  ...accountResponses,
  ...declaredModelResponses,
  ...tokenResponses,
  ...auditResponses,
  ...alarmResponses,
  ...storageResponses,
  ...settingResponses,
  ...usageResponses,
  ...consoleResponses,
  ...serviceResponses,
}

/** The shapes that have a name in the document. Elsewhere in it they are references. */
const names = new Map<Schema, string>(
  Object.entries({
    ...responseSchemas,
    ...videoRequests,
    ...webhookRequests,
    ...operatorRequests,
    ...accountRequests,
    ...declaredModelRequests,
    ...tokenRequests,
  }).map(([name, schema]) => [schema, name]),
)

export type Document = ReturnType<typeof buildDocument>

/** OpenAPI 3.1. `test/openapi.test.ts` compares it with the routes. */
export function buildDocument(routes: readonly Route[], version: string) {
  const paths: Record<string, Record<string, ReturnType<typeof toOperation>>> = {}
  const bodies: Record<string, Schema> = {}
  for (const route of routes) {
    const [method = '', url = ''] = route.at.split(' ')
    if (route.body) Object.assign(bodies, bodySchemas(route.body))
    const path = pathOf(url, route)
    paths[path] = { ...paths[path], [method.toLowerCase()]: toOperation(route) }
  }
  const responses = Object.entries(responseSchemas).map(([name, schema]) => [name, partsOf(schema)])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Filmgate',
      version,
      summary: 'One Videos API in front of every video model',
      description: [about, firstRequest, failures()].join('\n\n'),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: Object.fromEntries(eventTypes.map((type) => [type, { post: toWebhook(type) }])),
    components: {
      schemas: { ...Object.fromEntries(responses), ...bodies } as Schemas,
      securitySchemes: {
        client: { type: 'http', scheme: 'bearer', description: clientScheme },
        operator: { type: 'http', scheme: 'bearer', description: 'An operator token: it can’t create videos.' },
      },
    },
  }
}

/** Short: the reference cuts it after one line. */
const clientScheme = 'A client token. At `/docs`, your console session is enough.'

const about =
  'The shapes are those of OpenAI’s Videos API, so its SDKs work with a changed base URL. Every response carries ' +
  '`x-request-id`. A video or model of another token gets the same response as one that does not exist. ' +
  '[The page of each model](/docs/models) has what it accepts, and examples that run as they are. Every error has ' +
  'the same shape, `Error`; each route lists its codes. OpenAI’s SDKs retry by themselves after 408, 409, 429 and ' +
  'every status from 500.'

/** In texts that are the same for every client. */
export const exampleAddress = 'https://YOUR_ADDRESS'

const firstRequest = `## A first request

Set the address of the service and a client token. The first request returns the \`id\` of the video, the second one waits for its end:

\`\`\`sh
export FILMGATE_URL=${exampleAddress}
export FILMGATE_TOKEN=…
curl "$FILMGATE_URL/v1/videos" \\
  -H "Authorization: Bearer $FILMGATE_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "studio", "prompt": "a red fox"}'

export ID=video_…
curl "$FILMGATE_URL/v1/videos/$ID?wait=60" \\
  -H "Authorization: Bearer $FILMGATE_TOKEN"
curl "$FILMGATE_URL/v1/videos/$ID/content" \\
  -H "Authorization: Bearer $FILMGATE_TOKEN" -o video.mp4
\`\`\``

/** No route lists these codes. */
function failures(): string {
  const codes = Object.entries(problemCodes).filter(([, { failsVideos }]) => failsVideos)
  const rows = codes.map(([code, { meaning }]) => `| \`${code}\` | ${meaning} |`)
  return ['## Failed videos', '', '| `error.code` | Meaning |', '|---|---|', ...rows].join('\n')
}

function refer(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** A schema of the document: a named shape is a reference. */
function toSchema(schema: Schema): Schema {
  const name = names.get(schema)
  return name === undefined ? partsOf(schema) : refer(name)
}

function partsOf({ properties, items, oneOf, additionalProperties: others, ...schema }: Schema): Schema {
  return {
    ...schema,
    ...(properties && { properties: fieldsOf(properties) }),
    ...(items && { items: toSchema(items) }),
    ...(oneOf && { oneOf: oneOf.map(toSchema) }),
    ...(others !== undefined && { additionalProperties: typeof others === 'object' ? toSchema(others) : others }),
  }
}

function fieldsOf(properties: Schemas): Schemas {
  return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, toSchema(field)]))
}

/** The request that an endpoint receives. */
function toWebhook(type: string) {
  return {
    operationId: type.replace(/\.(\w)/, (_dot, letter: string) => letter.toUpperCase()),
    tags: ['Webhooks'],
    summary: `Sent when \`${type}\` happens`,
    requestBody: { required: true, content: { 'application/json': { schema: toSchema(WebhookEvent) } } },
    responses: {
      '2XX': { description: 'The event is delivered.' },
      default: { description: 'The event is sent again later.' },
    },
  }
}

/** Each `:name` and `*` is replaced by the documented parameter in its place. */
function pathOf(url: string, { path = {} }: Route): string {
  const names = Object.keys(path)
  return url.replace(/:\w+|\*/g, () => `{${names.shift()}}`)
}

function toOperation(route: Route) {
  const { id: operationId, summary, description, body } = route
  const parameters = parametersOf(route)
  const access = accessTo(route)
  return {
    operationId,
    tags: [tagOf(route)],
    summary,
    description,
    security: access === 'anyone' ? [] : [{ [access === 'metrics' ? 'operator' : access]: [] as string[] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !body.isOptional, content: contentOf(body) } }),
    responses: responsesOf(route),
  }
}

interface Parameter {
  name: string
  in: string
  required: boolean
  description: string
  schema: Schema
}

function parametersOf({ path = {}, headers = {}, query }: Route): Parameter[] {
  const text = { type: 'string' }
  const named = (place: string, required: boolean, given: Readonly<Record<string, string>>) =>
    Object.entries(given).map(([name, description]) => ({ name, in: place, required, description, schema: text }))
  const { properties = {}, required = [] } = query?.schema ?? {}
  const inQuery = Object.entries(properties).map(([name, { description = '', ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description,
    schema,
  }))
  return [...named('path', true, path), ...inQuery, ...named('header', false, headers)]
}

interface MediaType {
  readonly schema: Schema
  readonly example?: Body['example']
}

const nameOf = ({ schema }: Body) => names.get(schema) ?? ''

function contentOf(body: Body): Readonly<Record<string, MediaType>> {
  const { as, files, example } = body
  const name = nameOf(body)
  const json = { 'application/json': { schema: refer(name), example } }
  if (as === 'json') return json
  return {
    ...json,
    // A file has no readable example.
    'multipart/form-data': { schema: refer(`${name}Form`), ...(!files && { example }) },
    'application/x-www-form-urlencoded': { schema: refer(name) },
  }
}

function bodySchemas(body: Body): Schemas {
  const { schema, as, files = [] } = body
  const name = nameOf(body)
  const { properties = {}, ...whole } = partsOf(schema)
  const asFile = (field: string): Schema => ({
    type: 'string',
    format: 'binary',
    description: properties[field]?.description ?? '',
  })
  const inForm = Object.fromEntries(files.map((field) => [field, asFile(field)]))
  return {
    [name]: { ...whole, properties },
    ...(as === 'json or form' && { [`${name}Form`]: { ...whole, properties: { ...properties, ...inForm } } }),
  }
}

/** The errors of any body, even of one that is not expected. */
const bodyErrors: readonly ProblemCode[] = ['invalid_json', 'body_too_large', 'unsupported_media_type']

function responsesOf(route: Route) {
  const { at, responses, errors = [] } = route
  const codes = [
    ...errors,
    ...(accessTo(route) === 'anyone' ? [] : (['invalid_api_key'] as const)),
    ...(tagOf(route) === 'Operator' ? (['permission_denied'] as const) : []),
    ...(at.startsWith('GET ') ? [] : bodyErrors),
  ]
  const byStatus = Object.groupBy(codes, (code) => problemCodes[code].status)
  const failed = Object.entries(byStatus).map(([status, some = []]) => [status, toFailure(status, some)])
  const other = {
    description: 'Any other error.',
    content: { 'application/json': { schema: toSchema(ErrorResponse) } },
  }
  const succeeded = Object.entries(responses).map(([status, response]) => [status, toResponse(response)])
  return Object.fromEntries([...succeeded, ...failed, ['default', other]]) as Record<string, Response>
}

interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, { description: string; schema: Schema }>>
  readonly content?: Readonly<Record<string, { schema: Schema; example?: object }>>
  /** The codes that an error of this status may have. */
  readonly 'x-codes'?: readonly ProblemCode[]
  /** The `data` of each event of a stream: OpenAPI 3.1 has no keyword for it. */
  readonly 'x-event-data'?: Schema
}

function toResponse(response: RouteResponse): Response {
  const { description, type = 'application/json', schema, alternatives = {}, example, headers, events } = response
  const described = Object.entries(headers ?? {}).map(([name, text]) => [
    name,
    { description: text, schema: { type: 'string' } },
  ])
  const others = Object.entries(alternatives).map(([one, other]) => [one, { schema: toSchema(other) }])
  const content = schema && {
    schema: toSchema(schema),
    ...(example && { example: Object.assign({}, sampleOf(schema, {}), example) }),
  }
  return {
    description,
    ...(headers && { headers: Object.fromEntries(described) }),
    ...(content && { content: Object.fromEntries([...[type].flat().map((one) => [one, content]), ...others]) }),
    ...(events && { 'x-event-data': toSchema(events) }),
  }
}

function toFailure(status: string, codes: readonly ProblemCode[]): Response {
  const description = codes.map((code) => `\`${code}\`: ${problemCodes[code].meaning}`).join('\n\n')
  const after = { 'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'string' } } }
  return {
    description,
    ...((status === '429' || status === '503') && { headers: after }),
    content: { 'application/json': { schema: toSchema(ErrorResponse) } },
    'x-codes': codes,
  }
}

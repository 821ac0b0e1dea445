import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify'
import type { ProblemCode } from '../core/codes.ts'
import type { Schema, Schemas, Static } from '../wire/schema.ts'

/** A route in one place: its path, its schemas, its documentation and its handler. */
export interface Route {
  /** Method and path: 'GET /v1/videos/:id'. The path decides which kind of token is required, and the chapter. */
  readonly at: `${'GET' | 'POST' | 'DELETE'} /${string}`
  /** The operationId, for generators: createVideo. */
  readonly id: string
  /** A few words, without a full stop. */
  readonly summary: string
  /** Sentences; `code` in backticks, an empty line between paragraphs. */
  readonly description: string
  /** The parameters of the path with their descriptions, in the order of `:id` and `*` in the path. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Query
  /** Request headers with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
  /** By status, without errors. */
  readonly responses: Readonly<Record<number, RouteResponse>>
  /** Its own errors. The error of a wrong token and those of any body are added to them. */
  readonly errors?: readonly ProblemCode[]
  handler(request: FastifyRequest, reply: FastifyReply): unknown
  /** Hooks and limits. */
  readonly options?: Partial<RouteOptions>
}

type Fields = Schema & { readonly properties: Schemas }

interface Query {
  readonly schema: Fields
  /** Set if the handler checks the query instead of Fastify. */
  readonly isReadByHand?: true
}

export interface Body {
  readonly schema: Fields
  /** The accepted formats. */
  readonly as: 'json' | 'json or form'
  /** Set if a request without a body is the same as an empty object. */
  readonly isOptional?: true
  /** Fields that are files in a form. */
  readonly files?: readonly string[]
  /** Other fields that the handler checks instead of Fastify. */
  readonly readByHand?: readonly string[]
  readonly example: Readonly<Record<string, unknown>>
}

export interface RouteResponse {
  readonly description: string
  /** One content type or several; application/json by default. */
  readonly type?: string | readonly string[]
  /** Absent if there is no body. */
  readonly schema?: Schema
  /** The schemas of other content types that it may have instead. */
  readonly alternatives?: Schemas
  /** The fields of the example that follow from the example of the request. The others come from the schema. */
  readonly example?: Readonly<Record<string, unknown>>
  /** The `data` of each event of a stream. */
  readonly events?: Schema
  /** Response headers with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request whose body fits its schema. */
export type BodyRequest<Body> = FastifyRequest & { readonly body: Body }
/** A request whose query fits its schema. Everything in a query is text, so the handler parses numbers. */
export type QueryRequest<Query> = FastifyRequest & { readonly query: NumbersAsText<Query> }
type NumbersAsText<T> = { readonly [Key in keyof T]: T[Key] extends number | undefined ? string : T[Key] }

/** Gives the handler the types of its schemas. Before it runs, Fastify has checked the request by them. */
export function defineRoute<const B extends Body = never, const Q extends Query = never>(
  route: Omit<Route, 'body' | 'query' | 'handler'> & {
    readonly body?: B
    readonly query?: Q
    readonly handler: (request: BodyRequest<BodyOf<B>> & QueryRequest<QueryOf<Q>>, reply: FastifyReply) => unknown
  },
): Route {
  return route
}

type BodyOf<B extends Body> = [B] extends [never]
  ? unknown
  : Open<Static<B['schema']>, UncheckedIn<B>> | (B extends { readonly isOptional: true } ? null : never)

type UncheckedIn<B extends Body> =
  | (B extends { readonly files: readonly (infer Name)[] } ? Name : never)
  | (B extends { readonly readByHand: readonly (infer Name)[] } ? Name : never)

type Open<T, Name> = Omit<T, Name & keyof T> & { readonly [Key in Name & keyof T]?: unknown }

type QueryOf<Q extends Query> = [Q] extends [never]
  ? unknown
  : Q extends { readonly isReadByHand: true }
    ? { readonly [Key in keyof Q['schema']['properties']]?: unknown }
    : Static<Q['schema']>

/** Errors of a body that does not fit its schema. */
export const bodyFaults = ['missing_required_parameter', 'unknown_parameter', 'invalid_type', 'invalid_value'] as const

/** The chapters of the documentation, in their order. */
export const tags = {
  Videos: 'Create a video, poll it, download it.',
  Events: 'Receive events instead of polling.',
  Webhooks:
    'Receive events at your own URL. Each request is a `WebhookEvent`, signed according to Standard Webhooks: OpenAI’s ' +
    'SDKs check it with `client.webhooks.unwrap()`. Respond with any 2xx; otherwise it is sent again, for three days.',
  Models: 'The models, and what each accepts.',
  Usage: 'How many videos you created, and what they cost.',
  Operator:
    'Tasks, attempts, accounts, tokens, usage, alarms, the status, the audit log and metrics. Requires an operator token, which can’t create videos; a viewer may only read.',
  Service: 'Health and documentation. No token is needed.',
}

/** The chapter of a route. */
export function tagOf({ at }: Pick<Route, 'at'>): keyof typeof tags {
  if (/ \/(livez|readyz|openapi\.json|llms\.txt|docs)(?![\w-])/.test(at)) return 'Service'
  if (at.includes(' /operator/') || at.endsWith(' /metrics')) return 'Operator'
  if (at.endsWith('/events')) return 'Events'
  if (at.includes(' /v1/webhook_')) return 'Webhooks'
  if (at.endsWith(' /v1/usage')) return 'Usage'
  return at.includes(' /v1/models') ? 'Models' : 'Videos'
}

/**
 * The kind of token that a route requires: a client token, unless its path is known to require another or none. Metrics
 * require an operator token, unless the address is allowed.
 */
export function accessTo(route: Pick<Route, 'at'>): 'client' | 'operator' | 'metrics' | 'anyone' {
  const tag = tagOf(route)
  if (tag === 'Service') return 'anyone'
  if (route.at.endsWith(' /metrics')) return 'metrics'
  return tag === 'Operator' ? 'operator' : 'client'
}

/** A parameter of the path, by its name in `at`. */
export function pathParam({ params }: Pick<FastifyRequest, 'params'>, name: string): string {
  return (params as Readonly<Record<string, string>>)[name] ?? ''
}

export function addRoute(app: FastifyInstance, { at, query, body, handler, options }: Route): void {
  const [method, url = ''] = at.split(' ')
  const schema = {
    ...(body && { body: bodyCheck(body) }),
    ...(query && !query.isReadByHand && { querystring: queryCheck(query.schema) }),
  }
  const checked = Object.keys(schema).length > 0 && { schema }
  app.route({ method: method as HTTPMethods, url, handler, ...checked, ...options })
}

function bodyCheck({ schema, isOptional, files = [], readByHand = [] }: Body): Schema {
  const open = [...files, ...readByHand]
  const check = { ...schema, properties: checksOf(schema, (name) => (open.includes(name) ? {} : undefined)) }
  return isOptional ? { ...check, type: ['object', 'null'] } : check
}

/** Numbers are text: see `QueryRequest`. */
function queryCheck(schema: Fields): Schema {
  const numbers = (name: string) => (schema.properties[name]?.type === 'integer' ? { type: 'string' } : undefined)
  return { ...schema, properties: checksOf(schema, numbers) }
}

/** A value that is not in an `enum` is `invalid_value`, so its type is not checked before. */
function checksOf({ properties }: Fields, otherwise: (name: string) => Schema | undefined): Schemas {
  const checks = Object.entries(properties).map(([name, field]) => {
    const { type, ...withoutType } = field
    return [name, otherwise(name) ?? (field.enum ? withoutType : field)]
  })
  return Object.fromEntries(checks)
}

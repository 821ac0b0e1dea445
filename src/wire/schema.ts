import type { XStatic } from 'typebox/schema'

/*
 * One JSON Schema for each shape of a request, a response or an event, as a plain constant. Its type is derived from it
 * (`Static`), the API validates requests with it, the OpenAPI document contains it, and clients check responses with it
 * (`fits`).
 */

/** The part of JSON Schema 2020-12 (the dialect of OpenAPI 3.1) that the shapes use. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Schemas
  readonly additionalProperties?: boolean | Schema
  readonly oneOf?: readonly Schema[]
}

export type Schemas = Readonly<Record<string, Schema>>

/** The type that a schema describes. TypeBox knows the scalars, but can't read the computed `required` of a `shape`. */
export type Static<S> = S extends { readonly oneOf: readonly (infer Option)[] }
  ? Static<Option>
  : S extends { readonly properties: infer Fields; readonly required: readonly (infer Name)[] }
    ? Flat<Needed<Fields, Name> & Optional<Fields, Name>> | NullOf<S>
    : S extends { readonly items: infer Item }
      ? readonly Static<Item>[] | NullOf<S>
      : S extends { readonly additionalProperties: infer Value extends object }
        ? { readonly [name: string]: Static<Value> } | NullOf<S>
        : XStatic<S>

type Needed<Fields, Name> = { -readonly [Key in keyof Fields as Key & Name]: Static<Fields[Key]> }
type Optional<Fields, Name> = { -readonly [Key in Exclude<keyof Fields, Name>]?: Static<Fields[Key]> }
type Flat<Fields> = { [Key in keyof Fields]: Fields[Key] }
type NullOf<S> = S extends { readonly type: readonly (infer Name)[] } ? ('null' extends Name ? null : never) : never

/** An object with exactly these fields. Only those in `optional` may be absent. */
export function shape<const Fields extends Schemas, const Name extends keyof Fields & string = never>(
  description: string,
  properties: Fields,
  { optional = [] }: { optional?: readonly Name[] } = {},
) {
  const isRequired = (name: string): name is Exclude<keyof Fields & string, Name> =>
    !optional.some((one) => one === name)
  const required = Object.keys(properties).filter(isRequired)
  return { type: 'object', required, properties, additionalProperties: false, description } as const
}

/** The fields of a request. `others` describes further fields, if these are accepted. */
export function request<const Fields extends Schemas, const Name extends keyof Fields & string = never>(
  properties: Fields,
  { required = [], others }: { required?: readonly Name[]; others?: string } = {},
) {
  const additionalProperties = others === undefined ? false : { description: others }
  return { type: 'object', required, properties, additionalProperties } as const
}

/** The parameters of a query, all optional. */
export function query<const Fields extends Schemas>(properties: Fields) {
  return { type: 'object', required: [], properties } as const
}

/** Some fields of a shape, for a reader that needs only these. */
export function pick<Fields extends Schemas, const Name extends keyof Fields & string>(
  { properties }: { readonly properties: Fields },
  names: readonly Name[],
) {
  const picked = Object.fromEntries(names.map((name) => [name, properties[name]])) as Pick<Fields, Name>
  return { type: 'object', required: names, properties: picked } as const
}

/** The same schema, with null allowed. */
export function orNull<const S extends Schema & { readonly type: string }>(schema: S) {
  const { type, ...rest } = schema
  return { type: [type, 'null'], ...rest } as Omit<S, 'type'> & { readonly type: readonly [S['type'], 'null'] }
}

/** A named shape, or null. */
export function shapeOrNull<const S extends Schema>(description: string, schema: S) {
  return { oneOf: [schema, { type: 'null' }], description } as const
}

export function listOf<const S extends Schema>(description: string, items: S) {
  return { type: 'array', items, description } as const
}

export function text(description: string) {
  return { type: 'string', description } as const
}

export function time(description: string) {
  return { type: 'string', format: 'date-time', description, examples: ['2026-11-15T09:30:00.000Z'] } as const
}

/** Always the same text. */
export function always<const Value extends string>(value: Value) {
  return { const: value, type: 'string', description: `Always \`${value}\`.` } as const
}

export function count(description: string) {
  return { type: 'integer', minimum: 0, description } as const
}

/** `event` is a clause: "When it was created". */
export function unixTime(event: string) {
  return count(`${event}, in Unix seconds.`)
}

export function flag(description: string) {
  return { type: 'boolean', description } as const
}

/** In the response to a deletion. */
export const deleted = { const: true, type: 'boolean', description: 'Always true.' } as const

/** The type of a value that fits a schema: any string in place of the values of an `enum`. */
export type Read<S> = Widened<Static<S>>

type Widened<T> = T extends string
  ? string
  : T extends number
    ? number
    : T extends boolean
      ? boolean
      : T extends object
        ? { [Key in keyof T]: Widened<T[Key]> }
        : T

/**
 * Whether a response has the types of a schema. A server of another version may send more fields and other enum values,
 * so values, patterns and limits are not compared.
 */
export function fits<const S extends Schema>(schema: S, value: unknown): value is Read<S> {
  return hasTypes(schema, value)
}

function hasTypes(schema: Schema, value: unknown): boolean {
  const { oneOf, type, format, items, properties = {}, required = [] } = schema
  if (oneOf) return oneOf.some((one) => hasTypes(one, value))
  if (type !== undefined && ![type].flat().some((name) => isOf(name, value))) return false
  if (format === 'date-time' && value !== null) return !Number.isNaN(Date.parse(String(value)))
  if (Array.isArray(value)) return value.every((item) => !items || hasTypes(items, item))
  if (!isObject(value)) return true
  // The client knows which shape it requested, so `object` may be absent.
  const mayLack = (name: string) => name === 'object' || !required.includes(name)
  return Object.entries(properties).every(([name, field]) =>
    value[name] === undefined ? mayLack(name) : hasTypes(field, value[name]),
  )
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'integer' || type === 'number') return Number.isFinite(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return type === 'null' ? value === null : typeof value === type
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

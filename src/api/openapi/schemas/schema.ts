/** The part of JSON Schema (2020-12, as OpenAPI 3.1 has it) that the document uses. */
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
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
}

export type Schemas = Readonly<Record<string, Schema>>

export function refer(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** An object whose shape is ours: nothing else is in it. All fields are there, but for those that are named. */
export function shape(properties: Schemas, { optional = [] }: { optional?: readonly string[] } = {}): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', required, properties, additionalProperties: false }
}

/** The same or null. */
export function orNull({ type, ...schema }: Schema & { type: string }): Schema {
  return { type: [type, 'null'], ...schema }
}

export function listOf(items: Schema, description: string): Schema {
  return { type: 'array', items, description }
}

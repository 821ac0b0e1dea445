import type { Schema, Schemas } from '../../wire/schema.ts'

/**
 * A value that fits the schema. It has an optional field only if the field has an example: some of them exclude others.
 */
export function sampleOf(schema: Schema, schemas: Schemas): unknown {
  const { $ref, examples, const: constant, enum: values, default: usual, oneOf, items, properties, required } = schema
  if ($ref !== undefined) return sampleOf(resolve($ref, schemas), schemas)
  for (const found of [examples?.[0], constant, usual, values?.[0]]) if (found !== undefined) return found
  if (oneOf?.[0]) return sampleOf(oneOf[0], schemas)
  if (properties) {
    const shown = Object.entries(properties).filter(([name, one]) => required?.includes(name) || one.examples)
    return Object.fromEntries(shown.map(([name, one]) => [name, sampleOf(one, schemas)]))
  }
  if (items) return [sampleOf(items, schemas)]
  const types = [schema.type ?? 'null'].flat()
  if (types.includes('null')) return null
  return { object: {}, array: [], string: '…', boolean: true }[String(types[0])] ?? schema.minimum ?? 0
}

function resolve(ref: string, schemas: Schemas): Schema {
  const found = schemas[nameOf(ref)]
  if (!found) throw new Error(`there is no schema ${ref}`)
  return found
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

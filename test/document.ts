import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Document } from '../src/api/openapi/document.ts'
import type { Schema } from '../src/wire/schema.ts'

/* Reads the OpenAPI document of the service: its operations by name, and a check for each schema. */

export type Operation = Document['paths'][string][string]

export interface Named {
  method: string
  path: string
  operation: Operation
}

/** By operationId. */
export function operationsOf(document: Document): Map<string, Named> {
  const named = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  return new Map(named.map((one) => [one.operation.operationId, one]))
}

/** The fields of an object, and those of objects in it behind a dot. */
export function fieldsOf({ properties = {} }: Schema, prefix = ''): { name: string; schema: Schema }[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inner = schema.items?.properties ? schema.items : schema
    const dot = inner === schema ? '.' : '[].'
    return [{ name: prefix + name, schema }, ...fieldsOf(inner, `${prefix}${name}${dot}`)]
  })
}

/** Returns a check that throws unless a value matches a schema. A `$ref` leads into the document. */
export function openChecks(document: Document) {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true })
  addFormats.default(ajv)
  // `components/schemas` of OpenAPI is `$defs` in JSON Schema.
  ajv.addSchema({ $id: 'filmgate:', $defs: inDocument(document.components.schemas) as object })
  return (schema: Schema, value: unknown, what: string): void => {
    const validate = ajv.compile(inDocument(schema) as object)
    if (validate(value)) return
    const faults = (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    )
    assert.fail(`${what}\n${faults.join('\n')}\n${JSON.stringify(value)}`)
  }
}

function inDocument(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inDocument)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.entries(schema).map(([name, part]) => [
    name,
    name === '$ref' ? String(part).replace('#/components/schemas/', 'filmgate:#/$defs/') : inDocument(part),
  ])
  return Object.fromEntries(parts)
}

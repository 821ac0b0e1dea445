import type { Schema } from '../../wire/schema.ts'
import { Html, html, inline, type Part } from './html.ts'
import { table } from './page.ts'
import { nameOf } from './sample.ts'

export interface Field {
  name: string
  required: boolean
  schema: Schema
  description?: string
}

/** Which fields are marked. */
type Marked = 'required' | 'optional'

export function fieldTable(fields: readonly Field[], marked: Marked = 'required'): Html {
  return table(
    ['Field', 'Meaning'],
    fields.map((field) => toRow(field, marked)),
  )
}

/** The fields of an object, and those of objects in it behind a dot. */
export function fieldsOf({ properties = {}, required = [] }: Schema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const own = { name: prefix + name, required: required.includes(name), schema }
    const inner = schema.items?.properties ? schema.items : schema
    const dot = inner === schema ? '.' : '[].'
    return [own, ...fieldsOf(inner, `${prefix}${name}${dot}`)]
  })
}

function toRow({ name, required, schema, description }: Field, marked: Marked): Part[] {
  return [
    [
      html`<code>${name}</code>`,
      html`<span class="type">${typeOf(schema)}</span>`,
      required === (marked === 'required') && html`<span class="${marked}">${marked}</span>`,
    ],
    [html`<p>${inline(description ?? schema.description ?? '')}</p>`, limitsOf(schema)],
  ]
}

/** string, integer or null, list of Video, … */
export function typeOf(schema: Schema): Part {
  const { $ref, oneOf, items, type, format } = schema
  if ($ref !== undefined) return html`<a href="#schema-${nameOf($ref)}">${nameOf($ref)}</a>`
  if (oneOf) return alternatives(oneOf.map(typeOf))
  if (items) return html`list of ${typeOf(items)}`
  if (type === undefined) return 'any'
  if (format === 'binary') return 'file'
  return alternatives([type].flat().map((name) => (name === 'object' && isMap(schema) ? mapOf(schema) : name)))
}

function alternatives(types: readonly Part[]): Part {
  return types.map((type, at) => [at > 0 && ' or ', type])
}

function isMap({ properties, additionalProperties }: Schema): boolean {
  return properties === undefined && typeof additionalProperties === 'object'
}

function mapOf({ additionalProperties }: Schema): Part {
  return ['object of ', typeOf(additionalProperties as Schema)]
}

/** The accepted values, the range, the length and the default. */
function limitsOf(schema: Schema): Part {
  const { enum: values = [], minimum, maximum, maxLength, default: usual } = schema
  const named = values.filter((value) => value !== null)
  const from = minimum === undefined || minimum === 0 ? undefined : `from ${minimum}`
  const limits: Part[] = [
    named.length > 0 && ['One of ', join(named.map((value) => html`<code>${String(value)}</code>`))],
    maximum !== undefined && `From ${minimum ?? 'any'} to ${maximum}`,
    maximum === undefined && from !== undefined && `At least ${minimum}`,
    maxLength !== undefined && `Up to ${maxLength.toLocaleString('en')} characters`,
    usual !== undefined && [html`<code>${String(usual)}</code>`, ' by default'],
  ]
  const shown = limits.filter((limit) => limit !== false)
  return shown.length > 0 && html`<p class="type">${join(shown, '. ')}.</p>`
}

export function join(parts: readonly Part[], between = ', '): Part {
  return parts.map((part, at) => [at > 0 && new Html(between), part])
}

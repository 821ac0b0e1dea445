import type { ModelCard } from './catalog.ts'
import { deadlineFields } from './deadlines.ts'
import { Problem } from './problem.ts'
import type { Parameters } from './task.ts'

/** What a model takes beyond the common fields: the part of JSON Schema that a card may use. */
export type ParameterRule = { readonly description: string } & (
  | { readonly type: 'integer' | 'number'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'boolean' }
  | { readonly type: 'string'; readonly maxLength: number; readonly enum?: readonly string[] }
)

/** The fields of every submit. */
export const commonFields = [...['model', 'prompt', 'seconds', 'size', 'image', 'input_reference'], ...deadlineFields]

/**
 * The model's own parameters among the fields of a request. `text`: a form has only text, so '7' is a number there and
 * 'true' a truth; in JSON they are what they are. A field that nobody knows is an error that says what the model takes.
 */
export function readParameters(
  card: ModelCard,
  fields: Record<string, unknown>,
  { text }: { text: boolean },
): Parameters {
  const parameters: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (commonFields.includes(name)) continue
    const rule = Object.hasOwn(card.parameters, name) ? card.parameters[name] : undefined
    if (!rule) throw unknown(card, name.slice(0, 100))
    const read = text && typeof value === 'string' ? fromText(rule, value) : value
    if (!fits(rule, read))
      throw new Problem('invalid_value', `Invalid '${name}': expected ${describe(rule)}.`, { param: name })
    parameters[name] = read
  }
  return parameters
}

function unknown(card: ModelCard, name: string): Problem {
  const known = [...commonFields, ...Object.keys(card.parameters)].join(', ')
  return new Problem('unknown_parameter', `Unknown parameter: '${name}'. Model '${card.id}' takes: ${known}.`, {
    param: name,
  })
}

function fromText(rule: ParameterRule, value: string): unknown {
  if (rule.type === 'string') return value
  if (rule.type === 'boolean') return { true: true, false: false }[value]
  return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined
}

function fits(rule: ParameterRule, value: unknown): value is string | number | boolean {
  switch (rule.type) {
    case 'boolean':
      return typeof value === 'boolean'
    case 'string':
      return typeof value === 'string' && value.length <= rule.maxLength && (rule.enum?.includes(value) ?? true)
    default:
      if (typeof value !== 'number' || (rule.type === 'integer' && !Number.isInteger(value))) return false
      return value >= rule.minimum && value <= rule.maximum
  }
}

function describe(rule: ParameterRule): string {
  switch (rule.type) {
    case 'boolean':
      return 'true or false'
    case 'string':
      return rule.enum
        ? `one of ${rule.enum.map((value) => `'${value}'`).join(', ')}`
        : `text of at most ${rule.maxLength} characters`
    default:
      return `${rule.type === 'integer' ? 'a whole number' : 'a number'} from ${rule.minimum} to ${rule.maximum}`
  }
}

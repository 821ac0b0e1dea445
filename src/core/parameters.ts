import type { AskedSize, ModelCard } from './catalog.ts'
import { closest } from './closest.ts'
import { deadlineFields } from './deadlines.ts'
import { duplicateKey } from './duplicate-key.ts'
import { Problem } from './problem.ts'
import type { Metadata, Parameters } from './task.ts'
import type { UnknownParameters } from './token.ts'

/** What a model takes beyond the common fields: the part of JSON Schema that a card may use. */
export type ParameterRule = { readonly description: string; readonly needsImage?: true } & (
  | { readonly type: 'integer' | 'number'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'boolean' }
  | {
      readonly type: 'string'
      readonly maxLength: number
      readonly enum?: readonly string[]
      /** It is a URL, which the provider fetches: where it leads is checked as for the reference image. */
      readonly format?: 'https'
    }
)

/** How a provider that knows no pixels is asked for a size. */
const words = ['aspect_ratio', 'resolution']

/** The fields of every submit. */
export const commonFields = [
  ...['model', 'prompt', 'seconds', 'size', ...words, 'image', 'input_reference', 'metadata'],
  ...deadlineFields,
]

/** What a request says beyond the common fields. */
export interface Extras {
  parameters: Parameters
  /** What stands in `metadata` and is not a parameter; null where there is nothing. */
  metadata: Metadata | null
  /** What is neither, where that is left out. */
  ignored: readonly string[]
}

export interface ReadOptions {
  text: boolean
  beside?: readonly string[]
  reserved?: readonly string[]
  unknown?: UnknownParameters
}

/**
 * The model's own parameters among the fields of a request, or in its `metadata`, where OpenAI's SDKs have room for
 * them; other names in `metadata` are the client's own, and are kept for it. `text`: a form has only text, so '7' is a
 * number there and 'true' a truth; in JSON they are what they are. `beside`: the fields that such a request has of its
 * own. `reserved`: other names of them, which mean nothing within `metadata`. An unknown field is an error that says what
 * the model takes, or left out where `unknown` says so.
 */
export function readParameters(
  card: ModelCard,
  fields: Record<string, unknown>,
  { text, beside = commonFields, reserved = [], unknown = 'refuse' }: ReadOptions,
): Extras {
  const parameters: Record<string, string | number | boolean> = {}
  const own = Object.entries(fields).filter(([name]) => !beside.includes(name))
  const sized = words.filter((name) => beside.includes(name))
  const isParameter = (name: string) => Object.hasOwn(card.parameters, name)
  const metadata = Object.entries(readMetadata(fields)).filter(([name]) => !sized.includes(name))
  const within = metadata.filter(([name]) => isParameter(name))
  const kept = metadata.filter(([name]) => !isParameter(name))
  const ignored: string[] = []
  /** Throws, or leaves it out. */
  const refuse = (name: string, problem: () => Problem) => {
    // Each is a warning that is kept with the task.
    if (unknown === 'refuse' || ignored.length >= mostIgnored) throw problem()
    ignored.push(name.slice(0, 100).toWellFormed())
  }
  for (const [name, value] of [...own, ...within]) {
    if (Object.hasOwn(parameters, name)) throw twice(name)
    const rule = isParameter(name) ? card.parameters[name] : undefined
    if (!rule) {
      refuse(name, () => unknownParameter(card, name.slice(0, 100), { beside, reserved }))
      continue
    }
    const read = text && typeof value === 'string' ? fromText(rule, value) : value
    if (!fits(rule, read))
      throw new Problem('invalid_value', `Invalid '${name}': expected ${describe(rule)}.`, { param: name })
    parameters[name] = read
  }
  const isMisplaced = (name: string) => beside.includes(name) || reserved.includes(name)
  for (const [name] of kept) if (isMisplaced(name)) refuse(`metadata.${name}`, () => outside(name))
  return { parameters, metadata: keep(kept.filter(([name]) => !isMisplaced(name))), ignored }
}

const mostIgnored = 32
const mostKept = { keys: 16, keyLength: 64, valueLength: 512 }

/** What a client may keep with its video; as much as OpenAI's API lets it keep elsewhere. */
function keep(entries: readonly [string, unknown][]): Metadata | null {
  const { keys, keyLength, valueLength } = mostKept
  if (entries.length === 0) return null
  if (entries.length > keys) {
    const message = `'metadata' has ${entries.length} keys that are not parameters of the model. It may have ${keys}.`
    throw new Problem('invalid_value', message, { param: 'metadata' })
  }
  for (const [name, value] of entries) {
    const param = `metadata.${name.slice(0, 100)}`
    if (name.length > keyLength)
      throw new Problem('invalid_value', `A key of 'metadata' may have ${keyLength} characters.`, { param })
    if (!isKeepable(value) || String(value).length > valueLength) {
      const allowed = `text of at most ${valueLength} characters, a number, true or false`
      throw new Problem('invalid_value', `Invalid '${param}': expected ${allowed}.`, { param })
    }
  }
  return Object.fromEntries(entries) as Metadata
}

function isKeepable(value: unknown): value is Metadata[string] {
  return typeof value === 'string' || Number.isFinite(value) || typeof value === 'boolean'
}

/** The parameters that are URLs, by their names. */
export function urlsIn(card: ModelCard, parameters: Parameters): [name: string, url: string][] {
  return Object.entries(parameters).flatMap(([name, value]) => {
    const rule = card.parameters[name]
    return rule?.type === 'string' && rule.format !== undefined ? [[name, String(value)] as [string, string]] : []
  })
}

/** The words for a size that a request has, wherever it has them. */
export function readSizeWords(fields: Record<string, unknown>): AskedSize {
  const metadata = readMetadata(fields)
  const found = words.flatMap((name) => {
    if (fields[name] !== undefined && metadata[name] !== undefined) throw twice(name)
    const value = fields[name] ?? metadata[name]
    if (value !== undefined && typeof value !== 'string')
      throw new Problem('invalid_type', `Invalid type for '${name}': expected a string.`, { param: name })
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(found)
}

/** Far more than all parameters of any model: reading more would keep every other client waiting. */
const mostMetadata = 65_536
const mostFields = 200

/** An object, or in a form the JSON of one. */
function readMetadata({ metadata = {} }: Record<string, unknown>): Record<string, unknown> {
  const value = typeof metadata === 'string' && metadata.length <= mostMetadata ? parsed(metadata) : metadata
  if (typeof value === 'object' && Object.keys(value ?? {}).length > mostFields) throw crowded()
  const duplicate = typeof metadata === 'string' && value !== undefined ? duplicateKey(metadata) : undefined
  if (duplicate !== undefined) throw twiceWithin(duplicate.slice(0, 100))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new Problem(
    'invalid_type',
    "Invalid type for 'metadata': expected an object, or in a form its JSON, of at most 65536 characters.",
    { param: 'metadata' },
  )
}

function crowded(): Problem {
  const message = `Invalid 'metadata': it has more than ${mostFields} fields.`
  return new Problem('invalid_value', message, { param: 'metadata' })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function outside(name: string): Problem {
  return new Problem('unknown_parameter', `Send '${name}' outside 'metadata'.`, { param: `metadata.${name}` })
}

function twice(name: string): Problem {
  return new Problem('invalid_value', `'${name}' is given twice, once in 'metadata'.`, { param: name })
}

function twiceWithin(name: string): Problem {
  return new Problem('invalid_value', `'${name}' is given twice in 'metadata'.`, { param: name })
}

type Known = Required<Pick<ReadOptions, 'beside' | 'reserved'>>

function unknownParameter(card: ModelCard, name: string, { beside, reserved }: Known): Problem {
  const known = [...beside, ...Object.keys(card.parameters)]
  const [near] = [...closest(name.toLowerCase(), known), ...closest(name.toLowerCase(), reserved)]
  const guess = near === undefined ? '' : ` Did you mean '${near}'?`
  const message = `Unknown parameter: '${name}'.${guess} Model '${card.id}' takes: ${known.join(', ')}.`
  return new Problem('unknown_parameter', message, { param: name })
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
      if (typeof value !== 'string' || value.length > rule.maxLength || !(rule.enum?.includes(value) ?? true))
        return false
      return rule.format === undefined || /^https:\/\/[^\s\\]+$/.test(value)
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
      if (rule.format) return `a URL that begins with https:// and has at most ${rule.maxLength} characters`
      return rule.enum
        ? `one of ${rule.enum.map((value) => `'${value}'`).join(', ')}`
        : `text of at most ${rule.maxLength} characters`
    default:
      return `${rule.type === 'integer' ? 'a whole number' : 'a number'} from ${rule.minimum} to ${rule.maximum}`
  }
}

import type { ModelCard, RequestedSize } from './catalog.ts'
import { closest } from './closest.ts'
import { deadlineFields } from './deadlines.ts'
import { duplicateKey } from './duplicate-key.ts'
import { Problem } from './problem.ts'
import type { Metadata, Parameters } from './task.ts'
import type { UnknownParameters } from './token.ts'

/** A parameter of a model besides the common fields: the part of JSON Schema that a card may use. */
export type ParameterRule = { readonly description: string; readonly needsImage?: true } & (
  | { readonly type: 'integer' | 'number'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'boolean' }
  | {
      readonly type: 'string'
      readonly maxLength: number
      readonly enum?: readonly string[]
      /** A URL that the provider fetches. It is checked like the URL of a reference image. */
      readonly format?: 'https'
    }
)

/** A size in words, for providers that accept no pixels. */
const sizeWords = ['aspect_ratio', 'resolution'] as const

const common = [
  'model',
  'prompt',
  'seconds',
  'size',
  ...sizeWords,
  'image',
  'input_reference',
  'metadata',
  ...deadlineFields,
] as const

/** The fields of every request that creates a video. `CreateVideo` in `wire/videos.ts` does not compile with others. */
export type CommonField = (typeof common)[number]
export const commonFields: readonly string[] = common

/** What a request has besides the common fields. */
export interface Extras {
  parameters: Parameters
  /** The entries of `metadata` that are not parameters; null if there are none. */
  metadata: Metadata | null
  /** The names of unknown parameters that were left out. */
  ignored: readonly string[]
}

export interface ReadOptions {
  /** The request is a form: its values are text, so '7' may be a number and 'true' a boolean. */
  text: boolean
  /** The fields of this kind of request. They are not parameters. */
  beside?: readonly string[]
  /** Other names of these fields. They have no meaning in `metadata`. */
  reserved?: readonly string[]
  /** Names of a submit that have no effect here, because the source of the video determines their value. */
  fromSource?: readonly string[]
  /** What happens to an unknown parameter; an error by default. */
  unknown?: UnknownParameters
}

/**
 * The model's parameters among the fields of a request, or in its `metadata`, which is a known field of OpenAI's SDKs.
 * Other entries of `metadata` belong to the client, and are stored.
 */
export function readParameters(
  card: ModelCard,
  fields: Record<string, unknown>,
  { text, beside = commonFields, reserved = [], fromSource = [], unknown = 'refuse' }: ReadOptions,
): Extras {
  const parameters: Record<string, string | number | boolean> = {}
  const fromFields = Object.entries(fields).filter(([name]) => !beside.includes(name))
  // Most requests have nothing else, and the rest costs each submit more than its other checks.
  if (fromFields.length === 0 && fields.metadata === undefined) return { parameters, metadata: null, ignored: [] }
  const sizeFields: readonly string[] = sizeWords.filter((name) => beside.includes(name))
  const isParameter = (name: string) => Object.hasOwn(card.parameters, name)
  const metadata = Object.entries(readMetadata(fields)).filter(([name]) => !sizeFields.includes(name))
  const fromMetadata = metadata.filter(([name, value]) => isParameter(name) && !isRandomSeed(name, value))
  const kept = metadata.filter(([name]) => !isParameter(name))
  const ignored: string[] = []
  /** Throws, or leaves the parameter out. */
  const refuse = (name: string, problem: () => Problem) => {
    // Each becomes a warning that is stored with the task.
    if (unknown === 'refuse' || ignored.length >= mostIgnored) throw problem()
    ignored.push(name.slice(0, 100).toWellFormed())
  }
  for (const [name, value] of [...fromFields, ...fromMetadata]) {
    if (Object.hasOwn(parameters, name)) throw twice(name)
    const rule = isParameter(name) ? card.parameters[name] : undefined
    if (!rule) {
      refuse(name, () => unknownParameter(card, name.slice(0, 100), { beside, reserved, fromSource }))
      continue
    }
    const read = text && typeof value === 'string' ? fromText(rule, value) : value
    if (!fits(rule, read)) {
      const param = Object.hasOwn(fields, name) ? name : `metadata.${name}`
      throw new Problem('invalid_value', `Invalid '${param}': expected ${describe(rule)}.`, { param })
    }
    parameters[name] = read
  }
  const isMisplaced = (name: string) => [beside, reserved, fromSource].some((names) => names.includes(name))
  const misplaced = (name: string) =>
    fromSource.includes(name)
      ? unknownParameter(card, name, { beside, reserved, fromSource }, `metadata.${name}`)
      : outside(name)
  for (const [name] of kept) if (isMisplaced(name)) refuse(`metadata.${name}`, () => misplaced(name))
  return { parameters, metadata: keep(kept.filter(([name]) => !isMisplaced(name))), ignored }
}

/** Other clients send it for a random seed. Among the fields it is dropped before, by `withoutEffect` in `api/`. */
function isRandomSeed(name: string, value: unknown): boolean {
  return name === 'seed' && (value === -1 || value === '-1')
}

const mostIgnored = 32

/** What a client may store with its video. The limits are those of OpenAI's API for other objects. */
export const metadataLimits = { keys: 16, keyLength: 64, valueLength: 512 }

function keep(entries: readonly [string, unknown][]): Metadata | null {
  const { keys, keyLength, valueLength } = metadataLimits
  if (entries.length === 0) return null
  if (entries.length > keys) {
    const message = `'metadata' has ${entries.length} keys that are not parameters of the model. The limit is ${keys}.`
    throw new Problem('invalid_value', message, { param: 'metadata' })
  }
  for (const [name, value] of entries) {
    const param = `metadata.${name.slice(0, 100)}`
    if (name.length > keyLength)
      throw new Problem('invalid_value', `A key of 'metadata' may have at most ${keyLength} characters.`, { param })
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

/** The parameters that are URLs. */
export function urlsIn(card: ModelCard, parameters: Parameters): [name: string, url: string][] {
  return Object.entries(parameters).flatMap(([name, value]) => {
    const rule = card.parameters[name]
    return rule?.type === 'string' && rule.format !== undefined ? [[name, String(value)] as [string, string]] : []
  })
}

/** The size words of a request, from its fields or its `metadata`. */
export function readSizeWords(fields: Record<string, unknown>): RequestedSize {
  const metadata = readMetadata(fields)
  const found = sizeWords.flatMap((name) => {
    if (fields[name] !== undefined && metadata[name] !== undefined) throw twice(name)
    const value = fields[name] ?? metadata[name]
    if (value !== undefined && typeof value !== 'string')
      throw new Problem('invalid_type', `Invalid type for '${name}': expected a string.`, { param: name })
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(found)
}

/** Far more than the parameters of any model. Reading more would make other clients wait. */
const mostMetadata = 65_536
const mostFields = 200

/** An object; in a form, the JSON of one. */
function readMetadata({ metadata = {} }: Record<string, unknown>): Record<string, unknown> {
  const value = typeof metadata === 'string' && metadata.length <= mostMetadata ? parsed(metadata) : metadata
  if (typeof value === 'object' && Object.keys(value ?? {}).length > mostFields) throw tooManyFields()
  const duplicate = typeof metadata === 'string' && value !== undefined ? duplicateKey(metadata) : undefined
  if (duplicate !== undefined) throw twiceWithin(duplicate.slice(0, 100))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  const message = `Invalid type for 'metadata': expected an object, or in a form its JSON, of at most ${mostMetadata} characters.`
  throw new Problem('invalid_type', message, { param: 'metadata' })
}

function tooManyFields(): Problem {
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

type Known = Required<Pick<ReadOptions, 'beside' | 'reserved' | 'fromSource'>>

function unknownParameter(card: ModelCard, name: string, names: Known, param = name): Problem {
  const { beside, reserved, fromSource } = names
  const known = [...beside, ...Object.keys(card.parameters)]
  const [near] = [...closest(name.toLowerCase(), known), ...closest(name.toLowerCase(), reserved)]
  const guess = near === undefined ? '' : ` Did you mean '${near}'?`
  const hint = fromSource.includes(name) ? ' The source video determines it.' : guess
  const message = `Unknown parameter: '${param}'.${hint} Model '${card.id}' accepts: ${known.join(', ')}.`
  return new Problem('unknown_parameter', message, { param })
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

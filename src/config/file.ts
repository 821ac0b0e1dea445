import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Document } from 'yaml'
import { codeOf, messageOf } from '../core/problem.ts'
import { type Mistakes, placeIn } from './mistakes.ts'
import { type FileSettings, fileSchema } from './schema.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The settings in filmgate.yaml. Without a path, the file in the working folder is used if it exists. */
export function readYaml(
  { where, text }: { where: string; text: string | undefined },
  env: Environment,
  mistakes: Mistakes,
): FileSettings {
  mistakes.file = text ?? mistakes.file
  let content = ''
  try {
    content = readFileSync(mistakes.file, 'utf8')
  } catch (error) {
    const absent = text === undefined && codeOf(error) === 'ENOENT'
    if (!absent)
      mistakes.add(
        where,
        `${mistakes.file} can't be read (${messageOf(error)})`,
        'set it to the path of a readable YAML file',
      )
  }
  const value = (content === '' ? null : contentOf(parse(content), mistakes)) ?? {}
  if (!isMap(value)) {
    mistakes.add('', 'it is not a map', "write settings such as 'aliases:' at its top level")
    return {}
  }
  const variables = new Variables(env, mistakes)
  const filled = variables.fill(value, '')
  return variables.isCircular ? {} : (readBySchema(fileSchema, filled, '', mistakes) as FileSettings)
}

/** The parser is loaded only if there is a file: that takes longer than all other settings. */
function parse(content: string): Document.Parsed {
  const { parseDocument } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
  // Sets, dates and other YAML types are not used: as unknown tags they are reported.
  return parseDocument(content, { resolveKnownTags: false })
}

function contentOf(document: Document.Parsed, mistakes: Mistakes): unknown {
  const faults = [...document.errors, ...document.warnings]
  // Some repeat what is there, which may be a secret: operators read mistakes of a changed file through the API.
  for (const { message } of faults)
    mistakes.add(
      '',
      (message.split('\n')[0] ?? '').replace(/: .*(?= at line )/, '').replace(/:$/, ''),
      'fix the YAML there',
    )
  if (faults.length > 0) return undefined
  try {
    return document.toJS()
  } catch (error) {
    // An alias of nothing, or nested aliases that would fill the memory.
    mistakes.add('', messageOf(error).replace(/: .*/s, ''), 'write out what its aliases stand for')
    return undefined
  }
}

/** `${NAME}` in any text of the file stands for that environment variable, so that secrets can stay out of it. */
class Variables {
  isCircular = false
  readonly #env: Environment
  readonly #mistakes: Mistakes
  readonly #around: object[] = []

  constructor(env: Environment, mistakes: Mistakes) {
    this.#env = env
    this.#mistakes = mistakes
  }

  fill(value: unknown, where: string): unknown {
    this.#mistakes.places.push(where)
    if (typeof value === 'string') return this.#fillText(value, where)
    if (typeof value !== 'object' || value === null) return value
    if (this.#around.includes(value)) {
      this.isCircular = true
      this.#mistakes.add('', `${where} contains itself`, 'write out what its alias stands for')
      return null
    }
    this.#around.push(value)
    const filled = Array.isArray(value)
      ? value.map((inner, at) => this.fill(inner, `${where}[${at}]`))
      : Object.fromEntries(
          Object.entries(value).map(([name, inner]) => [name, this.fill(inner, placeIn(where, name))] as const),
        )
    this.#around.pop()
    return filled
  }

  #fillText(text: string, where: string): string {
    const filled = text.replace(/\$\{(\w+)\}/g, (written, name: string) => {
      const value = this.#env[name]
      if (value !== undefined) return value
      const what = `the environment variable ${name} is not set`
      this.#mistakes.add('', what, `set it, or write the value instead of ${written}`)
      return written
    })
    if (filled !== text) this.#mistakes.hide(where, text)
    return filled
  }
}

/** The part of JSON Schema that schema.ts uses. */
export interface KeySchema {
  readonly type: string | readonly string[]
  readonly description?: string
  /** `what is wrong; how to fix it` */
  readonly errorMessage?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly items?: KeySchema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, KeySchema>>
  readonly additionalProperties?: false | KeySchema
  readonly propertyNames?: KeySchema
}

/**
 * Reports every value that its schema refuses, and returns the rest, so that later checks find their own mistakes in
 * the same run. A refused or empty map is {}; any other refused or empty value is left out. schema.test.ts compares it
 * with a validator of JSON Schema, which would not return the rest.
 */
export function readBySchema(schema: KeySchema, value: unknown, where: string, mistakes: Mistakes): unknown {
  const types = [schema.type].flat()
  // An empty map that must not be empty is reported by the keys that it needs.
  if (types.includes('object') && (value === null || isMap(value))) return readMap(schema, value ?? {}, where, mistakes)
  if (value === null && types.includes('null')) return undefined
  const { items, ...list } = schema
  // A map in a list has places of its own; a wrong number or text is a mistake of its list.
  if (items && [items.type].flat().includes('object')) {
    if (Array.isArray(value) && isValid(list, value))
      return value.map((item, at) => readBySchema(items, item, `${where}[${at}]`, mistakes))
  } else if (isValid(schema, value)) return value
  mistakes.refuse(where, ...faultOf(schema, value, (text) => mistakes.quote(where, text)))
  return types.includes('object') ? {} : undefined
}

function readMap(schema: KeySchema, map: object, where: string, mistakes: Mistakes): object {
  const { properties = {}, additionalProperties = false, propertyNames, required = [] } = schema
  for (const name of required) {
    const missing = Object.hasOwn(map, name) ? undefined : properties[name]
    if (missing) mistakes.refuse(placeIn(where, name), ...faultOf(missing, undefined))
  }
  const valid = Object.entries(map).flatMap(([name, value]) => {
    const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    if (!inner) {
      mistakes.add(where, `'${name}' is not a setting`, `use one of: ${Object.keys(properties).join(', ')}`)
      return []
    }
    const place = placeIn(where, name)
    if (propertyNames && !isValid(propertyNames, name)) mistakes.add(place, ...faultOf(propertyNames, name))
    const read = readBySchema(inner, value, place, mistakes)
    // The names of a map stay, so that later checks can report a more exact fix.
    return read === undefined && inner !== additionalProperties ? [] : [[name, read] as const]
  })
  return Object.fromEntries(valid)
}

const typeChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: Number.isFinite,
  string: (value) => typeof value === 'string',
  array: Array.isArray,
  object: isMap,
}

function isValid(schema: KeySchema, value: unknown): boolean {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity } = schema
  const { enum: words, pattern = '', minLength = 0, minItems = 0, items } = schema
  if (![schema.type].flat().some((type) => typeChecks[type]?.(value))) return false
  if (words && !words.includes(value)) return false
  if (typeof value === 'number') return value >= minimum && value > exclusiveMinimum && value <= maximum
  if (typeof value === 'string') return value.length >= minLength && new RegExp(pattern, 'u').test(value)
  if (!Array.isArray(value)) return true
  return value.length >= minItems && value.every((item) => items === undefined || isValid(items, item))
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What is wrong with the value, and its fix. Only a text in place of an enum is shown: others may be secrets. */
function faultOf(
  schema: KeySchema,
  value: unknown,
  quote = (text: string) => `'${text}'`,
): [what: string, fix: string] {
  const [what, fix] = mistakeOf(schema)
  if (value === undefined) return ['it is missing', fix]
  if (value === null) return ['it is empty', fix]
  return [schema.enum && typeof value === 'string' ? `${quote(value)} is not allowed` : what, fix]
}

function mistakeOf({ type, enum: words, errorMessage }: KeySchema): [what: string, fix: string] {
  if (errorMessage !== undefined) return errorMessage.split('; ', 2) as [string, string]
  if (words) {
    const either = new Intl.ListFormat('en-GB', { type: 'disjunction' })
    return ['it is not text', `use ${either.format(words.filter((word) => typeof word === 'string'))}`]
  }
  if (type === 'boolean') return ['it is neither true nor false', 'write true or false']
  if (type.includes('string')) return ['it is not text', 'write it in quotes']
  return ['it is not a map', 'write it as indented "name: value" lines']
}

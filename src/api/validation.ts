import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import { Problem } from '../core/problem.ts'
import type { Schema } from '../wire/schema.ts'

/**
 * Fastify's own checks, loaded and compiled when a route is first used: all of them would take a sixth of a start. No
 * response has a schema of Fastify, so its serializers are not loaded at all.
 */
export const compilersFactory = {
  buildValidator: compileLater as unknown as BuildCompilerFromPool,
  buildSerializer: () => () => JSON.stringify,
}

type Check = ((data: unknown) => unknown) & { errors?: unknown }
type Compile = (route: unknown) => Check
type Settings = Parameters<BuildCompilerFromPool>

function compileLater(...settings: Settings): Compile {
  let compile: Compile | undefined
  return (route) => {
    let check: Check | undefined
    const checkNow: Check = (data) => {
      compile ??= openCompiler(settings)
      check ??= compile(route)
      const result = check(data)
      checkNow.errors = check.errors
      return result
    }
    return checkNow
  }
}

function openCompiler(settings: Settings): Compile {
  const load = createRequire(import.meta.url)
  const { default: open } = load('@fastify/ajv-compiler') as typeof import('@fastify/ajv-compiler')
  return open()(...settings) as Compile
}

/** The first error of a request. It has the value and the schema that failed, because `server.ts` sets `verbose`. */
export function toProblem(errors: FastifySchemaValidationError[], where: string): Problem {
  const error = errors[0]
  if (!error) return new Problem('invalid_request', 'The request is malformed.')
  const { keyword, params, instancePath } = error
  const field = String(params.missingProperty ?? params.additionalProperty ?? '').slice(0, 100)
  const param = [...instancePath.split('/'), field].filter(Boolean).join('.')
  const { data } = error as { data?: unknown }
  if (keyword === 'type' && param === '') {
    const message = `The body is ${data === null ? 'missing or null' : shown(data)}. Send a JSON object.`
    return new Problem('invalid_type', message)
  }
  const name = `\`${param}\``
  const is = `${name} is ${shown(data)}.`
  // Everything in a query is text, so a list is a name that was sent more than once.
  if (where === 'querystring' && Array.isArray(data))
    return new Problem('invalid_value', `${name} is sent more than once. Send it once.`, { param })
  switch (keyword) {
    case 'required':
      return new Problem('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
    case 'additionalProperties': {
      const message = `Unknown parameter: '${param}'. This request accepts: ${known(error)}.`
      return new Problem('unknown_parameter', message, { param })
    }
    case 'type':
      return new Problem('invalid_type', `${is} Expected ${names(params.type)}.`, { param })
    case 'minLength':
    case 'minItems':
      return new Problem('invalid_value', `${name} is empty. Send a value.`, { param })
    case 'maxLength':
      return new Problem('invalid_value', `${name} has more than ${params.limit} characters. Shorten it.`, { param })
    case 'maxItems':
      return new Problem('invalid_value', `${name} has more than ${params.limit} entries. Shorten it.`, { param })
    case 'enum':
      return new Problem('invalid_value', `${is} Allowed: ${list(params.allowedValues)}.`, { param })
    case 'const':
      return new Problem('invalid_value', `${is} Allowed: ${list([params.allowedValue])}.`, { param })
    case 'minimum':
    case 'maximum':
      return new Problem('invalid_value', `${is} Expected ${rangeOf(error)}.`, { param })
    case 'pattern':
      return new Problem('invalid_value', `${is} Expected a text such as ${exampleOf(error)}.`, { param })
    default:
      return new Problem('invalid_value', `${is} It ${error.message ?? 'is malformed'}.`, { param })
  }
}

/** A query that has a `limit`. */
interface Limited {
  properties: { limit: { minimum: number; maximum: number; default: number } }
}

/** The size of a list, by the schema of its query. The value is text, although the schema says integer. */
export function readLimit({ query }: { query: { limit?: string } }, { properties }: Limited): number {
  const { minimum, maximum, default: usual } = properties.limit
  const { limit: text } = query
  if (text === undefined) return usual
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  if (limit >= minimum && limit <= maximum) return limit
  const message = `\`limit\` is ${shown(text)}. Expected a whole number from ${minimum} to ${maximum}.`
  throw new Problem('invalid_value', message, { param: 'limit' })
}

const timeForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A time in a query: ISO 8601, a date, which is midnight in UTC, or Unix seconds. */
export function readTime(param: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{10}$/.test(text)) return Number(text) * 1_000
  const ms = timeForm.test(text) ? parseTime(text) : Number.NaN
  if (ms >= 0) return ms
  const message = `\`${param}\` is ${shown(text)}. Expected a time such as 2026-11-15 or 2026-11-15T09:30:00Z, or Unix seconds.`
  throw new Problem('invalid_value', message, { param })
}

/** NaN for a day that does not exist: `Date.parse` reads 30 February as 2 March. */
export function parseTime(text: string): number {
  const day = text.slice(0, 10)
  const midnight = Date.parse(day)
  const exists = Number.isFinite(midnight) && new Date(midnight).toISOString().startsWith(day)
  return exists ? Date.parse(text) : Number.NaN
}

/** No database accepts NUL. */
export function refuseNul(query: object): void {
  for (const [param, value] of Object.entries(query))
    if (String(value).includes('\0'))
      throw new Problem('invalid_value', `\`${param}\` has a NUL character. Remove it.`, { param })
}

interface Cursor {
  isId: (text: string) => boolean
  of: string
}

/** Otherwise such a page would be the first one, or look like the end of the list. */
export function refuseForeignCursor(after: string | undefined, { isId, of }: Cursor): void {
  if (after === undefined || isId(after)) return
  const message = `\`after\` is ${shown(after)}, which is not the id of ${of}. Use \`last_id\` of a page.`
  throw new Problem('invalid_value', message, { param: 'after' })
}

/** A value of a request, cut at 50 characters. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  return `'${value.slice(0, 50).toWellFormed()}${value.length > 50 ? '…' : ''}'`
}

function known(error: FastifySchemaValidationError): string {
  return Object.keys(schemaOf(error).properties ?? {}).join(', ')
}

function names(type: unknown): string {
  const article = (name: string) => (name === 'null' ? name : /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`)
  return (Array.isArray(type) ? type : String(type).split(',')).map((name) => article(String(name))).join(' or ')
}

function rangeOf(error: FastifySchemaValidationError): string {
  const { minimum, maximum } = schemaOf(error)
  if (maximum === undefined) return `a number of ${minimum} or more`
  return minimum === undefined ? `a number of ${maximum} or less` : `a number from ${minimum} to ${maximum}`
}

/** Few people read a regular expression. */
function exampleOf(error: FastifySchemaValidationError): string {
  return list(schemaOf(error).examples ?? [])
}

function schemaOf(error: FastifySchemaValidationError): Schema {
  return (error as { parentSchema?: Schema }).parentSchema ?? {}
}

function list(values: unknown): string {
  const texts = (values as unknown[]).filter((value) => value !== null).map((value) => `'${value}'`)
  return (values as unknown[]).includes(null) ? `${texts.join(', ')}, or null` : texts.join(', ')
}

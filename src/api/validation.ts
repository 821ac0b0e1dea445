import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import { Problem } from '../core/problem.ts'

/** The first thing wrong with a request, in the words OpenAI's API uses for it. */
export function toProblem(errors: FastifySchemaValidationError[], where: string): Problem {
  const error = errors[0]
  if (!error) return new Problem('invalid_request', 'The request is malformed.')
  const { keyword, params, instancePath } = error
  const missing = keyword === 'required' ? String(params.missingProperty) : ''
  const param = [...instancePath.split('/').filter(Boolean), missing].filter(Boolean).join('.') || where
  const quoted = `'${param}'`
  switch (keyword) {
    case 'required':
      return new Problem('missing_required_parameter', `Missing required parameter: ${quoted}.`, { param })
    case 'type':
      return new Problem('invalid_type', `Invalid type for ${quoted}: expected ${names(params.type)}.`, { param })
    case 'minLength':
      return new Problem('invalid_value', `Invalid ${quoted}: it must not be empty.`, { param })
    case 'maxLength':
      return new Problem('invalid_value', `Invalid ${quoted}: at most ${params.limit} characters are taken.`, { param })
    case 'enum':
      return new Problem('invalid_value', `Invalid ${quoted}. Supported values are: ${list(params.allowedValues)}.`, {
        param,
      })
    case 'pattern':
      return new Problem('invalid_value', `Invalid ${quoted}: it has another form than expected.`, { param })
    case 'const':
      return new Problem('invalid_value', `Invalid ${quoted}. Supported values are: ${list([params.allowedValue])}.`, {
        param,
      })
    default:
      return new Problem('invalid_value', `Invalid ${quoted}: ${error.message ?? 'it is malformed'}.`, { param })
  }
}

function names(type: unknown): string {
  const article = (name: string) => (/^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`)
  return (Array.isArray(type) ? type : String(type).split(',')).map((name) => article(String(name))).join(' or ')
}

function list(values: unknown): string {
  return (values as unknown[]).map((value) => `'${value}'`).join(', ')
}

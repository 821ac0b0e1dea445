import type { FastifyInstance, FastifyRequest } from 'fastify'
import { duplicateKey } from '../core/duplicate-key.ts'
import { Problem } from '../core/problem.ts'
import { liftTexts, maxRestBytes, returnTexts, tooMuchRest } from './long-text.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A body of a million small values would only block everybody else. A prompt may be all commas. */
const largeBytes = 256 * 2 ** 10
const mostSeparators = 40_000

type Done = (error: Error | null, body?: unknown) => void

/** Fastify's own parser, behind what it lets through: other encodings, and bodies made to be slow. */
export function jsonParser(app: FastifyInstance) {
  const parse = app.getDefaultJsonParser('error', 'error')
  return (request: FastifyRequest, body: Buffer, done: Done): void => {
    try {
      // Some clients name the type of a body that they do not send, as Python's SDK does on DELETE.
      if (body.length === 0 && needsNone(request)) return void done(null)
      const lifted = liftTexts(body)
      const text = decodeJson(lifted.rest)
      let [problem, value]: [Error | null, unknown?] = [null]
      // It calls back at once, and takes what is thrown there for its own error.
      void parse(request, text, (error, parsed) => {
        ;[problem, value] = [error, parsed]
      })
      if (problem) throw explain(problem, text)
      const duplicate = duplicateIn(text)
      if (duplicate) throw duplicate
      done(null, returnTexts(value, '', lifted))
    } catch (error) {
      done(error as Error)
    }
  }
}

/** The route takes no body, or takes none for an empty one. */
function needsNone({ routeOptions }: FastifyRequest): boolean {
  const body = routeOptions.schema?.body as { type?: string | readonly string[] } | undefined
  return !body || (Array.isArray(body.type) && body.type.includes('null'))
}

/** Fastify's parser calls everything malformed, also what is JSON with a name in it that would reach into the object. */
function explain(error: Error, text: string): Error {
  try {
    JSON.parse(text)
  } catch {
    return error
  }
  const message = "The body has a field named '__proto__', or 'prototype' within 'constructor': no field may be."
  return new Problem('invalid_json', message, { cause: error })
}

/** What to answer to JSON that has a field twice; null where it has none. */
function duplicateIn(json: string): Problem | null {
  const key = duplicateKey(json)
  if (key === undefined) return null
  const param = key.slice(0, 100)
  return new Problem('invalid_json', `The body has the field '${param}' twice. Send each field once.`, { param })
}

/** The value of JSON that is part of a form. Throws a Problem, or what `JSON.parse` throws. */
export function parseJsonPart(bytes: Buffer, name: string): unknown {
  const lifted = liftTexts(bytes)
  const text = decodeJson(lifted.rest)
  const value = JSON.parse(text)
  const duplicate = duplicateIn(text)
  if (duplicate) throw duplicate
  return returnTexts(value, name, lifted)
}

/** The text of a JSON body. Throws `invalid_json` and `body_too_large`. */
function decodeJson(body: Buffer): string {
  if (body.length > largeBytes && [',', '[', '{'].some((separator) => occursTooOften(body, separator.charCodeAt(0)))) {
    throw new Problem('invalid_json', 'The body has too many values.')
  }
  if (body.length > maxRestBytes) throw tooMuchRest()
  try {
    return utf8.decode(body)
  } catch (cause) {
    throw new Problem('invalid_json', 'The body is not UTF-8.', { cause })
  }
}

function occursTooOften(body: Buffer, byte: number): boolean {
  let count = 0
  for (let at = body.indexOf(byte); at >= 0; at = body.indexOf(byte, at + 1)) {
    count += 1
    if (count > mostSeparators) return true
  }
  return false
}

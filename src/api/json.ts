import type { FastifyInstance, FastifyRequest } from 'fastify'
import { duplicateKey } from '../core/duplicate-key.ts'
import { Problem } from '../core/problem.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * A body of megabytes is one long text of base64; one of a million small values would only block everybody else. A prompt
 * may be all commas.
 */
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
      const text = decodeJson(body)
      void parse(request, text, (error, value) => done(error ? explain(error, text) : duplicateIn(text), value))
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
export function parseJsonPart(bytes: Uint8Array): unknown {
  const text = decodeJson(bytes)
  const value = JSON.parse(text)
  const duplicate = duplicateIn(text)
  if (duplicate) throw duplicate
  return value
}

/** The text of a JSON body. Throws `invalid_json`. */
function decodeJson(bytes: Uint8Array): string {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (body.length > largeBytes && [',', '[', '{'].some((separator) => occursTooOften(body, separator.charCodeAt(0)))) {
    throw new Problem('invalid_json', 'The body has too many values.')
  }
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

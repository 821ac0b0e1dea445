import type { FastifyInstance, FastifyRequest } from 'fastify'
import { duplicateKey } from '../core/duplicate-key.ts'
import type { FairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { ownerOf } from '../core/token.ts'
import { liftTexts, maxRestBytes, returnTexts, tooMuchRest } from './long-text.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A body of a million small values would block all other requests. A prompt of commas alone stays below this. */
const largeBytes = 256 * 2 ** 10
const mostSeparators = 40_000

/** Far more than any request has. Finding duplicates among tens of thousands takes longer than parsing them. */
const mostFields = 200

/** Larger bodies are read in turns by token. A prompt of ordinary length is smaller. */
const turnBytes = 32 * 2 ** 10

type Done = (error: Error | null, value?: unknown) => void

/** Fastify's parser, with checks that it lacks: other encodings, and bodies that are built to be slow. */
export function jsonParser(app: FastifyInstance, turns: FairTurns) {
  const parse = app.getDefaultJsonParser('error', 'error')
  function read(request: FastifyRequest, body: Buffer): unknown {
    // Some clients send a content type without a body, for example Python's SDK on DELETE.
    if (body.length === 0 && mayBeEmpty(request)) return undefined
    const lifted = liftTexts(body)
    const text = decodeJson(lifted.rest)
    let [problem, value]: [Error | null, unknown?] = [null]
    // It calls back at once, and would report an error that the callback throws as its own.
    void parse(request, text, (error, parsed) => {
      ;[problem, value] = [error, parsed]
    })
    if (problem) throw explain(problem, text)
    refuseAmbiguous(value, text)
    return returnTexts(value, '', lifted)
  }
  // No promise for a small body: it would cost more than the parser.
  return (request: FastifyRequest, body: Buffer, done: Done): void => {
    request.bodyPlace?.[Symbol.dispose]()
    const finish = () => {
      let value: unknown
      try {
        value = read(request, body)
      } catch (error) {
        return done(error as Error)
      }
      done(null, value)
    }
    if (!isLarge(body)) finish()
    else
      void turns.take(ownerOf(request.token)).then((turn) => {
        using _turn = turn
        finish()
      }, done)
  }
}

/** The route has no body, or its body is optional. */
function mayBeEmpty({ routeOptions }: FastifyRequest): boolean {
  const body = routeOptions.schema?.body as { type?: string | readonly string[] } | undefined
  return !body || (Array.isArray(body.type) && body.type.includes('null'))
}

/** Whether JSON is to be read in a turn of its token. */
export function isLarge(json: Buffer): boolean {
  return json.length > turnBytes
}

/** Fastify's parser reports valid JSON with a dangerous field name as malformed. */
function explain(error: Error, text: string): Error {
  try {
    JSON.parse(text)
  } catch {
    return error
  }
  const message =
    "The body has a field named '__proto__', or 'prototype' within 'constructor'. These names are not allowed."
  return new Problem('invalid_json', message, { cause: error })
}

/** Throws if JSON has a field twice, or too many fields. */
function refuseAmbiguous(value: unknown, json: string): void {
  if (isFlatAndClear(value, json)) return
  if (fieldsOf(value).some((inner) => fieldsOf(inner).length > mostFields) || fieldsOf(value).length > mostFields)
    throw new Problem('invalid_json', `The body has too many fields: an object may have up to ${mostFields}.`)
  const key = duplicateKey(json)
  if (key === undefined) return
  const param = key.slice(0, 100)
  throw new Problem('invalid_json', `The body has the field '${param}' twice. Send each field once.`, { param })
}

/**
 * Whether an object without objects has as many keys and texts as its JSON has pairs of quotes: then no key is there
 * twice. Most submits are such objects, and a look at each character costs them more.
 */
function isFlatAndClear(value: unknown, json: string): boolean {
  if (typeof value !== 'object' || value === null || json.includes('\\')) return false
  let fields = 0
  let texts = 0
  for (const name in value) {
    const field: unknown = Reflect.get(value, name)
    if (typeof field === 'object' || fields === mostFields) return false
    fields += 1
    if (typeof field === 'string') texts += 1
  }
  let quotes = 0
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at + 1)) quotes += 1
  return quotes === 2 * (fields + texts)
}

function fieldsOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.values(value) : []
}

/** The value of JSON that is part of a form. Throws a Problem, or what `JSON.parse` throws. */
export function parseJsonPart(bytes: Buffer, name: string): unknown {
  const lifted = liftTexts(bytes)
  const text = decodeJson(lifted.rest)
  const value = JSON.parse(text)
  refuseAmbiguous(value, text)
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

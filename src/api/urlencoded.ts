import type { FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import { type Fields, multipartOptions, setField } from './body.ts'

export const urlencoded = 'application/x-www-form-urlencoded'

/** Enough for fields, but not for images: other formats need no decoding of each byte. */
const mostBytes = 2 ** 20

const utf8 = new TextDecoder('utf-8', { fatal: true })

type Done = (error: Error | null, body?: Fields) => void

/** Reads `a=1&b[c]=2`, with the same names as in a multipart form. */
export function parseUrlencoded(_request: FastifyRequest, body: Buffer, done: Done): void {
  try {
    done(null, read(body))
  } catch (error) {
    done(error as Error)
  }
}

function read(body: Buffer): Fields {
  if (body.length > mostBytes) {
    const message = `A URL-encoded form may have up to ${mostBytes / 2 ** 20} MiB. Send an image in JSON or multipart/form-data, or as a URL.`
    throw new Problem('body_too_large', message)
  }
  const text = decode(body)
  const { fields: most, fieldNameSize } = multipartOptions.limits
  // Counted before parsing, which would take long for a million empty pairs.
  if (text.split('&', most + 1).length > most) throw new Problem('invalid_multipart', 'The form has too many fields.')
  const fields: Fields = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    if (name.length > fieldNameSize)
      throw new Problem('invalid_multipart', `A field name is longer than ${fieldNameSize} characters.`)
    // The encoded bytes may not be UTF-8 either.
    if (value.includes('\ufffd') && !text.includes('\ufffd') && !/%EF%BF%BD/i.test(text)) throw notUtf8()
    setField(fields, name, value)
  }
  return fields
}

/** Browsers and libraries encode all bytes that are not ASCII; `curl -d` sends them as they are. */
function decode(body: Buffer): string {
  try {
    return utf8.decode(body)
  } catch (cause) {
    throw notUtf8(cause)
  }
}

function notUtf8(cause?: unknown): Problem {
  return new Problem('invalid_multipart', 'The form is not UTF-8.', { cause })
}

/** A form has only text, so numbers and booleans must be parsed. */
export function isForm(request: FastifyRequest): boolean {
  // Operator routes accept no form, so the parser of forms is not part of them.
  const isMultipart = 'isMultipart' in request && request.isMultipart()
  return isMultipart || (request.headers['content-type'] ?? '').toLowerCase().startsWith(urlencoded)
}

import type { FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import { type Fields, multipartOptions, place } from './body.ts'

export const urlencoded = 'application/x-www-form-urlencoded'

/** Fields and not images: what is larger is better sent in another form, which needs no decoding of each byte. */
const mostBytes = 2 ** 20

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
    const message = 'A URL-encoded form may have 1 MiB. Send an image in JSON or multipart/form-data, or as a URL.'
    throw new Problem('body_too_large', message)
  }
  const text = body.toString('latin1')
  const { fields: most, fieldNameSize } = multipartOptions.limits
  // Counted first: a million empty pairs would be read before anybody counts them.
  if (text.split('&', most + 1).length > most) throw new Problem('invalid_request', 'The form has too many fields.')
  const fields: Fields = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    if (name.length > fieldNameSize)
      throw new Problem('invalid_request', `A field name is longer than ${fieldNameSize} characters.`)
    place(fields, name, value)
  }
  return fields
}

/** A form has only text: what is a number or a truth there has to be read from it. */
export function isForm(request: FastifyRequest): boolean {
  return request.isMultipart() || (request.headers['content-type'] ?? '').toLowerCase().startsWith(urlencoded)
}

import { isUtf8 } from 'node:buffer'
import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { FairTurns } from '../core/fair.ts'
import { maxImageBytes } from '../core/image.ts'
import { codeOf, Problem } from '../core/problem.ts'
import { ownerOf } from '../core/token.ts'
import { isLarge, parseJsonPart } from './json.ts'
import { isImageName, LongText, maxRestBytes, tooMuchRest } from './long-text.ts'

/** An image as base64, plus 1 MiB for the other fields. */
export const maxBodyBytes = Math.ceil(maxImageBytes / 3) * 4 + 2 ** 20

/** A file part of a multipart request. */
export class Upload {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A file part that is too large for memory. It is on the disk until the response to its request is sent. */
export class Spooled {
  readonly path: string
  readonly sha256: string
  constructor(path: string, sha256: string) {
    this.path = path
    this.sha256 = sha256
  }
}

export type Field = string | number | boolean | LongText | Upload | Spooled | Field[] | Fields
export interface Fields {
  [name: string]: Field
}

const longestName = 200

export const multipartOptions = {
  // A part whose type isn't text is a file, with or without a file name: some SDKs send streams without one. OpenAI's
  // SDK for Java sends even the text of `video[id]` as application/octet-stream, although it is not a file.
  isPartAFile: (field: string | undefined, type: string | undefined, filename: string | undefined) =>
    filename !== undefined ||
    (type !== undefined && !/^text\/plain\b/i.test(type) && !(isMember(field) && isUnknownType(type))),
  limits: {
    fileSize: maxImageBytes,
    files: 16,
    fields: 64,
    parts: 68,
    fieldSize: maxRestBytes,
    fieldNameSize: longestName,
    headerPairs: 32,
  },
}

/**
 * An image in a text field is read as a file: the parser would decode megabytes at once, which blocks other requests.
 */
const imageOptions = {
  isPartAFile: (field: string | undefined, ...others: [type: string | undefined, filename: string | undefined]) =>
    isImageField(field) || multipartOptions.isPartAFile(field, ...others),
  limits: { fileSize: maxBodyBytes },
}

/** How to read a form whose files are not held in memory. */
export interface FormRules {
  /** The limit of all other fields together. */
  readonly fieldBytes: number
  readonly fileBytes: number
  keep(part: MultipartFile): Promise<Spooled>
  tooLarge(): Problem
}

/** Whether a name looks like `video[id]`. The length is checked first, because a client chooses it. */
function isMember(field = ''): boolean {
  return field.length <= longestName && /^[^[\]]+\[[^[\]]+\]$/.test(field)
}

function isUnknownType(type: string): boolean {
  return /^application\/octet-stream\b/i.test(type)
}

/** The fields of a request, the same for both encodings. A JSON null is an absent field. */
export async function readFields(request: FastifyRequest, turns: FairTurns, rules?: FormRules): Promise<Fields> {
  if (request.isMultipart()) return readMultipart(request, turns, rules)
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem('invalid_json', 'The body must be a JSON object, for example {"model": "…", "prompt": "…"}.')
  }
  return withoutNulls(body as Record<string, unknown>) as Fields
}

async function readMultipart(request: FastifyRequest, turns: FairTurns, rules?: FormRules): Promise<Fields> {
  const fields: Fields = Object.create(null)
  try {
    using ended = endOf(request)
    await Promise.race([readParts(request, fields, { turns, rules }), ended.promise])
  } catch (error) {
    // Discards the rest of the body: otherwise its sender would wait forever for it to be read.
    request.raw.unpipe()
    request.raw.resume()
    throw toProblem(error, rules)
  }
  return fields
}

async function readParts(
  request: FastifyRequest,
  fields: Fields,
  { turns, rules }: { turns: FairTurns; rules: FormRules | undefined },
): Promise<void> {
  let left = rules?.fieldBytes ?? maxBodyBytes
  const options = rules ? { limits: { fileSize: rules.fileBytes, fieldSize: rules.fieldBytes } } : imageOptions
  const hasOwnReplacement = watchReplacements(request)
  for await (const part of request.parts(options)) {
    refuseName(part)
    if (rules && part.type === 'file' && !isJson(part.mimetype)) {
      setField(fields, part.fieldname, await rules.keep(part))
      continue
    }
    // The parser cuts a field that exceeds the limit, and reports it only here.
    if (part.type === 'field' && part.valueTruncated) throw rules ? tooLarge() : tooMuchRest()
    const raw = part.type === 'file' ? await part.toBuffer() : String(part.value)
    left -= raw.length
    if (left < 0) throw tooLarge()
    using _turn = needsTurn(raw, part) ? await turns.take(ownerOf(request.token)) : null
    const isReplaced = part.fieldname.includes(replacement) || (typeof raw === 'string' && raw.includes(replacement))
    if (isReplaced && !hasOwnReplacement()) throw notUtf8(part.fieldname)
    setField(fields, part.fieldname, typeof raw === 'string' ? raw : readFile(raw, part as MultipartFile))
  }
}

/** The parser puts it in place of bytes that are not UTF-8, and does not report it. */
const replacement = '\ufffd'

/** Whether a client sent this character itself. The bytes of a file may look like it: then its form is accepted. */
function watchReplacements({ raw }: FastifyRequest): () => boolean {
  let isSent = false
  let end = Buffer.alloc(0)
  raw.on('data', (chunk: Buffer) => {
    if (isSent) return
    // The character may be split between two chunks.
    isSent = chunk.includes(replacement) || Buffer.concat([end, chunk.subarray(0, 2)]).includes(replacement)
    end = Buffer.concat([end, chunk.subarray(-2)]).subarray(-2)
  })
  return () => isSent
}

function notUtf8(name: string): Problem {
  const param = name.slice(0, 100)
  return new Problem('invalid_multipart', `The field '${param}' is not UTF-8. Send the form as UTF-8.`, { param })
}

function needsTurn(raw: Buffer | string, { mimetype }: MultipartFile | MultipartValue): boolean {
  return typeof raw !== 'string' && isLarge(raw) && (isJson(mimetype) || isJsonText(raw))
}

/** The parser cuts the long name of a text field and reports it, but leaves that of a file as it is. */
function refuseName(part: MultipartFile | MultipartValue): void {
  if (typeof part.fieldname !== 'string') throw new Problem('invalid_multipart', 'A part has no name.')
  const isCut = part.type === 'field' && part.fieldnameTruncated
  if (isCut || part.fieldname.length > longestName)
    throw new Problem('invalid_multipart', `A field name is longer than ${longestName} characters.`)
}

/** After the end of the body the remaining work finishes within this time, even on a slow disk. */
const secondsAfterEnd = 5

/**
 * The parser waits forever for the rest of a part that ends without its boundary, so the read fails some seconds after
 * the end of the body. It counts single seconds: a process that was paused would find one long timeout over at once.
 */
function endOf({ raw }: FastifyRequest): Disposable & { promise: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>()
  let isOver = false
  const countDown = (secondsLeft: number) => {
    if (isOver) return
    if (secondsLeft === 0) return reject(new Error('the body ended inside a part'))
    AbortSignal.timeout(1_000).addEventListener('abort', () => countDown(secondsLeft - 1))
  }
  raw.once('end', () => countDown(secondsAfterEnd))
  return {
    promise,
    [Symbol.dispose]() {
      isOver = true
    },
  }
}

/** `image`, `images[]`, `input_reference[image_url]`. */
function isImageField(name = ''): boolean {
  return isImageName(name.split('[', 1)[0] ?? '')
}

/** A part that is JSON becomes its value. */
function readFile(bytes: Buffer, { fieldname, mimetype, filename }: MultipartFile): Field {
  if (!multipartOptions.isPartAFile(fieldname, mimetype, filename)) {
    if (isJsonText(bytes)) return parseJson(bytes, fieldname)
    if (bytes.length > maxRestBytes) return new LongText(bytes, { isEscaped: false })
    if (!isUtf8(bytes)) throw notUtf8(fieldname)
    return bytes.toString()
  }
  if (isJson(mimetype)) return parseJson(bytes, fieldname)
  if (bytes.length > maxImageBytes) throw tooLarge()
  return new Upload(bytes)
}

/** Neither a URL nor base64 begins with a brace or a bracket. */
function isJsonText(bytes: Buffer): boolean {
  return bytes[0] === 0x7b || bytes[0] === 0x5b
}

function parseJson(bytes: Buffer, param: string): Field {
  try {
    return parseJsonPart(bytes, param) as Field
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('invalid_value', `'${param}' is not valid JSON.`, { param, cause: error })
  }
}

function isJson(type: string): boolean {
  return /^application\/json\b/i.test(type)
}

/**
 * `a` sets a field, `a[b]` sets a member of an object, `a[]` adds to a list: every OpenAI SDK writes nested fields so.
 */
export function setField(fields: Fields, name: string, value: Field): void {
  const match = /^([^[\]]+)(?:\[([^[\]]*)\])?$/.exec(name)
  const [, outer = '', inner] = match ?? []
  if (!match || outer === '__proto__' || inner === '__proto__') {
    throw new Problem(
      'invalid_multipart',
      `The field name '${name.slice(0, 100)}' can't be read. Write name or name[key].`,
      { param: name.slice(0, 100).split('[', 1)[0] ?? '' },
    )
  }
  const present = fields[outer]
  if (inner === undefined || inner === '') {
    if (inner === '' && (present === undefined || Array.isArray(present))) fields[outer] = [...(present ?? []), value]
    else if (present === undefined) fields[outer] = value
    else throw twice(outer)
    return
  }
  const object = present ?? Object.create(null)
  if (typeof object !== 'object' || Array.isArray(object) || isFile(object) || inner in object) throw twice(name)
  object[inner] = value
  fields[outer] = object
}

function isFile(field: object): field is Upload | Spooled | LongText {
  return field instanceof Upload || field instanceof Spooled || field instanceof LongText
}

function twice(name: string): Problem {
  return new Problem('invalid_multipart', `The field '${name.slice(0, 100)}' is sent twice. Send each field once.`, {
    param: name.slice(0, 100),
  })
}

export const imageLimit = `a reference image may have up to ${maxImageBytes / 2 ** 20} MiB`

export function tooLarge(): Problem {
  return new Problem('body_too_large', `The request is too large: ${imageLimit}.`)
}

const reservedName =
  "A field of the form has a reserved name, such as '__proto__' or 'constructor'. Give it another name."

function toProblem(error: unknown, rules?: FormRules): unknown {
  // A full disk is not the client's fault.
  if (error instanceof Problem || Problem.from(error).code === 'storage_unavailable') return error
  switch (codeOf(error)) {
    case 'FST_REQ_FILE_TOO_LARGE':
      return rules ? rules.tooLarge() : tooLarge()
    case 'FST_FILES_LIMIT':
    case 'FST_FIELDS_LIMIT':
    case 'FST_PARTS_LIMIT':
      return new Problem('invalid_multipart', 'The request has too many parts.', { cause: error })
    case 'FST_PROTO_VIOLATION':
      return new Problem('invalid_multipart', reservedName, { cause: error })
    default:
      // A cut body, a missing boundary: both are the client's fault.
      return new Problem('invalid_multipart', 'The multipart body is malformed or was cut short.', { cause: error })
  }
}

/**
 * Two levels, because no field of ours is nested deeper: a body that is nested a million deep must not overflow the
 * stack.
 */
function withoutNulls(object: Record<string, unknown>, levels = 2): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, levels > 1 && isPlainObject(value) ? withoutNulls(value, levels - 1) : value]),
  )
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isFile(value)
}

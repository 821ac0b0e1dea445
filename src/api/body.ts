import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { FairTurns } from '../core/fair.ts'
import { maxImageBytes } from '../core/image.ts'
import { Problem } from '../core/problem.ts'
import { isLarge, parseJsonPart } from './json.ts'
import { isImageName, LongText, maxRestBytes, tooMuchRest } from './long-text.ts'

/** 20 MiB as base64, and room for the other fields. */
export const maxBodyBytes = Math.ceil(maxImageBytes / 3) * 4 + 2 ** 20

/** A file part of a multipart request. */
export class Upload {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A file part that was too large to be held, and lies on the disk until its request is answered. */
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
  // A part of a type that isn't text is a file, with or without a name: some SDKs send streams without one. OpenAI's for
  // Java calls everything a stream that might have been one, also the text of `video[id]`, which no file is.
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

/** The parser would decode text of megabytes at once, which blocks every other request: an image is read as a file. */
const imageOptions = {
  isPartAFile: (field: string | undefined, ...others: [type: string | undefined, filename: string | undefined]) =>
    isImageField(field) || multipartOptions.isPartAFile(field, ...others),
  limits: { fileSize: maxBodyBytes },
}

/** How a form is read, where its files are not simply held in memory. */
export interface FormRules {
  /** Of all fields that are no such file. */
  readonly fieldBytes: number
  readonly fileBytes: number
  keep(part: MultipartFile): Promise<Spooled>
  tooLarge(): Problem
}

/** The parser asks for the whole name, which is as long as a client likes. */
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
    // Nobody reads the rest any more, and its sender would wait for that for ever.
    request.raw.unpipe()
    request.raw.resume()
    throw toProblem(error as Error & { code?: string }, rules)
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
  for await (const part of request.parts(options)) {
    refuseName(part)
    if (rules && part.type === 'file' && !isJson(part.mimetype)) {
      place(fields, part.fieldname, await rules.keep(part))
      continue
    }
    // Past the limit the parser cuts a field short and says so only here.
    if (part.type === 'field' && part.valueTruncated) throw rules ? tooLarge() : tooMuchRest()
    const raw = part.type === 'file' ? await part.toBuffer() : String(part.value)
    left -= raw.length
    if (left < 0) throw tooLarge()
    using _turn = needsTurn(raw, part) ? await turns.take(request.token.name) : null
    place(fields, part.fieldname, typeof raw === 'string' ? raw : readFile(raw, part as MultipartFile))
  }
}

function needsTurn(raw: Buffer | string, { mimetype }: MultipartFile | MultipartValue): boolean {
  return typeof raw !== 'string' && isLarge(raw) && (isJson(mimetype) || isJsonText(raw))
}

/** The parser cuts the name of a text and says so, and leaves that of a file as it is. */
function refuseName(part: MultipartFile | MultipartValue): void {
  if (typeof part.fieldname !== 'string') throw new Problem('invalid_multipart', 'A part has no name.')
  const isCut = part.type === 'field' && part.fieldnameTruncated
  if (isCut || part.fieldname.length > longestName)
    throw new Problem('invalid_multipart', `A field name is longer than ${longestName} characters.`)
}

/** What is left to do after the end of a body is done by then, also on a disk that is slow. */
const looksAfterEnd = 5

/**
 * The parser waits for ever for the rest of a part that ends without its boundary: the end of the body ends that. One
 * second after another, because a process that was paused finds a time over in which it could do nothing.
 */
function endOf({ raw }: FastifyRequest): Disposable & { promise: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>()
  let isOver = false
  const look = (left: number) => {
    if (isOver) return
    if (left === 0) return reject(new Error('the body ended inside a part'))
    AbortSignal.timeout(1_000).addEventListener('abort', () => look(left - 1))
  }
  raw.once('end', () => look(looksAfterEnd))
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

/** A part may be JSON, and then it is the value that it holds. */
function readFile(bytes: Buffer, { fieldname, mimetype, filename }: MultipartFile): Field {
  if (!multipartOptions.isPartAFile(fieldname, mimetype, filename)) {
    if (isJsonText(bytes)) return parseText(bytes, fieldname)
    return bytes.length > maxRestBytes ? new LongText(bytes, { isEscaped: false }) : bytes.toString()
  }
  if (isJson(mimetype)) return parseJsonPart(bytes, fieldname) as Field
  if (bytes.length > maxImageBytes) throw tooLarge()
  return new Upload(bytes)
}

/** Neither a URL nor base64 begins like that. */
function isJsonText(bytes: Buffer): boolean {
  return bytes[0] === 0x7b || bytes[0] === 0x5b
}

function parseText(bytes: Buffer, param: string): Field {
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

/** `a` sets a field, `a[b]` one of an object, `a[]` adds to a list: how every OpenAI SDK writes nested fields. */
export function place(fields: Fields, name: string, value: Field): void {
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
  return new Problem('invalid_multipart', `The field '${name.slice(0, 100)}' is given twice.`, {
    param: name.slice(0, 100),
  })
}

export function tooLarge(): Problem {
  return new Problem('body_too_large', 'The request is too large: a reference image may have up to 20 MiB.')
}

function toProblem(error: Error & { code?: string }, rules?: FormRules): unknown {
  // A disk that is full is not the sender's.
  if (error instanceof Problem || Problem.from(error).code === 'storage_unavailable') return error
  switch (error.code) {
    case 'FST_REQ_FILE_TOO_LARGE':
      return rules ? rules.tooLarge() : tooLarge()
    case 'FST_FILES_LIMIT':
    case 'FST_FIELDS_LIMIT':
    case 'FST_PARTS_LIMIT':
      return new Problem('invalid_multipart', 'The request has too many parts.', { cause: error })
    default:
      // A cut body, a missing boundary, a part that is not JSON though it says so: all the sender's.
      return new Problem('invalid_multipart', 'The multipart body is malformed or was cut short.', { cause: error })
  }
}

/** Two levels, as deep as any field of ours goes: a body nested a million deep must not cost a million frames. */
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

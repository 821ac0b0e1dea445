import type { ModelCard } from '../../core/catalog.ts'
import { Problem } from '../../core/problem.ts'
import { type Field, type Fields, Upload } from '../body.ts'
import { parseJsonPart } from '../json.ts'
import { LongText } from '../long-text.ts'
import { otherNames } from './table.ts'

/** One image of a request, and the field that it came in. */
export interface NamedImage {
  readonly param: string
  readonly value: string | LongText | Upload
}

type Images = { [Field in 'image' | 'last_image']?: NamedImage }
type Found = NamedImage & { field: keyof Images }

/** Removes the images from the fields, in any form. Throws for an image that the model does not accept. */
export function takeImages(given: Fields, isOwn: (name: string) => boolean, card: ModelCard | undefined): Images {
  const images: Images = {}
  for (const [name, value] of Object.entries(given)) {
    if (isOwn(name)) continue
    if (name === 'file_id') throw noFiles(name)
    const field = fieldOf(name)
    if (field === undefined) continue
    delete given[name]
    for (const found of readImages(field, name, value)) addImage(images, found, card)
  }
  return images
}

function fieldOf(name: string): keyof Images | undefined {
  if (name === 'image' || name === 'input_reference') return 'image'
  const means = Object.hasOwn(otherNames, name) ? otherNames[name]?.means : undefined
  return means === 'first frame' ? 'image' : means === 'last frame' ? 'last_image' : undefined
}

/** The same image twice is one image. */
function addImage(images: Images, { field, ...image }: Found, card: ModelCard | undefined): void {
  const earlier = images[field]
  if (earlier && isSame(earlier.value, image.value)) return
  if (field === 'last_image') refuseLast(image, card)
  if (earlier) throw second(earlier, image, card)
  images[field] = image
}

function isSame(one: NamedImage['value'], other: NamedImage['value']): boolean {
  if (one instanceof Upload && other instanceof Upload) return Buffer.compare(one.bytes, other.bytes) === 0
  if (one instanceof LongText && other instanceof LongText) return one.equals(other)
  return one === other
}

function second(earlier: NamedImage, { param }: NamedImage, card: ModelCard | undefined): Problem {
  const accepted = card ? `Model '${card.id}' accepts one image` : 'A request has one image'
  const last = acceptsLast(card) ? ", and the last frame as 'last_image'" : ''
  const message = `'${param}' is another image than '${earlier.param}'. ${accepted}${last}.`
  return new Problem('invalid_value', message, { param })
}

function refuseLast({ param, value }: NamedImage, card: ModelCard | undefined): void {
  if (acceptsLast(card) && typeof value === 'string') return
  const reason = acceptsLast(card)
    ? "Send the last frame as 'last_image', with an https URL."
    : `${card ? `Model '${card.id}'` : 'This request'} accepts no last frame. Leave it out.`
  throw new Problem('invalid_value', `'${param}' can't be used. ${reason}`, { param })
}

function acceptsLast(card: ModelCard | undefined): boolean {
  return card !== undefined && Object.hasOwn(card.parameters, 'last_image')
}

/** More than any client sends. They are compared one by one, which must stay cheap. */
const mostListed = 16

function readImages(field: keyof Images, param: string, sent: Field): Found[] {
  const value = typeof sent === 'string' ? fromJson(sent, param) : sent
  if (!Array.isArray(value)) return [readImage(field, param, value)]
  const listed = value.filter((one) => one !== '')
  if (value.length > mostListed) {
    const message = `'${param}' has ${value.length} entries. A request has one image.`
    throw new Problem('invalid_value', message, { param })
  }
  const isOne = listed.length === 1
  return listed.map((one, at) => readImage(field, isOne ? param : `${param}[${at}]`, one))
}

/** In a form an object or a list is JSON text. Neither a URL nor base64 begins with a brace or a bracket. */
function fromJson(text: string, param: string): Field {
  if (!/^\s{0,100}[[{]/.test(text)) return text
  try {
    return parseJsonPart(Buffer.from(text), param) as Field
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('invalid_value', `'${param}' is not valid JSON.`, { param, cause: error })
  }
}

function readImage(field: keyof Images, param: string, value: Field): Found {
  if (isImage(value)) return { field, param, value }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(param)
  const { type = '', frame_type: frame, ...rest } = value as Fields
  if (typeof type !== 'string') {
    const at = `${param}.type`
    throw new Problem('invalid_type', `Invalid type for '${at}': expected text.`, { param: at })
  }
  if (frame !== undefined && frame !== 'first_frame' && frame !== 'last_frame') {
    const at = `${param}.frame_type`
    throw new Problem('invalid_value', `Invalid '${at}': use first_frame or last_frame.`, { param: at })
  }
  return { field: frame === 'last_frame' ? 'last_image' : field, ...readObject(param, rest) }
}

/** The members that hold the image itself, in the forms of OpenAI, xAI and chat messages. */
const members = ['url', 'image_url']

function readObject(param: string, object: Fields): NamedImage {
  const names = Object.keys(object)
  if (names.includes('file_id')) throw noFiles(param)
  const unknown = names.find((name) => !members.includes(name))
  if (unknown !== undefined) {
    const at = `${param}.${unknown.slice(0, 100)}`
    throw new Problem('unknown_parameter', `Unknown parameter: '${at}'. Use '${param}.image_url'.`, { param: at })
  }
  const [name = 'image_url', other] = names
  const at = `${param}.${name}`
  if (other !== undefined)
    throw new Problem('invalid_value', `Send '${at}' or '${param}.${other}', not both.`, { param: at })
  const inner = object[name]
  if (isImage(inner)) return { param: at, value: inner }
  const { url, ...more } = isObject(inner) ? inner : {}
  if (isImage(url) && Object.keys(more).every((key) => key === 'detail')) return { param: `${at}.url`, value: url }
  throw new Problem('invalid_type', `Invalid type for '${at}': expected a URL or base64 text.`, { param: at })
}

function isImage(value: Field | undefined): value is NamedImage['value'] {
  return typeof value === 'string' || value instanceof LongText || value instanceof Upload
}

function isObject(value: Field | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isImage(value)
}

function noFiles(param: string): Problem {
  const at = param === 'file_id' ? param : `${param}.file_id`
  const message =
    `'${at}' can't be used: this service has no Files API. ` +
    `Send the image itself as a file, as base64, or as a URL in '${param === 'file_id' ? 'image' : `${param}.image_url`}'.`
  return new Problem('unknown_parameter', message, { param: at })
}

function wrongType(param: string): Problem {
  const expected = 'a URL, base64 text, a file, or an object {"image_url": "…"}'
  return new Problem('invalid_type', `Invalid type for '${param}': expected ${expected}.`, { param })
}

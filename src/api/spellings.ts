import type { FastifyRequest } from 'fastify'
import { type Catalog, findModel, type ModelCard } from '../core/catalog.ts'
import type { FairTurns } from '../core/fair.ts'
import { Problem } from '../core/problem.ts'
import { type Field, type Fields, readFields, Upload } from './body.ts'
import { takeImages } from './spellings/images.ts'
import { otherNames, pair, withoutEffect } from './spellings/table.ts'

/* Turns the fields of other services' clients into our own, before anything is checked. */

declare module 'fastify' {
  interface FastifyRequest {
    /** The names under which the client sent our fields, if they differ: an error shows the name that was sent. */
    sentAs?: Map<string, string>
  }
}

/** A value, and the name under which it was sent. */
interface Sent {
  name: string
  value: Field
}

/** The hook of a submit: its fields, in our own spelling. */
export function readSubmit({ catalog, turns }: { catalog: Catalog; turns: FairTurns }) {
  return async (request: FastifyRequest): Promise<void> => {
    const fields = await readFields(request, turns)
    const { model = '' } = fields
    const name = isEmpty(model) ? catalog.defaultModel : model
    // A wrong model is reported before anything that depends on it. A model of another type is refused by the schema.
    const entry = typeof name === 'string' ? findModel(catalog, request.token, name) : undefined
    request.body = isPlain(fields) ? fields : respell(fields, entry?.card, namesOf(request))
  }
}

/** The hook of a remix, which uses the model of its source. */
export function readDerived({ turns }: { turns: FairTurns }) {
  return async (request: FastifyRequest): Promise<void> => {
    request.body = respellDerived(await readFields(request, turns), request)
  }
}

/**
 * The fields of a submit in our own spelling. `card` is that of the requested model, if there is one: its parameters
 * keep their names. Throws if two spellings of one field contradict each other.
 */
function respell(fields: Fields, card: ModelCard | undefined, sentAs: Map<string, string>): Fields {
  const given = withoutEmpty(fields)
  refuseFile(given)
  const isOwn = (name: string) => card !== undefined && Object.hasOwn(card.parameters, name)
  dropWithoutEffect(given, card)
  respellSeconds(given, isOwn, sentAs)
  respellSize(given, isOwn, sentAs)
  const { image, last_image } = takeImages(given, isOwn, card)
  if (last_image) {
    const { param: name, value } = last_image
    putOne(given, 'last_image', [...takeAll(given, 'last_image', isOwn), { name, value }], sentAs)
  }
  return { ...given, ...(image && { image }) } as Fields
}

function namesOf(request: FastifyRequest): Map<string, string> {
  request.sentAs = new Map()
  return request.sentAs
}

/**
 * Whether nothing has to be changed, as in most requests: the rest costs more than all other parsing of a small body.
 */
function isPlain(fields: Fields): boolean {
  for (const name in fields) {
    const value = fields[name]
    if (value === '') return false
    if ((name === 'model' || name === 'prompt') && typeof value === 'string') continue
    if (name === 'seconds' && (typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))))
      continue
    if (name === 'size' && typeof value === 'string' && /^\d+x\d+$/.test(value)) continue
    return false
  }
  return true
}

/**
 * The same for a video that is created from another one. It has no size or image of its own, and a length only if it is
 * an extension. Its model is not known yet, so `dropWithoutEffect` is called later.
 */
export function respellDerived(fields: Fields, request: FastifyRequest): Fields {
  const given = withoutEmpty(fields)
  refuseFile(given)
  const body = request.routeOptions.schema?.body as { properties?: object } | undefined
  if (Object.hasOwn(body?.properties ?? {}, 'seconds')) respellSeconds(given, () => false, namesOf(request))
  return given
}

/** Forms and some clients send all their fields, even empty ones. */
function withoutEmpty(fields: Fields): Fields {
  const given: Fields = Object.create(null)
  for (const [name, value] of Object.entries(fields)) if (!isEmpty(value)) given[name] = value
  return given
}

/** Otherwise the members of `Upload` would be read as entries. */
function refuseFile({ metadata }: Fields): void {
  if (!(metadata instanceof Upload)) return
  const message = "'metadata' is a file. Send an object as JSON, or each entry as metadata[key]."
  throw new Problem('invalid_type', message, { param: 'metadata' })
}

/**
 * A list of empty entries is also empty, as in a form with `images[]=`. Not deeper: a body may be nested a million
 * deep.
 */
function isEmpty(value: Field): boolean {
  return isNothing(value) || (Array.isArray(value) && value.every(isNothing))
}

function isNothing(value: Field): boolean {
  return value === '' || (value instanceof Upload && value.bytes.length === 0)
}

/** Removes fields without effect. Throws if the value would have to have an effect. */
export function dropWithoutEffect(given: Record<string, unknown>, card: ModelCard | undefined): void {
  for (const name of Object.keys(given)) {
    const rule = Object.hasOwn(withoutEffect, name) ? withoutEffect[name] : undefined
    if (!rule || (name !== 'seed' && card && Object.hasOwn(card.parameters, name))) continue
    const text = describeField(given[name])
    if (rule.values === undefined || rule.values.includes(text)) delete given[name]
    else if (rule.instead) {
      const allowed = rule.values.map((value) => `'${value}'`).join(' or ')
      const message = `'${name}' is '${text.slice(0, 50)}'. It may be ${allowed}. ${rule.instead}`
      throw new Problem('invalid_value', message, { param: name })
    }
  }
}

/** Removes and returns the values of one field, under all of its names. */
function takeAll(given: Fields, means: string, isOwn: (name: string) => boolean): Sent[] {
  const sent: Sent[] = []
  for (const [name, value] of Object.entries(given)) {
    const isIt = name === means || (otherNames[name]?.means === means && Object.hasOwn(otherNames, name))
    if (!isIt || (name !== means && isOwn(name))) continue
    sent.push({ name, value })
    delete given[name]
  }
  return sent
}

/** Puts back the one value that they all mean. */
function putOne(given: Fields, field: string, sent: readonly Sent[], sentAs: Map<string, string>): void {
  const [first, ...others] = sent
  if (!first) return
  const other = others.find(({ value }) => describeField(value) !== describeField(first.value))
  if (other) throw contradiction(first, other)
  given[field] = first.value
  if (first.name !== field) sentAs.set(field, first.name)
}

/** A list or an object may be nested so deep that its text would overflow the stack. */
function describeField(value: unknown): string {
  return typeof value === 'object' ? 'an object or a list' : String(value)
}

function contradiction(one: Sent, other: Sent): Problem {
  const shown = ({ name, value }: Sent) => `'${name}' (${describeField(value).slice(0, 50)})`
  const message = `${shown(one)} and ${shown(other)} contradict each other. Send one of them.`
  return new Problem('invalid_value', message, { param: other.name })
}

function respellSeconds(given: Fields, isOwn: (name: string) => boolean, sentAs: Map<string, string>): void {
  const sent = takeAll(given, 'seconds', isOwn)
  putOne(
    given,
    'seconds',
    sent.map(({ name, value }) => ({ name, value: secondsOf(value) })),
    sentAs,
  )
}

/** `5.0` and `5s` are 5. Anything else is checked by the model. */
function secondsOf(value: Field): Field {
  return typeof value === 'string' ? value.replace(/^(\d{1,5})(?:\.0{1,6})?s?$/, '$1') : value
}

/** Clients mix up `size`, `resolution` and `aspect_ratio`: the form of the text decides which field it is. */
function respellSize(given: Fields, isOwn: (name: string) => boolean, sentAs: Map<string, string>): void {
  const words = (['size', 'resolution', 'aspect_ratio'] as const).flatMap((field) =>
    takeAll(given, field, isOwn).map((sent) => fieldFor(field, sent)),
  )
  const pixels = takePair(given, isOwn)
  const all = pixels ? [...words, { field: pair.means, ...pixels }] : words
  for (const field of ['size', 'resolution', 'aspect_ratio']) {
    putOne(
      given,
      field,
      all.filter((one) => one.field === field),
      sentAs,
    )
  }
}

const shapes: Readonly<Record<string, string>> = { landscape: '16:9', portrait: '9:16', square: '1:1' }

function fieldFor(field: string, { name, value }: Sent): Sent & { field: string } {
  const text = typeof value === 'number' && field === 'resolution' ? `${value}p` : value
  if (typeof text !== 'string') return { field, name, value }
  const pixels = /^(\d{1,5})[x*×](\d{1,5})$/i.exec(text) ?? /^(\d{3,5}):(\d{3,5})$/.exec(text)
  if (pixels) return { field: 'size', name, value: `${pixels[1]}x${pixels[2]}` }
  if (/^\d{3,4}p$|^\dk$/i.test(text)) return { field: 'resolution', name, value: text.toLowerCase() }
  if (/^\d{1,2}:\d{1,2}$/.test(text)) return { field: 'aspect_ratio', name, value: text }
  if (field === 'resolution' && /^\d{3,4}$/.test(text)) return { field, name, value: `${text}p` }
  if (field !== 'resolution' && Object.hasOwn(shapes, text))
    return { field: 'aspect_ratio', name, value: shapes[text] ?? text }
  return { field, name, value: text }
}

function takePair(given: Fields, isOwn: (name: string) => boolean): Sent | undefined {
  const present = pair.names.filter((name) => given[name] !== undefined && !isOwn(name))
  const [only] = present
  if (only === undefined) return undefined
  const missing = pair.names.find((name) => !present.includes(name))
  if (missing) {
    const message = `'${only}' is sent without '${missing}'. Send both, or 'size' as <width>x<height>.`
    throw new Problem('invalid_value', message, { param: only })
  }
  const wrong = present.find((name) => !/^\d+$/.test(describeField(given[name])))
  if (wrong) {
    const value = given[wrong]
    const shown = typeof value === 'string' ? `'${value.slice(0, 50)}'` : describeField(value)
    const message = `'${wrong}' is ${shown}. Expected a whole number of pixels.`
    throw new Problem('invalid_value', message, { param: wrong })
  }
  const value = present.map((name) => describeField(given[name])).join('x')
  for (const name of present) delete given[name]
  return { name: 'width', value }
}

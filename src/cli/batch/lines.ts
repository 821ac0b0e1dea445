import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { isObject } from '../../wire/schema.ts'
import { suggestion } from '../arguments.ts'
import { faultOf, type Order, withoutUndefined } from '../film.ts'
import { slug } from '../slug.ts'

/** One film of a batch. */
export interface Line {
  /** Where it stands in the file, from 1. */
  number: number
  /** What it is known by in the journal: made of what it asks for, so that lines may be moved, added and dropped. */
  key: string
  order: Order
  /** The file's name, if the line gives one. */
  name: string | null
  /** What it is called while it is made; no two lines share one. */
  label: string
}

export interface Fault {
  number: number
  what: string
}

const fields = ['prompt', 'model', 'seconds', 'size', 'image', 'seed', 'caption', 'name']

/** The text of a file, or what about its bytes is none. */
export function decode(bytes: Buffer): { text: string; fault: Fault | null } {
  if (isUtf8(bytes)) return { text: bytes.toString('utf8'), fault: null }
  const wide = ['fffe', 'feff'].includes(bytes.toString('hex', 0, 2))
  // The first is enough: the others are of the same kind.
  const number =
    bytes
      .toString('latin1')
      .split('\n')
      .findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1
  return { text: '', fault: { number, what: `it is ${wide ? 'UTF-16' : 'not UTF-8'}; save the file as UTF-8` } }
}

/** Reads the whole file; a line with a fault is told apart from the others, never guessed at. */
export function readLines(text: string, defaults: Partial<Order>): { lines: Line[]; faults: Fault[] } {
  const lines: Omit<Line, 'label'>[] = []
  const faults: Fault[] = []
  const seen = new Map<string, number>()
  const names = new Map<string, number>()
  for (const [at, raw] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const number = at + 1
    const trimmed = raw.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const read = readLine(trimmed, defaults)
    if (typeof read === 'string') {
      faults.push({ number, what: read })
      continue
    }
    const twin = read.name === null ? undefined : names.get(read.name.toLowerCase())
    if (twin !== undefined) faults.push({ number, what: `name: line ${twin} has the same` })
    if (read.name !== null) names.set(read.name.toLowerCase(), number)
    const request = fingerprint(read.order, read.name)
    const nth = seen.get(request) ?? 0
    seen.set(request, nth + 1)
    lines.push({ number, key: `${request}-${nth}`, ...read })
  }
  return { lines: withLabels(lines), faults }
}

/** The number tells lines apart that ask for the same, or begin with the same words. */
function withLabels(lines: Omit<Line, 'label'>[]): Line[] {
  const plain = (line: Omit<Line, 'label'>) => line.name?.replace(/\.mp4$/i, '') ?? slug(line.order.prompt)
  const alike = Map.groupBy(lines, plain)
  return lines.map((line) => {
    const label = plain(line)
    return { ...line, label: alike.get(label)?.length === 1 ? label : `line ${line.number}, ${label}` }
  })
}

function readLine(text: string, defaults: Partial<Order>): Pick<Line, 'order' | 'name'> | string {
  if (!isText(text)) return notText
  if (!text.startsWith('{')) return { order: { ...defaults, prompt: text }, name: null }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return `it starts like JSON but is none: ${(error as Error).message}`
  }
  if (!isObject(json)) return 'it is no JSON object'
  const given = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
  const fault = faultIn(given)
  if (fault !== null) return fault
  const { name, caption, seconds, ...rest } = given
  const order = {
    ...{ ...defaults, ...rest },
    ...(seconds === undefined ? {} : { seconds: String(seconds) }),
    ...(caption === undefined ? {} : { caption: caption ? undefined : false }),
  }
  return {
    order: withoutUndefined(order) as unknown as Order,
    name: name === undefined ? null : fileName(String(name)),
  }
}

function faultIn(given: Record<string, unknown>): string | null {
  const other = Object.keys(given).find((field) => !fields.includes(field))
  if (other !== undefined) {
    return `there is no field '${other}'${suggestion(other, fields) || `; the fields are ${fields.join(', ')}`}`
  }
  for (const field of ['prompt', 'model', 'size', 'image', 'name']) {
    const value = given[field]
    if (value === undefined) continue
    if (typeof value !== 'string') return `${field}: it is no text`
    if (!isText(value)) return `${field}: ${notText}`
  }
  if (given.caption !== undefined && typeof given.caption !== 'boolean') return 'caption: use true or false'
  if (typeof given.prompt !== 'string' || given.prompt.trim() === '') return 'prompt: it is missing'
  const { name } = given
  if (typeof name === 'string' && !/^[^./\\\p{Cc}][^/\\\p{Cc}]{0,120}$/u.test(name))
    return "name: use a plain file name, without '/' and not starting with '.'"
  if (typeof name === 'string' && Buffer.byteLength(fileName(name)) > longestName)
    return `name: it is too long; a file name has room for ${longestName} bytes`
  return faultOf(given)
}

/** No file system takes more, and most count bytes. */
const longestName = 255

const notText = 'it has a character that no text has (NUL, or half of a pair)'

function isText(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

function fileName(name: string): string {
  return /\.mp4$/i.test(name) ? name : `${name}.mp4`
}

/** The same for lines that ask for the same, however they are written. */
export function fingerprint(order: Order, name: string | null): string {
  const { prompt, model, seconds, size, image, seed, caption } = order
  const parts = [prompt, model, seconds, size, image, seed, caption, name].map((part) => part ?? null)
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

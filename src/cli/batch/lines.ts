import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { duplicateKey } from '../../core/duplicate-key.ts'
import { messageOf } from '../../core/problem.ts'
import { isObject } from '../../wire/schema.ts'
import { suggestion } from '../arguments.ts'
import { slug } from '../slug.ts'
import { faultOf, type Order, withoutUndefined } from '../video-request.ts'

/** One video of a batch. */
export interface Line {
  /** The line number in the file, from 1. */
  number: number
  /** Its key in the journal, derived from the request, so that lines may be moved, added and removed. */
  key: string
  order: Order
  /** The file's name, if the line gives one. */
  name: string | null
  /** Its name in the progress; unique. */
  label: string
}

export interface Fault {
  number: number
  what: string
}

const fields = ['prompt', 'model', 'seconds', 'size', 'image', 'seed', 'caption', 'name']

/** The text of a file, and the first line that is not UTF-8. Such lines are empty in the text. */
export function decode(bytes: Buffer): { text: string; fault: Fault | null } {
  if (isUtf8(bytes)) return { text: bytes.toString('utf8'), fault: null }
  const wide = ['fffe', 'feff'].includes(bytes.toString('hex', 0, 2))
  const lines = bytes
    .toString('latin1')
    .split('\n')
    .map((line) => Buffer.from(line, 'latin1'))
  // The first line is enough: the others have the same encoding.
  const number = lines.findIndex((line) => !isUtf8(line)) + 1
  const text = wide ? '' : lines.map((line) => (isUtf8(line) ? line.toString('utf8') : '')).join('\n')
  return { text, fault: { number, what: `it is ${wide ? 'UTF-16' : 'not UTF-8'}; save the file as UTF-8` } }
}

/** Reads the whole file, and collects every fault. */
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
    const other = read.name === null ? undefined : names.get(read.name.toLowerCase())
    if (other !== undefined) faults.push({ number, what: `name: line ${other} has the same; choose another` })
    if (read.name !== null) names.set(read.name.toLowerCase(), number)
    const request = fingerprint(read.order, read.name)
    const repeats = seen.get(request) ?? 0
    seen.set(request, repeats + 1)
    lines.push({ number, key: `${request}-${repeats}`, ...read })
  }
  return { lines: withLabels(lines), faults }
}

/** With the line number, if several lines would have the same label. */
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
    return `it starts like JSON but is not valid JSON: ${messageOf(error)}`
  }
  if (!isObject(json)) return 'it is not a JSON object'
  const twice = duplicateKey(text)
  if (twice !== undefined) return `${twice}: the line has it twice`
  const given = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
  const fault = faultIn(given)
  if (fault !== null) return fault
  const { prompt, seed, caption, name } = given
  const chosen = (field: 'model' | 'seconds' | 'size' | 'image') =>
    given[field] === undefined ? defaults[field] : String(given[field])
  const order = withoutUndefined<Order>({
    prompt: String(prompt),
    model: chosen('model'),
    seconds: chosen('seconds'),
    size: chosen('size'),
    image: chosen('image'),
    seed: seed === undefined ? defaults.seed : Number(seed),
    caption: caption === undefined ? defaults.caption : caption ? undefined : false,
  })
  return { order, name: name === undefined ? null : fileName(String(name)) }
}

function faultIn(given: Record<string, unknown>): string | null {
  const other = Object.keys(given).find((field) => !fields.includes(field))
  if (other !== undefined) {
    return `there is no field '${other}'${suggestion(other, fields) || `; the fields are ${fields.join(', ')}`}`
  }
  for (const field of ['prompt', 'model', 'size', 'image', 'name']) {
    const value = given[field]
    if (value === undefined) continue
    if (typeof value !== 'string') return `${field}: it is not text`
    if (!isText(value)) return `${field}: ${notText}`
  }
  if (given.caption !== undefined && typeof given.caption !== 'boolean') return 'caption: use true or false'
  if (typeof given.prompt !== 'string' || given.prompt.trim() === '') return 'prompt: it is missing'
  const { name } = given
  if (typeof name === 'string' && !/^[^./\\\p{Cc}][^/\\\p{Cc}]{0,120}$/u.test(name))
    return "name: use a plain file name, without '/' and not starting with '.'"
  if (typeof name === 'string' && Buffer.byteLength(fileName(name)) > longestName)
    return `name: it is too long; use at most ${longestName} bytes`
  return faultOf(given)
}

/** The limit of most file systems, in bytes. */
const longestName = 255

const notText = 'it has an invalid character (NUL, or half of a surrogate pair)'

function isText(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

function fileName(name: string): string {
  return /\.mp4$/i.test(name) ? name : `${name}.mp4`
}

/** The same for the same request, however the line is written. */
export function fingerprint(order: Order, name: string | null): string {
  const { prompt, model, seconds, size, image, seed, caption } = order
  const parts = [prompt, model, seconds, size, image, seed, caption, name].map((part) => part ?? null)
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

import { createHash } from 'node:crypto'
import { suggestion } from '../arguments.ts'
import { faultOf, type Order, withoutUndefined } from '../film.ts'
import { isObject } from '../task.ts'

/** One film of a batch. */
export interface Line {
  /** Where it stands in the file, from 1. */
  number: number
  /** What it is known by in the journal: made of what it asks for, so that lines may be moved, added and dropped. */
  key: string
  order: Order
  /** The file's name, if the line gives one. */
  name: string | null
}

export interface Fault {
  number: number
  what: string
}

const fields = ['prompt', 'model', 'seconds', 'size', 'image', 'seed', 'caption', 'name']

/** Reads the whole file; a line with a fault is told apart from the others, never guessed at. */
export function readLines(text: string, defaults: Partial<Order>): { lines: Line[]; faults: Fault[] } {
  const lines: Line[] = []
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
  return { lines, faults }
}

function readLine(text: string, defaults: Partial<Order>): Omit<Line, 'number' | 'key'> | string {
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
    if (given[field] !== undefined && typeof given[field] !== 'string') return `${field}: it is no text`
  }
  if (given.caption !== undefined && typeof given.caption !== 'boolean') return 'caption: use true or false'
  if (typeof given.prompt !== 'string' || given.prompt.trim() === '') return 'prompt: it is missing'
  const { name } = given
  if (typeof name === 'string' && !/^[^./\\\p{Cc}][^/\\\p{Cc}]{0,120}$/u.test(name))
    return "name: use a plain file name, without '/' and not starting with '.'"
  return faultOf(given)
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

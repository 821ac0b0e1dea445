import { readFile, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Client, Film } from './client.ts'
import { Failure, UsageFailure } from './failure.ts'
import type { Terminal } from './terminal.ts'

/** A film as a person asks for it: the model may be left to the server, and the image is a file or a URL. */
export interface Order {
  prompt: string
  model?: string
  seconds?: string
  size?: string
  image?: string
  seed?: number
  caption?: false
}

export const filmOptions = {
  model: { type: 'string' },
  seconds: { type: 'string' },
  size: { type: 'string' },
  image: { type: 'string' },
  seed: { type: 'string' },
  'no-caption': { type: 'boolean' },
} as const

export const filmHelp = `Film:
  --model NAME        one of \`filmgate models\`; the first if left out
  --seconds N         how long; the model's default if left out
  --size WxH          such as 1280x720
  --image FILE|URL    a picture to start from: PNG, JPEG or WebP
  --seed N            the same seed and words make the same film, where the
                      model can
  --no-caption        do not write the prompt into the picture
`

type FilmFlags = {
  [Name in keyof typeof filmOptions]?: (typeof filmOptions)[Name]['type'] extends 'boolean' ? boolean : string
}

/** A prompt as it was typed, or with `-` as it comes through a pipe. */
export async function promptOf(given: string, terminal: Terminal): Promise<string> {
  if (given !== '-') return given
  const piped = await terminal.readInput()
  if (piped === null) throw new UsageFailure('- reads the prompt from a pipe or a file, and stdin is a terminal')
  return piped.trim()
}

/** Reads the flags; every mistake is the server's to judge except those that no server could understand. */
export function readOrder(prompt: string, flags: FilmFlags): Order {
  if (prompt.trim() === '') throw new UsageFailure('the prompt is empty')
  const { model, seconds, size, image, seed } = flags
  const order = {
    ...{ prompt, model, seconds, size, image, seed: /^\d+$/.test(seed ?? '') ? Number(seed) : seed },
    ...(flags['no-caption'] ? { caption: false } : {}),
  }
  const fault = faultOf(order)
  if (fault !== null) throw new UsageFailure(fault)
  return withoutUndefined(order) as unknown as Order
}

/** What is wrong with the fields of an order, or null. */
export function faultOf({ seconds, size, seed }: { seconds?: unknown; size?: unknown; seed?: unknown }): string | null {
  if (seconds !== undefined && !/^\d+(\.\d+)?$/.test(String(seconds))) return `seconds: '${seconds}' is no number`
  if (size !== undefined && !/^\d+x\d+$/.test(String(size))) return `size: '${size}' is no size such as 1280x720`
  if (seed !== undefined && !(Number.isSafeInteger(seed) && Number(seed) >= 0))
    return `seed: '${seed}' is no whole number, 0 or more`
  return null
}

export function withoutUndefined(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

/** The film as it is sent. `model` stands in for one that the order leaves out; image files lie relative to `folder`. */
export async function prepare({ image, ...order }: Order, model: string, folder: string): Promise<Film> {
  const loaded = image === undefined ? undefined : await loadImage(image, folder)
  return { model, ...order, ...(loaded ? { image: loaded } : {}) }
}

export function isImageUrl(image: string): boolean {
  return /^(https?:\/\/|data:)/i.test(image)
}

const mostBytes = 64 * 2 ** 20

export async function loadImage(image: string, folder: string): Promise<NonNullable<Film['image']>> {
  if (isImageUrl(image)) return { url: image }
  const path = resolve(folder, image)
  try {
    const { size } = await stat(path)
    if (size > mostBytes) throw new UsageFailure(`the image ${image} has more than 64 MiB; is it a picture?`)
    const bytes = await readFile(path)
    return { name: basename(path), type: typeOf(bytes), bytes }
  } catch (error) {
    if (error instanceof Failure) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new UsageFailure(`the image ${image} can't be read: ${code === 'ENOENT' ? 'there is no such file' : code}`)
  }
}

/** Servers judge by the type that is named, so the bytes decide it and not the name of the file. */
function typeOf(bytes: Buffer): string {
  if (bytes.subarray(0, 4).toString('latin1') === '\x89PNG') return 'image/png'
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return 'image/jpeg'
  if (bytes.subarray(0, 4).toString('latin1') === 'RIFF' && bytes.subarray(8, 12).toString('latin1') === 'WEBP')
    return 'image/webp'
  return 'application/octet-stream'
}

export function usingModel(model: string): string {
  return `using model ${model}, the first that the server lists`
}

/** The model to use where none was asked for: the first that the server lists. */
export async function firstModel(client: Client, signal: AbortSignal): Promise<string> {
  const { models } = await client.models(signal)
  const [first] = models
  if (!first) throw new Failure('the server lists no model; name one with --model')
  return first.id
}

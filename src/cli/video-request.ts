import { readFile, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { codeOf } from '../core/problem.ts'
import type { Values } from './arguments.ts'
import type { Client, VideoRequest } from './client.ts'
import { Failure, UsageFailure } from './failure.ts'
import type { Terminal } from './terminal.ts'

/** A video as the user describes it: the model is optional, and the image is a file or a URL. */
export interface Order {
  prompt: string
  model?: string
  seconds?: string
  size?: string
  image?: string
  seed?: number
  caption?: false
}

export const videoOptions = {
  model: { type: 'string' },
  seconds: { type: 'string' },
  size: { type: 'string' },
  image: { type: 'string' },
  seed: { type: 'string' },
  'no-caption': { type: 'boolean' },
} as const

export const videoHelp = `Video:
  --model NAME        one of \`filmgate models\` (the first)
  --seconds N         the length (the default of the model)
  --size WxH          such as 1280x720 (the default of the model)
  --image FILE|URL    a reference image: PNG, JPEG or WebP
  --seed N            the same seed and prompt give the same video, if the model
                      supports it
  --no-caption        do not write the prompt into the picture
`

/** The prompt as typed, or read from a pipe if it is `-`. */
export async function promptOf(given: string, terminal: Terminal): Promise<string> {
  if (given !== '-') return given
  const piped = await terminal.readInput()
  if (piped === null)
    throw new UsageFailure('- reads the prompt from stdin, and stdin is a terminal; use a pipe or a file')
  return piped.trim()
}

/** Reads the flags. Refuses only what every server would refuse. */
export function readOrder(prompt: string, flags: Values<typeof videoOptions>): Order {
  if (prompt.trim() === '') throw new UsageFailure('the prompt is empty')
  const { model, seconds, size, image } = flags
  const seed = /^\d+$/.test(flags.seed ?? '') ? Number(flags.seed) : undefined
  const fault = faultOf({ seconds, size, image, seed: seed ?? flags.seed })
  if (fault !== null) throw new UsageFailure(fault)
  const caption = flags['no-caption'] ? false : undefined
  return withoutUndefined<Order>({ prompt, model, seconds, size, image, seed, caption })
}

/** What is wrong with the fields of an order, or null. */
export function faultOf({ seconds, size, image, seed }: { [Field in keyof Order]?: unknown }): string | null {
  if (seconds !== undefined && !/^\d+(\.\d+)?$/.test(String(seconds))) return `seconds: '${seconds}' is not a number`
  if (size !== undefined && !/^\d+x\d+$/.test(String(size)))
    return `size: '${size}' is not a size; write for example 1280x720`
  if (image === '') return 'image: it is empty; use a file or a URL'
  if (seed !== undefined && !(Number.isSafeInteger(seed) && Number(seed) >= 0))
    return `seed: '${seed}' is not a whole number, 0 or more`
  return null
}

export function withoutUndefined<T extends object>(object: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T
}

/** The request to send. `model` is the default; image files are relative to `folder`. */
export async function prepare({ image, ...order }: Order, model: string, folder: string): Promise<VideoRequest> {
  const loaded = image === undefined ? undefined : await loadImage(image, folder)
  return { model, ...order, ...(loaded ? { image: loaded } : {}) }
}

export function isImageUrl(image: string): boolean {
  return /^(https?:\/\/|data:)/i.test(image)
}

const mostBytes = 64 * 2 ** 20

export async function loadImage(image: string, folder: string): Promise<NonNullable<VideoRequest['image']>> {
  if (isImageUrl(image)) return { url: image }
  const path = resolve(folder, image)
  try {
    const { size } = await stat(path)
    if (size > mostBytes) throw new UsageFailure(`the image ${image} is larger than 64 MiB; use a smaller one`)
    const bytes = await readFile(path)
    return { name: basename(path), type: typeOf(bytes), bytes }
  } catch (error) {
    if (error instanceof Failure) throw error
    const code = codeOf(error)
    throw new UsageFailure(`the image ${image} can't be read: ${code === 'ENOENT' ? 'there is no such file' : code}`)
  }
}

/** By the bytes, not by the name of the file: servers check the declared type. */
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

/** The default model: the first that the server lists. */
export async function firstModel(client: Client, signal: AbortSignal): Promise<string> {
  const { models } = await client.models(signal)
  const [first] = models
  if (!first) throw new Failure('the server lists no model; name one with --model')
  return first.id
}

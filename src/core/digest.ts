import { hash } from 'node:crypto'
import type { Size, Task } from './task.ts'

/** What makes two requests the same one; the image by the SHA-256 of its bytes, or by its URL. */
export interface Asked extends Pick<Task, 'card' | 'prompt' | 'seconds' | 'parameters'> {
  size: Size
  image: string | null
  /** What it is made of, by its name or by the digest of its bytes. */
  source?: string | null
}

/** 48 bits, which an index keeps cheaply; with the owner and the hour beside it that is enough to tell requests apart. */
export function digestRequest({ card, prompt, seconds, size, parameters, image, source = null }: Asked): number {
  const named = Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))
  const made = source === null ? [] : [source]
  const text = JSON.stringify([card, prompt, seconds, size.width, size.height, named, image, ...made])
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 12), 16)
}

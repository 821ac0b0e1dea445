import { hash } from 'node:crypto'
import type { Metadata, Size, Task } from './task.ts'

/** What makes two requests the same one; the image by the SHA-256 of its bytes, or by its URL. */
interface Asked extends Pick<Task, 'card' | 'prompt' | 'seconds' | 'parameters'> {
  size: Size
  image: string | null
  metadata?: Metadata | null
  /** The names of parameters that were left out. */
  ignored?: readonly string[]
  /** What it is made of, by its name or by the digest of its bytes. */
  source?: string | null
}

/** 48 bits, which an index keeps cheaply; with the owner and the hour beside it that is enough to tell requests apart. */
export function digestRequest(asked: Asked): number {
  const { card, prompt, seconds, size, parameters, image, source = null, metadata = null, ignored = [] } = asked
  // What is absent leaves the digest as it was before there was such a field.
  const made = source === null ? [] : [source]
  const kept = metadata === null ? [] : [inOrder(metadata)]
  const left = ignored.length === 0 ? [] : [{ ignored }]
  const text = JSON.stringify([
    card,
    prompt,
    seconds,
    size.width,
    size.height,
    inOrder(parameters),
    image,
    ...made,
    ...kept,
    ...left,
  ])
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 12), 16)
}

function inOrder(values: Metadata): [string, unknown][] {
  return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1))
}

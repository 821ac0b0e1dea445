import type { Canvas } from '@napi-rs/canvas'
import { canvasOf, openFootage } from './footage.ts'

/** Every picture of a video, for tests that look at them; small ones, for there may be hundreds. */
export async function everyPicture(path: string, size = { width: 64, height: 64 }): Promise<Canvas[]> {
  await using footage = await openFootage(path)
  const seen: Canvas[] = []
  for await (const picture of footage.pictures(size)) {
    using frame = picture
    seen.push(await canvasOf(frame, size))
  }
  return seen
}

/** How far two pictures are apart: 0 is the same, 255 is black and white. */
export function difference(one: Canvas | undefined, other: Canvas | undefined): number {
  if (!one || !other) throw new Error('there is no such picture')
  const [a, b] = [one.data(), other.data()]
  let sum = 0
  for (let at = 0; at < a.length; at += 1) if (at % 4 !== 3) sum += Math.abs((a[at] ?? 0) - (b[at] ?? 0))
  return sum / ((a.length / 4) * 3)
}

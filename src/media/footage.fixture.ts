import type { Canvas } from '@napi-rs/canvas'
import { canvasOf, openFootage } from './footage.ts'

/** Every frame of a video. Small ones, because there may be hundreds. */
export async function everyPicture(path: string, size = { width: 64, height: 64 }): Promise<Canvas[]> {
  await using footage = await openFootage(path)
  const seen: Canvas[] = []
  for await (const picture of footage.pictures(size)) {
    using frame = picture
    seen.push(await canvasOf(frame, size))
  }
  return seen
}

/** The average difference of two pictures: 0 if they are the same, 255 between black and white. */
export function difference(one: Canvas | undefined, other: Canvas | undefined): number {
  if (!one || !other) throw new Error('a picture is missing')
  const [a, b] = [one.data(), other.data()]
  let sum = 0
  for (let at = 0; at < a.length; at += 1) if (at % 4 !== 3) sum += Math.abs((a[at] ?? 0) - (b[at] ?? 0))
  return sum / ((a.length / 4) * 3)
}

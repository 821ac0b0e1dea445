import { createCanvas } from '@napi-rs/canvas'
import { picturesAt } from './frames.ts'

/* The grid is the same for every film, so that whoever shows it need not be told of it; docs/api.md says how to use it. */
const [columns, rows] = [5, 5]
/** As wide for a film of 9:16 as for one of 16:9. */
const box = { width: 160, height: 284 }
const quality = 80

/** Frames from equal parts of the film, each from the middle of its part, row by row, as JPEG. */
export async function spritesheet(path: string): Promise<Uint8Array> {
  const count = columns * rows
  const moments = Array.from({ length: count }, (_, index) => (index + 0.5) / count)
  const pictures = await picturesAt(path, moments, box)
  const { width = 1, height = 1 } = pictures[0] ?? {}
  const sheet = createCanvas(width * columns, height * rows)
  const pen = sheet.getContext('2d')
  for (const [index, picture] of pictures.entries())
    pen.drawImage(picture, (index % columns) * width, Math.floor(index / columns) * height)
  return await sheet.encode('jpeg', quality)
}

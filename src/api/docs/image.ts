import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { Size } from '../../core/task.ts'

/** The colours of an evening sky, from top to bottom. */
const colours = [
  [38, 44, 92],
  [206, 104, 92],
  [252, 214, 150],
] as const

/** A PNG of that size, for examples that need an image. Each row has one colour, so that it compresses well. */
export async function drawImage({ width, height }: Size): Promise<Buffer> {
  const rowBytes = 1 + width * 3
  const rows = Buffer.alloc(rowBytes * height)
  for (let row = 0; row < height; row += 1) {
    // The first byte of a row is its filter: 0, which is none.
    rows.fill(Buffer.from(colourAt(row / height)), row * rowBytes + 1, (row + 1) * rowBytes)
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // 8 bits for each of red, green and blue.
  head.set([8, 2], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const pixels = await promisify(deflate)(rows)
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

function colourAt(part: number): number[] {
  const place = part * (colours.length - 1)
  const [above, below] = colours.slice(Math.floor(place))
  const share = place % 1
  return [0, 1, 2].map((at) => Math.round((above?.[at] ?? 0) * (1 - share) + (below?.[at] ?? 0) * share))
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

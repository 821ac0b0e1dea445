import { crc32, deflateSync } from 'node:zlib'

export interface PngOptions {
  /** Of a square, in pixels. */
  side: number
  /** Of a pixel: of one grey value, or of four times eight for colours with transparency. */
  bits: 1 | 32
  /** In seven passes, which a decoder has to put together. */
  isInterlaced: boolean
}

/** Zeros only: a few kilobytes for tens of megapixels. */
export function blankPng({ side, bits, isInterlaced }: PngOptions): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  const [depth, colours] = bits === 32 ? [8, 6] : [bits, 0]
  header.set([depth, colours, 0, 0, isInterlaced ? 1 : 0], 8)
  const bytes = (isInterlaced ? adam7 : plain).map(([x, y, stepX, stepY]) => {
    const width = Math.ceil((side - x) / stepX)
    const height = Math.ceil((side - y) / stepY)
    return width > 0 && height > 0 ? height * (1 + Math.ceil((width * bits) / 8)) : 0
  })
  const pixels = Buffer.alloc(bytes.reduce((sum, count) => sum + count, 0))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(pixels)), chunk('IEND')])
}

type Pass = readonly [x: number, y: number, stepX: number, stepY: number]

const plain: readonly Pass[] = [[0, 0, 1, 1]]
const adam7: readonly Pass[] = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
]

function chunk(name: string, data = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

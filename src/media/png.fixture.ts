import { crc32, deflateSync } from 'node:zlib'
import type { Size } from '../core/task.ts'

export interface PngKind {
  /** Bits of each channel. */
  depth: 1 | 8 | 16
  /** Grey has one channel, rgba has four. */
  colours: 'grey' | 'rgba'
  interlaced: boolean
}

/** A PNG whose pixels are all 0: millions of pixels fit into a few kilobytes. */
export function blankPng(size: Size, { depth, colours, interlaced }: PngKind): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(size.width, 0)
  header.writeUInt32BE(size.height, 4)
  header.set([depth, colours === 'grey' ? 0 : 6, 0, 0, interlaced ? 1 : 0], 8)
  const bitsOfPixel = depth * (colours === 'grey' ? 1 : 4)
  const rows = (interlaced ? adam7 : [whole]).map(({ x, y, dx, dy }) => {
    const [across, down] = [Math.ceil((size.width - x) / dx), Math.ceil((size.height - y) / dy)]
    return across > 0 && down > 0 ? down * (1 + Math.ceil((across * bitsOfPixel) / 8)) : 0
  })
  const pixels = deflateSync(Buffer.alloc(rows.reduce((sum, bytes) => sum + bytes, 0)))
  const start = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([start, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

export function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}

const whole = { x: 0, y: 0, dx: 1, dy: 1 }
/** The seven passes of an interlaced PNG: the start of each, and the steps between its pixels. */
const adam7 = [
  { x: 0, y: 0, dx: 8, dy: 8 },
  { x: 4, y: 0, dx: 8, dy: 8 },
  { x: 0, y: 4, dx: 4, dy: 8 },
  { x: 2, y: 0, dx: 4, dy: 4 },
  { x: 0, y: 2, dx: 2, dy: 4 },
  { x: 1, y: 0, dx: 2, dy: 2 },
  { x: 0, y: 1, dx: 1, dy: 2 },
]

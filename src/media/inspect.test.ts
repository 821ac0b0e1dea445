import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import { examineImage } from '../core/image.ts'
import type { ImageType } from '../core/task.ts'
import { manualClock, never, picture } from './fixtures.ts'
import { blankPng, chunk } from './png.fixture.ts'
import { type MediaPool, openMedia } from './pool.ts'

const size = { width: 321, height: 240 }
const types: ImageType[] = ['image/png', 'image/jpeg', 'image/webp']
let media: MediaPool

before(() => {
  media = openMedia({ clock: manualClock(), renderers: 1 })
})

after(() => media[Symbol.asyncDispose]())

const refused = { code: 'invalid_image' }

for (const type of types) {
  const bytes = picture(size, type)

  test(`a whole ${type} passes`, async () => {
    await media.inspect({ bytes, type, size }, 'alice', never)
  })

  test(`an ${type} that is cut anywhere is refused`, async () => {
    for (const share of [0.999, 0.99, 0.9, 0.5, 0.1]) {
      const cut = bytes.subarray(0, Math.floor(bytes.length * share))
      await assert.rejects(media.inspect({ bytes: cut, type, size }, 'alice', never), refused, `${share}`)
    }
    await assert.rejects(media.inspect({ bytes: bytes.subarray(0, -2), type, size }, 'alice', never), refused)
  })

  test(`an ${type} whose pixels have another size than its header is refused`, async () => {
    await assert.rejects(media.inspect({ bytes, type, size: { width: 240, height: 321 } }, 'alice', never), refused)
  })

  test(`an ${type} is not accepted as another type`, async () => {
    for (const other of types) {
      if (other !== type) await assert.rejects(media.inspect({ bytes, type: other, size }, 'alice', never), refused)
    }
  })

  test(`noise behind the head of an ${type} is refused`, async () => {
    const noisy = Buffer.from(bytes)
    for (let at = 200; at < noisy.length - 20; at++) noisy[at] = (at * 73 + (at >> 3)) & 0xff
    await assert.rejects(media.inspect({ bytes: noisy, type, size }, 'alice', never), refused)
  })
}

test('a single wrong byte in a PNG is refused', async () => {
  const bytes = picture(size, 'image/png')
  const middle = Math.floor(bytes.length / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  await assert.rejects(media.inspect({ bytes, type: 'image/png', size }, 'alice', never), refused)
})

test('an animation is refused, and the message says why', async () => {
  const still = picture(size, 'image/png')
  const control = Buffer.from('acTL\u0000\u0000\u0000\u0001\u0000\u0000\u0000\u0000', 'latin1')
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(control))
  const apng = Buffer.concat([still.subarray(0, 33), Buffer.from([0, 0, 0, 8]), control, checksum, still.subarray(33)])
  await assert.rejects(media.inspect({ bytes: apng, type: 'image/png', size }, 'alice', never), {
    ...refused,
    message: /animated/,
  })
  const webp = Buffer.from('RIFF\u0016\u0000\u0000\u0000WEBPVP8X\u000a\u0000\u0000\u0000\u0002', 'latin1')
  await assert.rejects(media.inspect({ bytes: webp, type: 'image/webp', size }, 'alice', never), {
    ...refused,
    message: /animated/,
  })
})

test('a kind that the renderer cannot read is refused, even if it is complete', async () => {
  const start = picture(size, 'image/png').subarray(0, 8)
  // 8x8 pixels with a palette index each, and no palette.
  const header = chunk('IHDR', Buffer.from('00000008000000080803000000', 'hex'))
  const pixels = chunk('IDAT', deflateSync(Buffer.alloc(8 * 9)))
  const bytes = Buffer.concat([start, header, pixels, chunk('IEND', Buffer.alloc(0))])
  const image = { bytes, type: 'image/png' as const, size: { width: 8, height: 8 } }
  await assert.rejects(media.inspect(image, 'alice', never), refused)
})

test('bytes that view a larger buffer are inspected alone', async () => {
  const bytes = picture(size, 'image/png')
  const view = Buffer.concat([Buffer.alloc(100, 7), bytes, Buffer.alloc(100, 7)]).subarray(100, 100 + bytes.length)
  await media.inspect({ bytes: view, type: 'image/png', size }, 'alice', never)
})

test('a JPEG with more scans than any encoder writes is refused before it is decoded', async () => {
  const bytes = picture(size, 'image/jpeg')
  const at = bytes.lastIndexOf(Buffer.from([0xff, 0xda]))
  const scan = bytes.subarray(at, -2)
  const many = Buffer.concat([bytes.subarray(0, at), ...Array.from({ length: 21 }, () => scan), bytes.subarray(-2)])
  await assert.rejects(media.inspect({ bytes: many, type: 'image/jpeg', size }, 'alice', never), {
    ...refused,
    message: /It has 21 scans, and 20 is the limit/,
  })
})

/** A JPEG with these segments before its only scan. */
function withSegments(...segments: Buffer[]): Buffer {
  const bytes = picture(size, 'image/jpeg')
  const at = bytes.lastIndexOf(Buffer.from([0xff, 0xda]))
  return Buffer.concat([bytes.subarray(0, at), ...segments, bytes.subarray(at)])
}

test('a JPEG with a second frame is refused', async () => {
  const bytes = picture(size, 'image/jpeg')
  const at = bytes.indexOf(Buffer.from([0xff, 0xc0]))
  const frame = bytes.subarray(at, at + 2 + bytes.readUInt16BE(at + 2))
  await assert.rejects(media.inspect({ bytes: withSegments(frame), type: 'image/jpeg', size }, 'alice', never), {
    ...refused,
    message: /It has 2 frames/,
  })
})

test('a JPEG cannot hide scans that decoders see and the count does not', async () => {
  const hidden = [
    // The decoder continues two bytes after its start.
    ['ffde000800000000ffff', /a segment that is broken or not supported/],
    // One table, and then a little more.
    [`ffdb0047${'00'.repeat(65)}ffff`, /a segment that is broken or not supported/],
    // An end before the frame is skipped.
    ['ffd9', /It has 0 frames and 0 scans/],
  ] as const
  for (const [segment, message] of hidden) {
    const bytes = Buffer.concat([Buffer.from('ffd8', 'hex'), Buffer.from(segment, 'hex'), withSegments().subarray(2)])
    const inspected = media.inspect({ bytes, type: 'image/jpeg', size }, 'alice', never)
    await assert.rejects(inspected, { ...refused, message }, segment)
  }
  const usual = [Buffer.from('ffe10006ffdaffdafffe0004ffda', 'hex'), Buffer.from('ffdd00040000', 'hex')]
  await media.inspect({ bytes: withSegments(...usual), type: 'image/jpeg', size }, 'alice', never)
})

test('a JPEG may have any bytes after its end, such as the video of a motion photo', async () => {
  const scans = Buffer.alloc(1_000_000, Buffer.from([0xff, 0xda]))
  const bytes = Buffer.concat([withSegments(), scans])
  await media.inspect({ bytes, ...examineImage(bytes, 'image') }, 'alice', never)
})

test('pixels that the header does not announce take no memory', async () => {
  await using fresh = openMedia({ clock: manualClock(), renderers: 1 })
  // Lossless WebP, in which every pixel is the same: 16000x16000 of them need 30 bytes.
  const header = '524946462e00000057454250565038580a00000000000000630000630000'
  const pixels = '5650384c100000002f7ffe9f0f8888080000000000000000'
  const image = { bytes: Buffer.from(header + pixels, 'hex'), type: 'image/webp' as const }
  await assert.rejects(fresh.inspect({ ...image, size: { width: 100, height: 100 } }, 'alice', never), refused)
  const status = readFileSync(`/proc/${fresh.children()[0]?.pid}/status`, 'utf8')
  const peak = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1])
  assert.ok(peak < 500_000, `${peak} kB`)
})

test('an image is not refused because memory is short', async () => {
  const large = { width: 5_000, height: 5_000 }
  const kind = { depth: 8, colours: 'rgba', interlaced: false } as const
  for (const [type, bytes] of [
    ['image/png', blankPng(large, kind)],
    ['image/jpeg', picture(large, 'image/jpeg')],
  ] as const) {
    await using short = openMedia({ clock: manualClock(), renderers: 1 })
    await short.inspect({ bytes: picture(size, type), type, size }, 'alice', never)
    const pid = String(short.children()[0]?.pid)
    const used = /^VmSize:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    execFileSync('prlimit', ['--pid', pid, `--as=${Number(used) * 1024 + 50e6}:`])
    await assert.rejects(short.inspect({ bytes, type, size: large }, 'alice', never), { code: 'overloaded' }, type)
    await assert.rejects(short.inspect({ bytes: bytes.subarray(0, 500), type, size: large }, 'alice', never), refused)
  }
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { examineImage } from './image.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const pngOf = (width: number, height: number) => {
  const bytes = Buffer.from(png)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

it('reads the type from the bytes of an image, not from its name', () => {
  assert.deepEqual(examineImage(png, 'image'), { type: 'image/png', size: { width: 1, height: 1 } })
  const jpeg = Buffer.concat([
    Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0001108001e0028', 'hex'),
    Buffer.alloc(20),
  ])
  assert.deepEqual(examineImage(jpeg, 'image'), { type: 'image/jpeg', size: { width: 40, height: 30 } })
  assert.deepEqual(examineImage(webpOf(canvas, lossless), 'image'), {
    type: 'image/webp',
    size: { width: 40, height: 30 },
  })
})

const webpOf = (...chunks: string[]) =>
  Buffer.concat([
    Buffer.from('RIFF\0\0\0\0WEBP'),
    ...chunks.map((chunk) => Buffer.from(chunk, 'hex')),
    Buffer.alloc(20),
  ])
const hexOf = (name: string) => Buffer.from(name).toString('hex')
/** 40x30, as all of these but the last. */
const canvas = `${hexOf('VP8X')}0a00000000000000${'270000'}${'1d0000'}`
const lossless = `${hexOf('VP8L')}0a0000002f27400700${'00'.repeat(5)}`
const lossy = `${hexOf('VP8 ')}0a0000000000009d012a28001e00`
const huge = `${hexOf('VP8L')}0a0000002fffffff0f${'00'.repeat(5)}`

// A file of 54 bytes had cost 4 seconds of CPU time and 1 GB of memory.
it('refuses a WebP whose pixels are not of the size that its extended header names', () => {
  const profile = `${hexOf('ICCP')}0200000000ff`
  for (const good of [webpOf(lossless), webpOf(canvas, lossy), webpOf(canvas, profile, lossless)])
    assert.deepEqual(examineImage(good, 'image').size, { width: 40, height: 30 })
  for (const bad of [webpOf(canvas, huge), webpOf(canvas, profile, huge), webpOf(canvas, profile)])
    assert.throws(() => examineImage(bad, 'image'), { code: 'invalid_image' })
  assert.throws(() => examineImage(webpOf(huge), 'image'), /16384x16384 pixels/)
})

it('refuses what is no PNG, JPEG or WebP, and what is too large', () => {
  const bad = [
    '',
    'GIF89a'.padEnd(40),
    '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
    '<html>'.padEnd(40),
    '\xff\xd8\xff'.padEnd(40),
  ]
  for (const text of bad)
    assert.throws(() => examineImage(Buffer.from(text, 'latin1'), 'image'), { code: 'invalid_image' })
  assert.throws(() => examineImage(pngOf(0, 10), 'image'), { code: 'invalid_image' })
  assert.throws(() => examineImage(pngOf(10_000, 10_000), 'image'), /40 megapixels/)
  assert.throws(() => examineImage(Buffer.alloc(21 * 2 ** 20), 'image'), /20 MiB/)
  assert.ok(examineImage(pngOf(8_000, 5_000), 'image'))
})

// A PNG of 5 KB had cost 1.6 seconds of CPU time.
it('allows fewer pixels where decoding costs more: interlaced PNG, 16 bits; and fewer bytes of lossy WebP', () => {
  const kindOf = (width: number, depth: number, interlaced: number) => {
    const bytes = pngOf(width, 1_000)
    bytes[24] = depth
    bytes[28] = interlaced
    return bytes
  }
  for (const [depth, interlaced, most, message] of [
    [8, 0, 40_000, /^The image has 40001x1000 pixels. An image may have up to 40 megapixels. Send a smaller image.$/],
    [
      1,
      1,
      20_000,
      /An interlaced PNG may have up to 20 megapixels. Send a smaller image, or save it without interlacing/,
    ],
    [16, 0, 20_000, /A PNG with 16 bits per channel may have up to 20 megapixels/],
    [16, 1, 10_000, /An interlaced PNG with 16 bits per channel may have up to 10 megapixels/],
  ] as const) {
    assert.ok(examineImage(kindOf(most, depth, interlaced), 'image'))
    const refused = { code: 'invalid_image', param: 'input_reference', message }
    assert.throws(() => examineImage(kindOf(most + 1, depth, interlaced), 'input_reference'), refused)
  }
  const longWebp = (name: string, length: number) => {
    const bytes = Buffer.alloc(20 + length)
    bytes.write(`RIFF    WEBP${name}`, 'latin1')
    bytes.writeUInt32LE(length, 16)
    bytes.writeUInt32LE(0x00100010, 26)
    return bytes
  }
  assert.ok(examineImage(longWebp('VP8 ', 5 * 2 ** 20), 'image'))
  assert.throws(() => examineImage(longWebp('VP8 ', 7 * 2 ** 20), 'image'), /6 MiB, which is the limit for lossy WebP/)
  assert.ok(examineImage(longWebp('VP8L', 7 * 2 ** 20), 'image'))
})

it('refuses kinds that decoders disagree about: a missing palette, and JPEG that is not baseline or progressive', () => {
  const palette = Buffer.from(png)
  palette[25] = 3
  assert.throws(() => examineImage(palette, 'image'), { code: 'invalid_image' })
  const chunk = Buffer.from('00000003504c5445000000a77a3dda', 'hex')
  assert.ok(examineImage(Buffer.concat([palette.subarray(0, 33), chunk, palette.subarray(33)]), 'image'))
  const jpegOf = (frame: string) =>
    Buffer.concat([Buffer.from(`ffd8ff${frame}001108001e0028`, 'hex'), Buffer.alloc(30)])
  for (const frame of ['c0', 'c1', 'c2']) assert.ok(examineImage(jpegOf(frame), 'image'), frame)
  for (const frame of ['c3', 'c5', 'c9', 'cb', 'cf'])
    assert.throws(() => examineImage(jpegOf(frame), 'image'), { code: 'invalid_image' }, frame)
})

it('refuses an image with far more data than its picture, which makes decoders hang', () => {
  const chunk = (name: string, length: number) => {
    const bytes = Buffer.alloc(12 + length)
    bytes.writeUInt32BE(length, 0)
    bytes.write(name, 4, 'latin1')
    return bytes
  }
  const withChunks = (...chunks: Buffer[]) => Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)])
  assert.throws(() => examineImage(withChunks(chunk('prVt', 5_000_000)), 'image'), /too much data besides the picture/)
  assert.throws(
    () => examineImage(withChunks(...Array.from({ length: 2_000 }, () => chunk('tEXt', 4))), 'image'),
    /too much/,
  )
  const many = Buffer.concat(Array.from({ length: 30_000 }, () => chunk('IDAT', 0)))
  assert.throws(() => examineImage(withChunks(many), 'image'), /too much/)
  assert.ok(examineImage(withChunks(chunk('iCCP', 500_000), chunk('IDAT', 9_000_000)), 'image'))
  // After its end a PNG may have any data, such as the video of a phone's moving picture.
  assert.ok(examineImage(Buffer.concat([png, chunk('mdat', 9_000_000)]), 'image'))
})

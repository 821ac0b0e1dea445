import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
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

  test(`an ${type} of another size than its header was read as is refused`, async () => {
    await assert.rejects(media.inspect({ bytes, type, size: { width: 240, height: 321 } }, 'alice', never), refused)
  })

  test(`an ${type} is not taken for another type`, async () => {
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

test('a kind that the renderer does not read is refused although its bytes are whole', async () => {
  const start = picture(size, 'image/png').subarray(0, 8)
  // 8 by 8, a byte for each pixel that stands for a colour of a palette; and no palette.
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

test('an image for which there is no memory is not blamed', async () => {
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

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { splitIntoParts } from './upload.ts'

const mebibyte = 2 ** 20
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function* inPieces(bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function split(body: Buffer, piece: number) {
  const { parts, measure } = splitIntoParts(inPieces(body, piece), new AbortController().signal)
  const found: { bytes: Buffer; sha256: string; takenBytes: number }[] = []
  // Copied: the memory of a part is used again.
  for await (const { bytes, sha256 } of parts)
    found.push({ bytes: Buffer.from(bytes), sha256, takenBytes: bytes.buffer.byteLength })
  return { found, measured: measure() }
}

for (const [length, piece] of [
  [0, 1],
  [1, 1],
  [64 * 1024, 1_000],
  [64 * 1024 + 1, 64 * 1024],
  [3 * mebibyte, 512 * 1024],
  [8 * mebibyte, 700_001],
  [8 * mebibyte + 1, mebibyte],
  [25 * mebibyte, 9 * mebibyte],
] as const)
  it(`a body of ${length} bytes that arrives in pieces of ${piece} has the same bytes in its parts`, async () => {
    const body = Buffer.alloc(length, 'each part has its own bytes, ')
    const { found, measured } = await split(body, piece)
    assert.ok(Buffer.concat(found.map(({ bytes }) => bytes)).equals(body))
    assert.deepEqual(measured, { bytes: length, sha256: sha256(body) })
    for (const part of found) assert.equal(part.sha256, sha256(part.bytes))
    for (const { bytes } of found.slice(0, -1)) assert.equal(bytes.length, 8 * mebibyte)
  })

it('a part of a small body takes little memory', async () => {
  const { found } = await split(Buffer.alloc(100_000), 10_000)
  assert.equal(found.length, 1)
  assert.ok((found[0]?.takenBytes ?? 0) < 300_000, `${found[0]?.takenBytes} bytes for 100 000`)
})

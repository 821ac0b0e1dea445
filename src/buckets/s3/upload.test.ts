import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { openSpares, splitIntoParts } from './upload.ts'

const mebibyte = 2 ** 20
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function* inPieces(bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function split(body: Buffer, piece: number, spares = openSpares()) {
  const { parts, measure, end } = splitIntoParts(inPieces(body, piece), new AbortController().signal, spares)
  const found: { bytes: Buffer; sha256: string; memory: ArrayBufferLike }[] = []
  // Copied: the memory of a part is used again.
  for await (const { bytes, sha256 } of parts) found.push({ bytes: Buffer.from(bytes), sha256, memory: bytes.buffer })
  return { found, measured: measure(), end }
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
  assert.deepEqual(
    found.map(({ memory }) => memory.byteLength),
    [128 * 1024],
  )
})

it('memory is used again when its upload has ended, and not before', async () => {
  const spares = openSpares()
  const first = await split(Buffer.alloc(3 * mebibyte, 'a'), 100_000, spares)
  const second = await split(Buffer.alloc(3 * mebibyte, 'b'), 100_000, spares)
  first.end()
  const third = await split(Buffer.alloc(3 * mebibyte, 'c'), 100_000, spares)
  const [one, other, again] = [first, second, third].map(({ found }) => found[0]?.memory)
  assert.notEqual(other, one)
  assert.equal(again, one)
  assert.ok(third.found[0]?.bytes.equals(Buffer.alloc(3 * mebibyte, 'c')))
})

it('at most 32 MiB are kept', async () => {
  const spares = openSpares()
  const taken = Array.from({ length: 6 }, () => spares.take(8 * mebibyte))
  spares.give(taken)
  const again = Array.from({ length: 6 }, () => spares.take(8 * mebibyte))
  assert.equal(again.filter((buffer) => taken.includes(buffer)).length, 4)
})

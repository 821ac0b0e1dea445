import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { numberOf, shades, vocabulary } from './vocabulary.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')

test('the page about the studio has small pictures', async () => {
  const page = await readFile(join(docs, 'studio.md'), 'utf8')
  const pictures = [...page.matchAll(/\]\((images\/[^)]+)\)/g)].map(([, path]) => join(docs, path ?? ''))
  assert.ok(pictures.length > 0)
  const sizes = await Promise.all(pictures.map(async (path) => (await stat(path)).size))
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 600_000)
})

test('no word means two things of one family', () => {
  for (const [family, table] of Object.entries(vocabulary)) {
    const words = Object.values(table).flatMap((list) => list.split(' '))
    const twice = words.filter((word, index) => words.indexOf(word) !== index)
    assert.deepEqual(twice, [], family)
  }
})

test('numbers are words or digits, and every shade belongs to a subject', () => {
  assert.deepEqual(['two', '3', 'dozens', 'flock', 'fox'].map(numberOf), [2, 3, 12, 7, undefined])
  const words = new Set(Object.values(vocabulary.subject).flatMap((list) => list.split(' ')))
  assert.deepEqual(
    Object.keys(shades).filter((word) => !words.has(word)),
    [],
  )
})

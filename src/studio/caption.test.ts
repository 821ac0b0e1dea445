import assert from 'node:assert/strict'
import { test } from 'node:test'
import { legible, overlayOf, wrapText } from './caption.ts'

/** Every character is one wide. */
const wrapAt = (width: number, text: string) => wrapText(text, width, (part) => [...part].length)

test('a short prompt stays on one line', () => {
  assert.deepEqual(wrapAt(20, 'A calm sea'), ['A calm sea'])
})

test('a long prompt breaks between words', () => {
  assert.deepEqual(wrapAt(12, 'A calm sea at sunset with gulls'), ['A calm sea', 'at sunset', 'with gulls'])
})

test('what does not fit on three lines becomes an ellipsis within the width', () => {
  const lines = wrapAt(10, 'one two three four five six seven eight nine ten')
  assert.deepEqual(lines, ['one two', 'three four', 'five six…'])
})

test('text without spaces breaks anywhere, and never inside a character', () => {
  assert.deepEqual(wrapAt(4, '猫がピアノを弾く'), ['猫がピア', 'ノを弾く'])
  const lines = wrapAt(3, '🎬'.repeat(30))
  assert.deepEqual(lines, ['🎬🎬🎬', '🎬🎬🎬', '🎬🎬…'])
})

test('an empty prompt has no lines', () => {
  assert.deepEqual(wrapAt(10, ' '), [])
})

test('every script can be drawn, whatever fonts there are', () => {
  const prompts = [
    '',
    'ελληνικά',
    'кириллица',
    'עברית',
    'العربية',
    '猫がピアノを弾く',
    'ไทย',
    '🎬👩‍👩‍👧',
    '\u0000\ud800\u202e',
    'é'.repeat(5000),
  ]
  for (const prompt of prompts) {
    const overlay = overlayOf(prompt, { width: 320, height: 256 })
    assert.equal(overlay.data().length, 320 * 256 * 4)
  }
})

test('a word that can not be drawn goes with its marks, and leaves no comma behind', () => {
  const latin = (text: string) => legible(text, (character) => character <= '\u024f')
  const cases = [
    ['a red fox in snow', 'a red fox in snow'],
    ['a red fox in snow, 雪', 'a red fox in snow'],
    ['a red fox (狐), in snow', 'a red fox in snow'],
    ['雪, a red fox in snow,', 'a red fox in snow'],
    ['a red fox🦊, in snow ❄, at dusk', 'a red fox, in snow at dusk'],
    ['a fox, 雪の中の赤い狐が走る', ''],
    ['猫, 犬', ''],
    ['?!', '?!'],
  ]
  for (const [prompt = '', caption] of cases) assert.equal(latin(prompt), caption)
})

test('where nothing of a prompt can be seen there is no bar for it either', () => {
  const size = { width: 320, height: 256 }
  // Fillers and selectors have no picture in any font.
  for (const prompt of ['', '\u3164\u3164', '\ufe0f \ufe0f'])
    assert.ok(overlayOf(prompt, size).data().equals(overlayOf(null, size).data()), JSON.stringify(prompt))
})

test('a prompt leaves white letters at the bottom', () => {
  const size = { width: 640, height: 360 }
  const brightest = (prompt: string) =>
    overlayOf(prompt, size)
      .data()
      .reduce((most, part) => Math.max(most, part), 0)
  // Of the four parts of a pixel only the colour counts here: the shade below the letters is black.
  assert.ok(brightest('A calm sea') > 230)
  assert.ok(brightest('') < 100)
})

test('without a caption only the part where it was is different', () => {
  const size = { width: 640, height: 360 }
  const [written, bare] = [overlayOf('A calm sea at sunset', size).data(), overlayOf(null, size).data()]
  const rows = Array.from({ length: size.height }, (_, row) => {
    const line = (pixels: Buffer) => pixels.subarray(row * size.width * 4, (row + 1) * size.width * 4)
    return !line(written).equals(line(bare))
  })
  assert.ok(rows.slice(0, size.height * 0.75).every((changed) => !changed))
  assert.ok(rows.slice(size.height * 0.85).some((changed) => changed))
})

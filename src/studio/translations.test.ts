import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read } from './reading.ts'
import { sceneOf } from './scene.ts'
import { translations } from './translations.ts'

const castOf = (prompt: string) => sceneOf(prompt).cast.map(({ name }) => name)

test('the longest word wins where words have no spaces', () => {
  const cases = [
    ['熊猫在竹林里', ['panda']],
    ['一只猫头鹰', ['owl']],
    ['鲸鱼', ['whale']],
    ['山羊', ['sheep']],
    ['斑马在草原', ['horse']],
    ['花园里的蝴蝶', ['butterfly']],
    ['パンダと犬', ['panda', 'dog']],
    ['自転車', ['bicycle']],
    ['猫と熊', ['cat', 'bear']],
  ] as const
  for (const [prompt, names] of cases) assert.deepEqual(castOf(prompt), names, prompt)
  assert.notEqual(sceneOf('山羊').landscape, 'mountains', 'a goat is no mountain')
})

test('a known word within another word means nothing', () => {
  for (const prompt of ['电影风格', '抽象', 'クリスタル', 'バスケット', '热狗', 'котлета']) {
    assert.ok(sceneOf(prompt).abstract !== null, prompt)
  }
})

test('every translation is a word that the vocabulary has', () => {
  for (const english of Object.keys(translations)) {
    assert.deepEqual(read(english).unknown, [], english)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read } from './reading.ts'
import { sceneOf } from './scene.ts'

const shown = (prompt: string) => sceneOf(prompt).cast.map(({ name }) => name)

test('what a prompt excludes is not shown', () => {
  const cases = [
    ['no dogs, just a cat', ['cat']],
    ['a street with no cars, a bus', ['bus']],
    ['a bird without people, cars, or dogs', ['bird']],
    ['a bird, no big dogs and cats', ['bird']],
    ['a cat, not a dog', ['cat']],
    ['a car-free street with a bicycle', ['bicycle']],
    ['un bosque sin lobos ni osos, un zorro', ['fox']],
    ['ein Schloss ohne Drachen', ['castle']],
    ['un renard sans chiens', ['fox']],
    ['una volpe senza gatto', ['fox']],
    ['没有狗和猫的森林，一只狐狸', ['fox']],
    ['没有人的海滩', []],
    ['犬なしの海辺に猫', ['cat']],
    ['犬と猫なし、馬', ['horse']],
    ['人のいない森の狐', ['fox']],
  ] as const
  for (const [prompt, names] of cases) assert.deepEqual(shown(prompt), names, prompt)
})

test('a negation ends where its list ends', () => {
  const cases = [
    ['not only a dog but a cat', ['dog', 'cat']],
    ['No, a dog', ['dog']],
    ['a park with no people, flowers everywhere', ['flower']],
    ['no cars and a dog', ['dog']],
    ['a man with no hat and a dog', ['person', 'dog']],
    ['no one sees the fox', ['fox']],
    ['without a doubt a fox', ['fox']],
    ['no hats the fox', ['fox']],
  ] as const
  for (const [prompt, names] of cases) assert.deepEqual(shown(prompt), names, prompt)
  assert.equal(sceneOf('a man with no hat walking').motion, 'walk')
  assert.equal(sceneOf('no people walking, a sleeping cat').motion, 'idle')
  assert.equal(sceneOf('empty street no people night').hour, 'night')
  assert.equal(sceneOf('a hill, not in the city').landscape, 'hills')
})

test('the name Sin City excludes nothing', () => {
  for (const prompt of ['a fox in Sin City at night', 'SIN CITY', 'Las Vegas, Sin City']) {
    const { mentions, absent } = read(prompt)
    assert.ok(
      mentions.some(({ name }) => name === 'city'),
      prompt,
    )
    assert.deepEqual(absent, [], prompt)
  }
  for (const prompt of ['Sin perros, gato', 'sin Perros, gato', 'Sin Perros, un gato', 'Playa Sin Perros con gato'])
    assert.deepEqual(shown(prompt), ['cat'], prompt)
})

test('nothing that a prompt excludes comes by chance', () => {
  for (let seed = 0; seed < 60; seed++) {
    assert.notEqual(sceneOf('a fox on a hill, not at night', seed).hour, 'night')
    assert.notEqual(sceneOf('a hill at noon with no birds', seed).life, 'birds')
    assert.notEqual(sceneOf('a fox in winter without snow', seed).weather, 'snow')
  }
  assert.equal(sceneOf('a hill with no clouds').cloudy, false)
  assert.equal(sceneOf('a hill').cloudy, true)
})

test('what a remix excludes is gone from its source', () => {
  const { cast, landscape } = sceneOf('without the fox', null, 'a fox and a bird in a forest')
  assert.deepEqual([cast.map(({ name }) => name), landscape], [['bird'], 'forest'])
})

test('words that mean nothing here are named, each once', () => {
  const { unknown } = read(
    'A Zyzzyva, the zyzzyva and two foxes über dem Café Zeitgeist, 一只狐狸戴帽子, no gizmos, 안녕 ピアノ',
  )
  assert.deepEqual(unknown, ['zyzzyva', 'zeitgeist', '戴帽子', 'gizmos', '안녕', 'ピアノ'])
  assert.deepEqual(read('a slow pan left over three red foxes in the snow at night').unknown, [])
})

test('a list is excluded as a whole only if it has an end', () => {
  const { absent } = read(`no ${'dog, '.repeat(5000)} or cat`)
  assert.equal(absent.length, 1)
})

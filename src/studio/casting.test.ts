import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sceneOf } from './scene.ts'

const cast = (prompt: string) => sceneOf(prompt).cast.map(({ name, count }) => `${count} ${name}`)

test('two persons are two', () => {
  const cases = [
    ['two women', ['2 woman']],
    ['a couple', ['2 person']],
    ['an old couple walking in the park', ['2 person']],
    ['two couples', ['4 person']],
    ['eine Frau und ein Mann', ['1 woman', '1 person']],
    ['a man and a woman', ['1 person', '1 woman']],
    ['the man and the boy', ['2 person']],
    ['a family at the beach', ['4 person']],
    ['两个人', ['2 person']],
    ['一对情侣', ['2 person']],
    ['一个男人和一个女人', ['1 person', '1 woman']],
    ['二人の女性', ['2 woman']],
    ['猫が三匹', ['3 cat']],
  ] as const
  for (const [prompt, expected] of cases) assert.deepEqual(cast(prompt), expected, prompt)
})

test('another of a kind is another one, and a second mention of one is not', () => {
  const cases = [
    ['a red car and a blue car', ['1 car', '1 car']],
    ['a knight and a farmer', ['2 person']],
    ['a fox and another fox', ['2 fox']],
    ['a woman walks her dog, the lady smiles', ['1 woman', '1 dog']],
    ['a fox runs, then a fox sleeps', ['1 fox']],
    ['a golden retriever puppy', ['1 dog']],
  ] as const
  for (const [prompt, expected] of cases) assert.deepEqual(cast(prompt), expected, prompt)
  const [red, blue] = sceneOf('a red car and a blue car').cast
  assert.ok(red?.colour && blue?.colour && red.colour[0] > red.colour[2] && blue.colour[2] > blue.colour[0])
  assert.deepEqual(
    sceneOf('a vixen at night', null, 'a fox and a man').cast.map(({ name, count }) => `${count} ${name}`),
    ['1 fox', '1 person'],
    'a remix has the subjects of its source, not twice',
  )
})

test('a collective word counts what it is of', () => {
  const cases = [
    ['a couple of red foxes', ['2 fox']],
    ['ein paar Hunde', ['2 dog']],
    ['an elephant family', ['4 elephant']],
    ['a herd of cows', ['6 cow']],
    ['a crowd of people', ['8 person']],
    ['a school bus', ['1 bus']],
  ] as const
  for (const [prompt, expected] of cases) assert.deepEqual(cast(prompt), expected, prompt)
})

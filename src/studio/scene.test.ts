import assert from 'node:assert/strict'
import { test } from 'node:test'
import { landscapes } from './landscapes/index.ts'
import { palettes } from './palette.ts'
import { type Scene, sceneOf } from './scene.ts'
import { subjects } from './subjects/index.ts'
import { colours, type Family, vocabulary } from './vocabulary.ts'

const tables = Object.entries(vocabulary) as [Family, Record<string, string>][]

/** What a name of a family must have done to the scene of a prompt that says it. */
const effects: Record<Family, (scene: Scene, name: string) => boolean> = {
  subject: ({ cast }, name) => cast.some((member) => member.name === name),
  place: ({ landscape, cast }, name) =>
    landscape === name || (name === 'sea' && landscape === 'beach' && cast.length > 0),
  hour: ({ hour }, name) => hour === name,
  weather: ({ weather }, name) => weather === name,
  season: ({ season }, name) => season === name,
  colour: ({ mood, cast }, name) => mood !== null || cast.length > 0 || name === 'black' || name === 'white',
  motion: ({ motion }, name) => motion === name,
  pace: ({ pace }, name) => (name === 'slow' ? pace < 0.7 : pace > 1.4),
  camera: ({ camera }, name) => camera.move === name,
  life: ({ life }, name) => life === name,
}

for (const [family, table] of tables) {
  test(`every word for a ${family} is understood, in any case`, () => {
    for (const [name, words] of Object.entries(table)) {
      for (const word of words.split(' ')) {
        const said = word.replaceAll('_', ' ')
        for (const prompt of [said, `${said.toUpperCase()}!`]) {
          assert.ok(effects[family](sceneOf(prompt), name), `"${prompt}" should mean ${name}`)
        }
      }
    }
  })
}

test('plurals mean the same as their singular, and several of it', () => {
  const cases = [
    ['foxes', 'fox'],
    ['puppies', 'dog'],
    ['wolves', 'wolf'],
    ['geese', 'bird'],
    ['butterflies', 'butterfly'],
    ['buses', 'bus'],
    ['people', 'person'],
    ['sailboats', 'boat'],
  ] as const
  for (const [word, name] of cases) {
    const [member] = sceneOf(`${word} at noon`).cast
    assert.equal(member?.name, name, word)
    assert.ok((member?.count ?? 0) > 1, word)
  }
})

test('words of the prompt choose the landscape, the hour and the weather', () => {
  const cases = [
    ['A calm sea at sunset', 'sea', 'sunset', 'clear'],
    ['Snowy mountains at dawn', 'mountains', 'dawn', 'snow'],
    ['A neon CITY in the rain', 'city', 'night', 'rain'],
    ['misty forest in the morning', 'forest', 'dawn', 'fog'],
    ['an astronaut above the clouds of Saturn', 'space', 'night', 'clear'],
    ['sunny dunes', 'desert', 'day', 'clear'],
    ['sheep in a meadow at noon', 'hills', 'day', 'clear'],
    ['a thunderstorm over the hills by day', 'hills', 'day', 'storm'],
  ] as const
  for (const [prompt, ...expected] of cases) {
    const { landscape, hour, weather } = sceneOf(prompt)
    assert.deepEqual([landscape, hour, weather], expected, prompt)
  }
})

test('a subject is shown at home, unless the prompt names a place', () => {
  assert.equal(sceneOf('a whale').landscape, 'underwater')
  assert.equal(sceneOf('a whale over the city').landscape, 'city')
  assert.equal(sceneOf('a camel and a cat by the sea').landscape, 'beach', 'what walks is shown at the shore')
  assert.equal(sceneOf('a ship on the sea').landscape, 'sea')
})

test('the heaviest subject decides the place, and the others are put where they can be', () => {
  const cases = [
    ['a whale on a street', 'underwater'],
    ['a whale in the ocean', 'underwater'],
    ['a whale flying through the city', 'city'],
    ['a goldfish on a street', 'city'],
    ['a cat and a whale', 'beach'],
    ['three birds and a whale', 'sea'],
    ['a diver and a whale', 'underwater'],
    ['a cat and a ship', 'beach'],
    ['a flower and a castle', 'mountains'],
    ['a boat and a house', 'beach'],
    ['a cow and a ufo', 'hills'],
    ['an astronaut and a rocket', 'space'],
  ] as const
  for (const [prompt, place] of cases) assert.equal(sceneOf(prompt).landscape, place, prompt)
})

test('of two places the first wins', () => {
  assert.equal(sceneOf('a harbour below a city').landscape, 'sea')
  assert.equal(sceneOf('a city above a harbour').landscape, 'city')
})

test('subjects come in the order of the prompt, with their number and colour', () => {
  const { cast, mood } = sceneOf('three small blue birds, a red car and a robot in a green valley')
  assert.deepEqual(
    cast.map(({ name, count }) => [name, count]),
    [
      ['bird', 3],
      ['car', 1],
      ['robot', 1],
    ],
  )
  const [bird, car, robot] = cast.map(({ colour }) => colour)
  assert.ok(bird && bird[2] > bird[0])
  assert.ok(car && car[0] > car[2])
  assert.equal(robot, null)
  assert.ok(mood && mood[1] > mood[0], 'the colour of no subject is the mood')
})

test('parts of words mean nothing, and a prompt without known words is abstract', () => {
  const scenes = Array.from({ length: 40 }, (_, index) => sceneOf(`researcher ${index}`))
  assert.ok(scenes.every(({ abstract }) => abstract !== null))
  assert.ok(new Set(scenes.map(({ abstract }) => abstract)).size >= 5, 'its form is left to chance')
  assert.ok(
    sceneOf('a fox').abstract === null && sceneOf('rain').abstract === null && sceneOf('winter').abstract === null,
  )
})

test('a colour leans the palette towards it', () => {
  const plain = sceneOf('a hill by day').palette.sky[1]
  const red = sceneOf('a red hill by day').palette.sky[1]
  assert.ok(red[0] - red[2] > plain[0] - plain[2])
})

test('common words of other scripts and languages are understood', () => {
  const cases = [
    ['猫がピアノを弾く', 'cat'],
    ['一只狐狸在森林里', 'fox'],
    ['Лиса в лесу', 'fox'],
    ['un zorro rojo', 'fox'],
    ['ein schloss', 'castle'],
  ] as const
  for (const [prompt, name] of cases) assert.equal(sceneOf(prompt).cast[0]?.name, name, prompt)
  assert.deepEqual(sceneOf('котлета').cast, [], 'a part of a Cyrillic word is no word')
})

test('the same prompt is the same scene, in any script and at any length', () => {
  for (const prompt of [
    '',
    '猫がピアノを弾く',
    '🎬',
    'لقطة بطيئة',
    'x'.repeat(32_000),
    'a fox '.repeat(5000),
    '\u0000\ud800',
  ]) {
    assert.deepEqual(sceneOf(prompt), sceneOf(prompt))
  }
})

test('everything that a prompt can name can be drawn', () => {
  assert.deepEqual(Object.keys(vocabulary.place).sort(), Object.keys(landscapes).sort())
  assert.deepEqual(Object.keys(vocabulary.hour).sort(), Object.keys(palettes).sort())
  assert.deepEqual(Object.keys(vocabulary.subject), Object.keys(subjects))
  assert.deepEqual(Object.keys(vocabulary.colour), Object.keys(colours))
})

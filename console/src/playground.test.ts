import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { it } from 'node:test'
import {
  type Draft,
  draftFrom,
  emptyDraft,
  lengthOptions,
  obstacleOf,
  quotedOf,
  readPlaySearch,
  requestOf,
  sizeOptions,
  whyNot,
} from './playground.ts'
import { samplesOf } from './samples.ts'

const ranged = {
  id: 'ranged',
  seconds: { min: '1', max: '6', default: '4' },
  size: { min_side: 256, max_side: 1920, multiple_of: 2, default: '1280x720' },
  image: 'optional' as const,
  parameters: {
    seed: { type: 'integer' as const, description: 'the seed' },
    caption: { type: 'boolean' as const, description: 'a caption' },
    strength: { type: 'number' as const, description: 'of the image', needs_image: true as const },
  },
  makes: ['remix' as const],
}
const listed = {
  id: 'listed',
  seconds: { values: ['5', '10'], default: '5' },
  size: { values: ['1280x720'], default: '1280x720' },
  image: 'none' as const,
  parameters: {},
  makes: [],
}
const draft: Draft = { ...emptyDraft, prompt: "a fox's den" }
const image = new File(['x'], 'fox.png')

it('an option names the models that do not accept it', () => {
  const lengths = lengthOptions([ranged, listed], '')
  assert.deepEqual(
    lengths.map(({ value }) => value),
    ['1', '2', '3', '4', '5', '6', '10'],
  )
  assert.deepEqual(
    lengths.filter(({ refusedBy }) => refusedBy.length === 0).map(({ value }) => value),
    ['5'],
  )
  assert.deepEqual(lengths.at(-1), { value: '10', refusedBy: ['ranged'] })
  assert.deepEqual(lengthOptions([listed], '7')[1], { value: '7', refusedBy: ['listed'] })
  assert.deepEqual(
    sizeOptions([ranged, listed], '').find(({ value }) => value === '720x1280'),
    { value: '720x1280', refusedBy: ['listed'] },
  )
})

it('a draft that would be refused says why', () => {
  const both = [ranged, listed]
  assert.equal(obstacleOf(draft, both), null)
  const paused = { ...listed, paused: true as const }
  assert.deepEqual(obstacleOf({ ...draft, prompt: '' }, [ranged, paused]), { why: 'paused', models: ['listed'] })
  assert.equal(obstacleOf({ ...draft, prompt: ' ' }, both)?.why, 'prompt')
  assert.deepEqual(obstacleOf({ ...draft, seconds: '10' }, both), { why: 'length', models: ['ranged'] })
  assert.deepEqual(obstacleOf({ ...draft, size: '720x1280' }, both), { why: 'size', models: ['listed'] })
  assert.deepEqual(obstacleOf({ ...draft, image }, both), { why: 'imageRefused', models: ['listed'] })
  const still = { ...ranged, image: 'required' as const }
  assert.deepEqual(obstacleOf(draft, [still]), { why: 'imageRequired', models: ['ranged'] })
  const original = { id: 'video_1', prompt: 'x', how: 'extension' as const }
  assert.equal(obstacleOf({ ...draft, original }, [ranged])?.why, 'lengthMissing')
})

it('a request has only the parameters that are set, and that the model has', () => {
  const set = { ...draft, seconds: '5', parameters: { seed: '7', caption: 'false', strength: '1', other: '' } }
  const body = { model: 'ranged', prompt: "a fox's den", seconds: '5', seed: 7, caption: false }
  assert.deepEqual(requestOf(ranged, set), { path: '/v1/videos', body })
  assert.deepEqual(requestOf(ranged, { ...set, image }).body, { ...body, strength: 1 })
  assert.deepEqual(requestOf(listed, set).body, { model: 'listed', prompt: "a fox's den", seconds: '5' })
  const remix = { ...draft, original: { id: 'video_1', prompt: 'x', how: 'remix' as const } }
  assert.deepEqual(requestOf(ranged, remix), { path: '/v1/videos/video_1/remix', body: { prompt: "a fox's den" } })
  assert.deepEqual(quotedOf(ranged, set), quotedOf(ranged, { ...set, prompt: 'another' }))
})

it('an earlier video fills the form, or is the original of a new one', () => {
  const video = { id: 'video_1', prompt: 'a fox', seconds: '5', size: '1280x718' }
  const again = draftFrom(video, 'again', listed, 7)
  assert.deepEqual(again, { ...emptyDraft, prompt: 'a fox', seconds: '5' })
  assert.deepEqual(draftFrom(video, 'vary', ranged, 7).parameters, { seed: '7' })
  assert.deepEqual(draftFrom(video, 'edit', ranged, 7).original, { id: 'video_1', prompt: 'a fox', how: 'edit' })
  assert.equal(whyNot('vary', listed, true), 'seed')
  assert.equal(whyNot('remix', listed, true), 'model')
  assert.equal(whyNot('remix', ranged, false), 'video')
  assert.equal(whyNot('remix', ranged, true), null)
})

it('the address is read carefully', () => {
  const shown = ['video_1', 3, 'video_1', 'events', '..']
  assert.deepEqual(readPlaySearch({ model: 'a', shown, from: 'video_1', use: 'nonsense' }), {
    model: ['a'],
    shown: ['video_1'],
  })
  assert.deepEqual(readPlaySearch({ from: '..', use: 'again' }), {})
  assert.equal(readPlaySearch({ model: ['a', 'b', 'c', 'd', 'e'] }).model?.length, 4)
})

it('code to copy quotes the texts of people', () => {
  const lacks = (names: string) => `without ${names}`
  const hostile = { ...draft, prompt: `it's "$HOME" \`id\`\n@x`, parameters: { caption: 'true', seed: '7' } }
  const origin = 'http://127.0.0.1:8484'
  const plain = samplesOf({ ...requestOf(ranged, hostile), origin, image: null, lacks })
  assert.deepEqual(Object.keys(plain), ['curl', 'Node', 'Python', 'CLI'])
  assert.match(plain.curl ?? '', /-d '\{"model":"ranged","prompt":"it'\\''s /)
  assert.match(plain.Python ?? '', /extra_body=\{"caption": True, "seed": 7\}/)
  assert.match(plain.CLI ?? '', /--seed '7'/)
  const form = samplesOf({ ...requestOf(ranged, hostile), origin, image: 'fox.png', lacks })
  assert.match(form.curl ?? '', /--form-string 'prompt=it'\\''s/)
  assert.match(form.curl ?? '', /-F 'image=@"fox\.png"'/)
  assert.match(form.Node ?? '', /"input_reference": createReadStream\("fox\.png"\)\n\}\)/)
  const dashed = samplesOf({ ...requestOf(ranged, { ...draft, prompt: '-x' }), origin, image: null, lacks })
  assert.match(dashed.CLI ?? '', /-- '-x'$/)
})

it('code to copy has no codes of terminals and no marks of direction', () => {
  const prompt = "it's\u001b[201~\ntouch x\u0007\u009b31m \u202efdp.exe \\"
  const given = { ...requestOf(ranged, { ...draft, prompt }), origin: 'http://127.0.0.1:8484', lacks: () => '' }
  for (const image of [null, 'fox.png'])
    for (const [name, code] of Object.entries(samplesOf({ ...given, image })))
      assert.doesNotMatch(code, /[^\P{Cc}\n]|\u202e/u, name)
  const { CLI = '', curl = '' } = samplesOf({ ...given, image: null })
  const printed = (words: string) =>
    execFileSync('bash', ['-c', `printf %s ${words}`], { encoding: 'utf8', env: { LC_ALL: 'C.UTF-8' } })
  assert.equal(printed(/(\$'(?:[^'\\]|\\.)*')/s.exec(CLI)?.[1] ?? ''), prompt)
  assert.equal(JSON.parse(printed(/-d ('.*')/s.exec(curl)?.[1] ?? '')).prompt, prompt)
})

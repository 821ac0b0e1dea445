import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { type KeySchema, readBySchema } from './file.ts'
import { Mistakes } from './mistakes.ts'
import { fileSchema, schemaForEditors } from './schema.ts'

const root = join(import.meta.dirname, '..', '..')
const compile = (schema: object) =>
  new Ajv({ strict: true, allErrors: true, keywords: ['errorMessage'] }).compile(schema)

it('every YAML example in the documentation is valid for an editor', () => {
  const validate = compile(schemaForEditors())
  const blocks = ['README.md', ...globSync('docs/**/*.md', { cwd: root })].flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = '']) => [
      page,
      yaml,
    ]),
  )
  const examples = [...blocks, ['deploy/models.yaml', readFileSync(join(root, 'deploy/models.yaml'), 'utf8')]]
  // Some pages show the file of another program.
  const ours = examples.filter(([, yaml = '']) => !/^# (LiteLLM's config\.yaml|prometheus\.yml)\n/.test(yaml))
  assert.equal(ours.length, examples.length - 2)
  assert.ok(ours.length >= 9, 'the examples were not found')
  for (const [page, yaml = ''] of ours) {
    const isValid = validate(parse(yaml))
    assert.ok(isValid, `${page}: ${JSON.stringify(validate.errors)}\n${yaml}`)
  }
})

interface Place {
  name: string
  schema: KeySchema & { description?: string }
  /** A file with a value at this place. */
  fileWith(value: unknown): unknown
}

function placesIn({ properties = {}, additionalProperties, items, required = [] }: KeySchema): Place[] {
  const others = Object.fromEntries(required.map((name) => [name, 'x']))
  const places: Place[] = Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    fileWith: (value) => ({ ...others, [name]: value }),
  }))
  if (additionalProperties)
    places.push({ name: '*', schema: additionalProperties, fileWith: (value) => ({ x: value }) })
  if (items) places.push({ name: '[]', schema: items, fileWith: (value) => [value] })
  return places.flatMap((place) => [
    place,
    ...placesIn(place.schema).map((inner) => ({
      name: `${place.name}.${inner.name}`,
      schema: inner.schema,
      fileWith: (value: unknown) => place.fileWith(inner.fileWith(value)),
    })),
  ])
}

it('the service and a validator of JSON Schema agree on every value at every place', () => {
  const validate = compile(fileSchema)
  const values = [
    null,
    true,
    0,
    -1,
    1,
    1.5,
    3_601,
    100_001,
    1e300,
    Infinity,
    '',
    ' ',
    'x',
    'a b',
    '..',
    '1h',
    '0h',
    '4x4',
    '4x',
    'hold',
    'none',
    'warn',
    [],
    [1],
    [0],
    [null],
    ['x'],
    ['4x4'],
    [['x']],
    {},
    { x: null },
    { x: 'x' },
    { 'a b': 'x' },
  ]
  const seen = new Set<boolean>()
  for (const { fileWith } of placesIn(fileSchema))
    for (const value of values) {
      const file = fileWith(value)
      const mistakes = new Mistakes()
      readBySchema(fileSchema, file, '', mistakes)
      const isValid = validate(file)
      seen.add(isValid)
      assert.equal(mistakes.list.length === 0, isValid, `${JSON.stringify(file)}\n${mistakes.list.join('\n')}`)
    }
  assert.equal(seen.size, 2)
})

it('every key has a description, and every message says what is wrong and how to fix it', () => {
  const places = placesIn(fileSchema)
  assert.ok(places.length > 40)
  for (const { name, schema } of places) {
    const { description = '', errorMessage = '; ' } = schema
    assert.equal(errorMessage.split('; ').length, 2, errorMessage)
    // Numbers and texts in a list are described with the list.
    if (!name.endsWith('.[]') || 'properties' in schema) assert.match(description, /\.$/, name)
  }
})

it('an editor accepts a variable where the service sees its value, and a text only there', () => {
  const validate = compile(schemaForEditors())
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the file writes it like this
  const variable = '${NAME}'
  assert.ok(validate({ tokens: [{ name: variable, secret: variable, unknown_parameters: variable }] }))
  assert.ok(validate({ models: { m: { size: { values: [variable] }, deadlines: { start: variable } } } }))
  assert.ok(!validate({ accounts: { main: { on_unknown: 'guess' } } }))
  assert.ok(!validate({ accounts: { main: { concurrency: variable } } }))
  assert.ok(!validate({ accounts: { [variable]: {} } }))
})

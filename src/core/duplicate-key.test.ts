import assert from 'node:assert/strict'
import { it } from 'node:test'
import { duplicateKey } from './duplicate-key.ts'

it('finds a key that an object has twice, at any depth and however it is written', () => {
  const cases: [string, string][] = [
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"b":{"a":1},"a":1}', 'a'],
    ['{"x":{"b":1,"c":[],"b":2}}', 'b'],
    ['[1,{"x":[{"y":1,"y":1}]}]', 'y'],
    ['{ "a" : "," ,\n\t"a" : 1 }', 'a'],
    ['{"\\u0061":1,"a":1}', 'a'],
    ['{"a\\"b":1,"a\\"b":1}', 'a"b'],
    ['{"a\\\\":1,"a\\\\":1}', 'a\\'],
    ['{"":1,"":1}', ''],
    ['{"é":1,"\\u00e9":1}', 'é'],
    ['{"__proto__":1,"__proto__":1}', '__proto__'],
    ['{"a":{},"b":[],"a":1}', 'a'],
  ]
  for (const [json, key] of cases) assert.equal(duplicateKey(json), key, json)
})

it('finds none where each object has each key once', () => {
  for (const json of [
    '{}',
    '[]',
    '"a"',
    '1',
    'null',
    '{"a":"a"}',
    '{"a":1,"A":1}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":["a","a","b"],"b":"a"}',
    '{"a":"\\"a\\":1,\\"a\\":2"}',
    '{"a":"\\\\","b":"{\\"a\\":1}"}',
    '{"a":"}{","b":"][","c":"a"}',
    '["a",{"a":"b","b":"a"},"a"]',
    '{"a":1,"a ":1}',
    '{"a":[[],{}],"b":[{"a":1}]}',
  ])
    assert.equal(duplicateKey(json), undefined, json)
})

it('agrees with a count of the keys, whatever the text', () => {
  let seed = 1
  const chance = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * below)
  }
  const names = ['a', 'b', '\\u0061', 'c\\\\', '\\"', '{', '}', ',', ':', '[']
  let isDuplicate = false
  const write = (depth: number): string => {
    const kind = chance(depth > 3 ? 2 : 4)
    if (kind === 0) return `"${names[chance(names.length)]}"`
    if (kind === 1) return String(chance(9))
    const inner = Array.from({ length: chance(4) }, () => write(depth + 1))
    if (kind === 2) return `[${inner.join(' ,')}]`
    const keys = inner.map(() => `"${names[chance(names.length)]}"`)
    isDuplicate ||= new Set(keys.map((key) => JSON.parse(key))).size < keys.length
    return `{${inner.map((value, at) => `${keys[at]}: ${value}`).join(',\n')}}`
  }
  for (let round = 0; round < 20_000; round++) {
    isDuplicate = false
    const json = write(0)
    assert.equal(duplicateKey(json) !== undefined, isDuplicate, json)
  }
})

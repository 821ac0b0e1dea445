import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { alarmKindNames, alarmKinds } from '../../../src/core/alarms.ts'
import { en } from './en.ts'
import { zh } from './zh.ts'

const source = join(import.meta.dirname, '..')
const files = globSync('**/*.{ts,tsx}', { cwd: source, exclude: ['text/**'] })
const textOf = (file: string) => readFileSync(join(source, file), 'utf8')

it('both languages have every text, with the same values in it', () => {
  assert.deepEqual(Object.keys(zh), Object.keys(en))
  const valuesIn = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted()
  for (const [key, text] of Object.entries<string>(en)) {
    const other = zh[key as keyof typeof en]
    assert.ok(text !== '' && other !== '', key)
    assert.deepEqual(valuesIn(other), valuesIn(text), key)
  }
})

it('every text is used', () => {
  const all = files.map(textOf).join('\n')
  const unused = Object.keys(en).filter((key) => {
    const group = key.slice(0, key.lastIndexOf('.') + 1)
    return !all.includes(`'${key}'`) && !all.includes(`\`${group}\${`)
  })
  assert.deepEqual(unused, [])
})

it('no text is in a component', () => {
  const found = files
    .filter((file) => file.endsWith('.tsx'))
    .flatMap((file) => {
      const text = textOf(file).replace(/\{?\/\*[\s\S]*?\*\/\}?/g, '')
      const between = text.matchAll(/<\/?[a-zA-Z.]+(?:\s[^<>]*)?>\s*((?!return\b)[A-Za-z][^<>{}=;()]*)\s*</g)
      const attributes = text.matchAll(/\s(?:aria-label|alt|placeholder|title|label)="([^"]*)"/g)
      return [...between, ...attributes].map(([, words]) => `${file}: ${words}`)
    })
  assert.deepEqual(found, [])
})

it('the cause of an alarm is that of the service, in the words of the console', () => {
  for (const kind of alarmKindNames) {
    const cause = alarmKinds[kind].cause.replace('a spend cap', 'a budget')
    assert.equal(en[`alarmCause.${kind}`], cause)
  }
})

it('what a token may spend has one name', () => {
  for (const text of Object.values<string>(en)) assert.doesNotMatch(text, /\bcaps?\b|spending|spend limit/i)
  for (const text of Object.values<string>(zh)) assert.doesNotMatch(text, /消费|花费|额度|限额/)
})

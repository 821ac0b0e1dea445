import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { readTask } from '../video.ts'
import { journalName, type LineState, openJournal, ownerOf } from './journal.ts'
import { decode, readLines } from './lines.ts'
import { match, type OpenLine, type Verdict } from './recover.ts'

const root = mkdtempSync(join(tmpdir(), 'filmgate-batch-'))
after(() => rmSync(root, { recursive: true }))
const newFolder = () => mkdtempSync(join(root, 'x-'))

describe('lines', () => {
  it('are prompts or objects; what they leave out is filled in', () => {
    const text = '\ufeff# comment\r\n\r\na fox\r\n{"prompt": "a wolf", "seconds": 8, "caption": true, "name": "wolf"}\n'
    const { lines, faults } = readLines(text, { seconds: '4', size: '256x256', caption: false })
    assert.deepEqual(faults, [])
    assert.deepEqual(
      lines.map(({ number, order, name }) => ({ number, order, name })),
      [
        { number: 3, order: { prompt: 'a fox', seconds: '4', size: '256x256', caption: false }, name: null },
        { number: 4, order: { prompt: 'a wolf', seconds: '8', size: '256x256' }, name: 'wolf.mp4' },
      ],
    )
  })

  it('keep their key when they are moved or written differently, and two of the same have two keys', () => {
    const keys = (text: string) => readLines(text, {}).lines.map(({ key }) => key)
    const [fox, wolf, again] = keys('a fox\na wolf\na fox')
    assert.notEqual(fox, again)
    assert.deepEqual(keys('new\n{"prompt": "a wolf"}\n{"prompt": "a fox", "seed": null}'), [keys('new')[0], wolf, fox])
  })

  it('with faults are reported with their numbers', () => {
    const bad = [
      '{"prompt": "x", "name": "../x"}',
      '{"prompt": "x", "seed": 1.5}',
      '{"prompt": "x", "size": "big"}',
      '[1]',
      '{"prompt": "x", "prompt": "y"}',
    ]
    const twice = ['{"prompt": "x", "name": "a"}', '{"prompt": "y", "name": "A.mp4"}']
    const { faults } = readLines([...bad, ...twice].join('\n'), {})
    assert.deepEqual(
      faults.map(({ number, what }) => `${number} ${what.split(':')[0]}`),
      ['1 name', '2 seed', '3 size', '5 prompt', '7 name'],
    )
  })

  it('may have names of as many bytes as a file system takes', () => {
    const faults = (name: string) => readLines(JSON.stringify({ prompt: 'x', name }), {}).faults.length
    assert.deepEqual([faults('狐'.repeat(83)), faults('狐'.repeat(84))], [0, 1])
  })

  it('with invalid text are reported with their numbers', () => {
    const bad = ['a\0fox', '{"prompt": "\\ud800"}', '{"prompt": "x", "model": "\\u0000"}']
    assert.deepEqual(
      readLines(['fine', ...bad].join('\n'), {}).faults.map(({ number, what }) => [
        number,
        /an invalid character/.test(what),
      ]),
      [2, 3, 4].map((number) => [number, true]),
    )
    const told = (bytes: Buffer) => decode(bytes).fault
    assert.equal(told(Buffer.from('ein Fuchs\nein Bär')), null)
    assert.match(told(Buffer.from('\ufeffa fox\n', 'utf16le'))?.what ?? '', /UTF-16/)
    assert.equal(told(Buffer.from('ein Fuchs\nein Bär', 'latin1'))?.number, 2)
    // Without its mark, UTF-16 is UTF-8 full of NULs.
    const unmarked = decode(Buffer.from('a fox\n', 'utf16le'))
    assert.ok(unmarked.fault ?? readLines(unmarked.text, {}).faults[0])
  })
})

describe('the journal', () => {
  const intent = { key: 'k', model: 'm', time: 1 }
  it('remembers what happened to each line', async () => {
    const folder = newFolder()
    {
      await using journal = await openJournal(folder, 'http://a/v1')
      for (const line of ['a', 'b', 'c', 'd', 'e']) await journal.record({ line, intent })
      for (const line of ['a', 'b', 'c']) await journal.record({ line, id: `id-${line}` })
      await journal.record({ line: 'a', done: 'a.mp4', took: 5 })
      await journal.record({ line: 'b', failed: 'no' })
      await journal.record({ line: 'd', refused: 'no' })
    }
    await using journal = await openJournal(folder, 'http://a/v1')
    const told = [...journal.states].map(([line, { id, done, failed }]) => [line, id, done?.file, failed])
    assert.deepEqual(told, [
      ['a', 'id-a', 'a.mp4', null],
      ['b', 'id-b', undefined, 'no'],
      ['c', 'id-c', undefined, null],
      ['e', null, undefined, null],
    ])
  })

  it('drops a line that was being written when the process died, and goes on behind it', async () => {
    const folder = newFolder()
    await (await openJournal(folder, 'http://a/v1'))[Symbol.asyncDispose]()
    appendFileSync(join(folder, journalName), '{"line":"a","inte')
    {
      await using journal = await openJournal(folder, 'http://a/v1')
      assert.equal(journal.states.size, 0)
      await journal.record({ line: 'b', intent })
    }
    await using journal = await openJournal(folder, 'http://a/v1')
    assert.deepEqual([...journal.states.keys()], ['b'])
    assert.equal(readFileSync(join(folder, journalName), 'utf8').split('\n').length, 3)
  })

  it('gives a file to the line that was written last, and no other keeps it', async () => {
    await using journal = await openJournal(newFolder(), 'http://a/v1')
    for (const line of ['a', 'b']) {
      await journal.record({ line, intent })
      await journal.record({ line, done: line === 'a' ? 'fox.mp4' : 'Fox.mp4', took: 1 })
    }
    assert.deepEqual(ownerOf('fox.mp4', journal.states), { line: 'b', file: 'Fox.mp4' })
    assert.equal(journal.states.get('a')?.done, null)
  })

  it('says what is wrong with its folder', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, '.filmgate-batch.lock'))
    await assert.rejects(openJournal(folder, 'http://a/v1'), /can't keep its journal in .+: unable to open/)
  })

  it('is of one server, for one batch at a time, and refuses what it can not read', async () => {
    const folder = newFolder()
    {
      await using _journal = await openJournal(folder, 'http://a/v1')
      await assert.rejects(openJournal(folder, 'http://a/v1'), /another batch is running/)
    }
    await assert.rejects(openJournal(folder, 'http://b/v1'), /is of a batch on http:\/\/a\/v1/)
    writeFileSync(join(folder, journalName), 'what\n')
    await assert.rejects(openJournal(folder, 'http://a/v1'), /line 1 of .+ can't be read/)
  })
})

describe('a submit without a response in the journal', () => {
  const time = 1_000_000
  function open(...texts: string[]): OpenLine[] {
    const state: LineState = { intent: { key: '', model: 'm', time }, id: null, done: null, failed: null }
    return readLines(texts.join('\n'), {}).lines.map((line) => ({ line, state }))
  }
  const task = (id: string, fields: object = {}) => {
    const read = readTask({ id, status: 'queued', model: 'm', prompt: 'fox', created_at: time / 1000, ...fields })
    assert.ok(read)
    return read
  }
  const told = (verdicts: Map<string, Verdict>) =>
    [...verdicts.values()].map((one) => (one === 'none' ? one : 'id' in one ? one.id : 'unsure'))

  const cases: [name: string, lines: string[], tasks: ReturnType<typeof task>[], verdicts: string[]][] = [
    ['is the only one that fits', ['fox'], [task('a'), task('b', { prompt: 'wolf' })], ['a']],
    ['may have been listed up to two seconds before it', ['fox'], [task('a', { created_at: time / 1000 - 2 })], ['a']],
    ['is none that is older', ['fox'], [task('a', { created_at: time / 1000 - 3 })], ['none']],
    ['is none of another model', ['fox'], [task('a', { model: 'other' })], ['none']],
    ['is none of another length', ['{"prompt": "fox", "seconds": 4}'], [task('a', { seconds: '8' })], ['none']],
    ['may show the dated name of its model', ['fox'], [task('a', { model: 'm-2026-01-01' })], ['a']],
    ['is none that another line has', ['fox'], [task('bound')], ['none']],
    ['is not guessed among several', ['fox'], [task('a'), task('b')], ['unsure']],
    ['is not guessed where the server shows no prompts', ['fox'], [task('a', { prompt: null })], ['unsure']],
    ['is shared out among lines that ask for the same', ['fox', 'fox'], [task('b'), task('a')], ['a', 'b']],
    ['is submitted for the line that is left over', ['fox', 'fox'], [task('a')], ['a', 'none']],
    [
      'is not guessed between lines that differ unseen',
      ['fox', '{"prompt": "fox", "seed": 1}'],
      [task('a')],
      ['unsure', 'unsure'],
    ],
  ]
  for (const [name, lines, tasks, verdicts] of cases) {
    it(name, () => assert.deepEqual(told(match(open(...lines), tasks, new Set(['bound']))), verdicts))
  }
})

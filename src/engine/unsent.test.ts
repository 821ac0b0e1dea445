import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { newAttemptId } from '../core/attempt.ts'
import { newTaskId } from '../core/task.ts'
import { openUnsentNotes } from './unsent.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-unsent-'))
after(() => rmSync(folder, { recursive: true }))
let count = 0
const newPath = () => join(folder, String(count++))
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes))
const newNote = () => ({ attempt: newAttemptId(random), task: newTaskId(0, random), fence: 7 })

it('notes survive the kill of their process, except those that it struck', () => {
  const path = newPath()
  const [sent, unsent] = [newNote(), newNote()]
  const script = `
    const { openUnsentNotes } = await import(${JSON.stringify(new URL('unsent.ts', import.meta.url).href)})
    const notes = openUnsentNotes(${JSON.stringify(path)}, 'this boot')
    notes.add(${JSON.stringify(sent)})
    notes.add(${JSON.stringify(unsent)})
    notes.strike('${sent.task}')
    process.kill(process.pid, 'SIGKILL')`
  const { signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', script])
  assert.equal(signal, 'SIGKILL')
  assert.deepEqual(openUnsentNotes(path, 'this boot').all(), [unsent])
  assert.deepEqual(openUnsentNotes(path, 'the next boot').all(), [], 'the disk may not have what was struck last')
})

it('a machine without a boot id keeps no notes', () => {
  const path = newPath()
  using notes = openUnsentNotes(path, '')
  notes.add(newNote())
  assert.deepEqual([notes.all(), existsSync(path)], [[], false])
})

it('on Linux the boot id is read from the machine', () => {
  const path = newPath()
  const note = newNote()
  using notes = openUnsentNotes(path)
  notes.add(note)
  assert.deepEqual(openUnsentNotes(path).all(), process.platform === 'linux' ? [note] : [])
})

it('the file keeps its length, however many notes there are', () => {
  const path = newPath()
  using notes = openUnsentNotes(path, 'boot')
  const many = Array.from({ length: 40 }, newNote)
  for (const note of many) notes.add(note)
  assert.equal(statSync(path).size, 4_096)
  const noted = notes.all()
  assert.equal(noted.length, 16, 'the others are not noted')
  for (const { task } of many) notes.strike(task)
  assert.deepEqual([notes.all(), openUnsentNotes(path, 'boot').all()], [[], []])
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

it('a damaged note is ignored and overwritten', () => {
  const path = newPath()
  writeFileSync(path, '{"boot":"boot","att\n\n\0\0')
  using notes = openUnsentNotes(path, 'boot')
  assert.deepEqual(notes.all(), [])
  const note = newNote()
  notes.add(note)
  assert.deepEqual(openUnsentNotes(path, 'boot').all(), [note])
})

it('all notes of a task are struck, also one that could not be struck before', () => {
  const path = newPath()
  using notes = openUnsentNotes(path, 'boot')
  const first = newNote()
  notes.add(first)
  notes.add({ ...newNote(), task: first.task })
  notes.strike(first.task)
  assert.deepEqual([notes.all(), openUnsentNotes(path, 'boot').all()], [[], []])
})

it('a note that can not be struck throws storage_unavailable, so that its request is not sent', () => {
  const path = newPath()
  const note = newNote()
  {
    using notes = openUnsentNotes(path, 'boot')
    notes.add(note)
  }
  using notes = openUnsentNotes(path, 'boot')
  rmSync(path)
  mkdirSync(path)
  assert.throws(() => notes.strike(note.task), { name: 'Problem', code: 'storage_unavailable' })
  notes.add(newNote())
  assert.equal(notes.all().length, 2, 'it may be on disk, so it has to be struck too')
})

it('notes in a copy of the file are ignored: the process of the original may have gone on', () => {
  const path = newPath()
  using notes = openUnsentNotes(path, 'boot')
  notes.add(newNote())
  const copy = newPath()
  copyFileSync(path, copy)
  assert.deepEqual(openUnsentNotes(copy, 'boot').all(), [])
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { verify } from '../../src/media/verify.ts'
import { judge, runStarvation, starvationTable } from './starvation.ts'
import type { Times } from './starvation-duels/measuring.ts'
import { greyMp4 } from './starvation-duels/mp4.ts'

it('a duel measures the working token alone and under attack, and counts the responses to the attacker', async () => {
  const rows = await runStarvation({ stores: ['sqlite'], names: ['field-names'], quick: true })
  assert.equal(rows.length, 2)
  for (const row of rows) {
    assert.ok('measure' in row, JSON.stringify(row))
    assert.deepEqual(row.alone.failures, [])
    for (const { count, p50, p99 } of [row.alone, row.attacked]) assert.ok(count > 0 && p50 > 0 && p99 >= p50)
    assert.ok(row.ratio > 0)
    assert.ok(row.answers.length > 0)
    // Every form has a name that can't be read.
    for (const [status] of row.answers) assert.match(status, /^4\d\d$/)
  }
  const [head = [], ...cells] = starvationTable(rows)
  for (const row of cells) assert.equal(row.length, head.length)
})

it('a duel is kept up to three times the p99, or below the noise, and never with a failure', () => {
  const times = (p99: number, more: Partial<Times> = {}): Times => ({
    count: 30,
    p50: 1,
    p99,
    unfinished: 0,
    failures: [],
    ...more,
  })
  const isKept = (alone: Times, attacked: Times) => judge({ alone, attacked }).isKept
  assert.equal(isKept(times(100), times(300)), true)
  assert.equal(isKept(times(100), times(301)), false)
  assert.equal(isKept(times(2), times(50)), true)
  assert.equal(isKept(times(2), times(51)), false)
  assert.equal(isKept(times(100), times(100, { failures: ['503'] })), false)
  assert.equal(isKept(times(100), times(100, { unfinished: 1 })), false)
})

it('the table marks what is kept only because it is below the noise', () => {
  const times = (p99: number): Times => ({ count: 30, p50: 1, p99, unfinished: 0, failures: [] })
  const verdictOf = (alone: Times, attacked: Times) => {
    const about = { duel: 'attack', store: 'sqlite', measure: 'poll' } as const
    const [head = [], row = []] = starvationTable([
      { ...about, answers: [], alone, attacked, ...judge({ alone, attacked }) },
    ])
    return row[head.indexOf('kept')]
  }
  assert.equal(verdictOf(times(10), times(30)), 'yes')
  assert.equal(verdictOf(times(10), times(40)), 'yes (≤ 50 ms)')
  assert.equal(verdictOf(times(10), times(51)), 'NO')
})

it('what attackers upload is a sound video', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-duel-'))
  const path = join(folder, 'video.mp4')
  for (const size of [
    { width: 64, height: 32 },
    { width: 1_920, height: 1_920 },
  ]) {
    writeFileSync(path, greyMp4({ ...size, frames: 48 }))
    const facts = { seconds: 2, size, codec: 'h264', frameRate: 24, looks: 'frozen' }
    assert.deepEqual(await verify(path, { mode: 'full' }), facts)
  }
  rmSync(folder, { recursive: true })
})

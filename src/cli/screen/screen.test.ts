import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BarView, gauge, renderBar } from './bar.ts'
import { timeLeft, withSample } from './estimate.ts'
import { lineFor } from './progress.ts'
import { openRow, type RowFacts } from './row.ts'
import { table } from './table.ts'
import { fit, fitMiddle, jsonLine, painter, printable, printableLines, widthOf } from './text.ts'
import { ahead, bytes, clockTime, relative, roughly } from './wording.ts'

const plain = painter(false)
const view: BarView = {
  label: null,
  phase: 'drawing',
  fraction: 0.425,
  elapsedMs: 7_000,
  leftMs: 9_400,
  detail: null,
  trouble: null,
  frame: 0,
}

describe('a bar', () => {
  it('shows everything on a wide screen', () => {
    assert.equal(
      renderBar(view, { columns: 70, unicode: true, paint: plain }),
      '⠋ drawing     ━━━━━━━━━━━━━━━╸┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  42%  0:07 9 s left',
    )
  })

  it('is never wider than the screen, whatever it shows', () => {
    const views: Partial<BarView>[] = [
      {},
      { fraction: null },
      { label: '雪の中の赤い狐と長い長い名前' },
      { label: 'a-red-fox-in-snow-at-dusk-and-more', fraction: null },
      { trouble: '503: the server is quite busy at the moment; again in 4 s' },
      { label: 'fox', trouble: '503: the server is quite busy at the moment; again in 4 s' },
      { phase: 'downloading', detail: '3.1 MB of 4.8 MB', elapsedMs: 7_000_000 },
    ]
    for (const change of views) {
      for (const columns of [20, 30, 39, 59, 60, 79, 200]) {
        const line = renderBar({ ...view, ...change }, { columns, unicode: true, paint: painter(true), labelWidth: 26 })
        assert.ok(widthOf(line) <= columns, `${widthOf(line)} in ${columns}: ${line}`)
      }
    }
  })

  it('shows trouble rather than itself, and keeps the percentage to the last', () => {
    const trouble = 'again in 4 s: 503: busy'
    assert.match(renderBar({ ...view, trouble }, { columns: 39, unicode: true, paint: plain }), /42% .*again in 4 s/)
    assert.match(renderBar(view, { columns: 22, unicode: true, paint: plain }), /drawing.* 42%$/)
  })

  it('is drawn to half a cell, in ASCII where nothing else may be used', () => {
    const look = { unicode: true, paint: plain }
    assert.deepEqual(
      [0, 0.25, 0.5, 1, null].map((fraction) => gauge(fraction, 4, look)),
      ['┄┄┄┄', '━┄┄┄', '━━┄┄', '━━━━', '┄┄┄┄'],
    )
    assert.equal(gauge(0.375, 4, look), '━╸┄┄')
    assert.equal(gauge(0.5, 4, { unicode: false, paint: plain }), '##--')
  })
})

describe('the time that is left', () => {
  it('follows the pace that was seen, and is unknown before there is one', () => {
    let samples = withSample([], { at: 0, percent: 0 })
    assert.equal(timeLeft(samples, 1_000), null)
    samples = withSample(samples, { at: 10_000, percent: 20 })
    assert.equal(timeLeft(samples, 10_000), 40_000)
    assert.equal(timeLeft(samples, 15_000), 35_000)
    assert.equal(timeLeft(samples, 99_000), 0)
  })

  it('forgets the pace of long ago, and is not confused by standing still', () => {
    let samples = withSample([], { at: 0, percent: 0 })
    samples = withSample(samples, { at: 100_000, percent: 10 })
    samples = withSample(samples, { at: 101_000, percent: 10 })
    samples = withSample(samples, { at: 110_000, percent: 20 })
    assert.equal(timeLeft(samples, 110_000), 80_000)
  })
})

it('lines in a log come with each change of status, each reason to wait, each 10 % and each trouble', () => {
  const said: string[] = []
  const onChange = (before: RowFacts, after: RowFacts) => {
    const line = lineFor(before, after, false)
    if (line !== null) said.push(line)
  }
  const row = openRow(null, { now: () => 0, onChange })
  const task = (status: 'queued' | 'in_progress', progress: number, reason: string | null = null) =>
    row.onTask({ status, progress, reason } as never)
  task('queued', 0, 'waiting for a free slot')
  task('queued', 0, 'waiting for a free slot')
  task('queued', 0, 'the model is unavailable')
  task('in_progress', 3)
  task('in_progress', 9)
  task('in_progress', 12)
  row.onTrouble({ message: '503: busy', againInMs: 4_000 })
  row.onTrouble(null)
  task('in_progress', 35)
  task('in_progress', 99, 'storing the video')
  row.onBytes(0, null)
  row.onBytes(10, 10)
  assert.deepEqual(said, [
    'queued: waiting for a free slot',
    'queued: the model is unavailable',
    'drawing',
    'drawing 10 %',
    'again in 4 s: 503: busy',
    'drawing 30 %',
    'drawing: storing the video',
    'downloading',
  ])
})

describe('a table', () => {
  const rows = [
    { id: 'a1', about: 'short', model: 'studio' },
    { id: 'b22', about: '雪の中の赤い狐', model: 'm' },
  ]
  const columns = [
    { title: 'ID', text: (row: (typeof rows)[0]) => row.id, align: 'right' as const },
    { title: 'MODEL', text: (row: (typeof rows)[0]) => row.model, extra: true as const },
    { title: 'ABOUT', text: (row: (typeof rows)[0]) => row.about, least: 5 },
  ]
  it('stands in columns, wide characters too', () => {
    assert.equal(
      table(rows, columns, { columns: null, paint: plain }),
      ' ID  MODEL   ABOUT\n a1  studio  short\nb22  m       雪の中の赤い狐\n',
    )
  })
  it('cuts columns first, then leaves out columns', () => {
    assert.equal(
      table(rows, columns, { columns: 20, paint: plain }),
      ' ID  MODEL   ABOUT\n a1  studio  short\nb22  m       雪の中…\n',
    )
    assert.equal(table(rows, columns, { columns: 10, paint: plain }), ' ID  ABOUT\n a1  short\nb22  雪の…\n')
  })
})

it('text is measured and cut as a terminal shows it', () => {
  assert.deepEqual(['abc', '狐', '👍🏽', 'é', '\x1b[31mred\x1b[0m'].map(widthOf), [3, 2, 2, 1, 3])
  assert.equal(fit('a red fox', 6), 'a red…')
  assert.equal(fit('狐狐狐', 4), '狐…')
  assert.equal(fitMiddle('a-red-fox-in-snow-0b9e63.mp4', 20), 'a-red-fox…0b9e63.mp4')
  assert.equal(printable('a\x1b[2Jb\nc\u202e'), 'a [2Jb c')
  assert.equal(printableLines('a\r:\n  b\x9b\n'), 'a :\n  b\n')
  assert.equal(jsonLine({ a: '\x9b\u202e\n' }), '{"a":"\\u009b\\u202e\\n"}\n')
})

it('numbers are rounded for people', () => {
  assert.deepEqual([7_000, 725_000, 3_723_000].map(clockTime), ['0:07', '12:05', '1:02:03'])
  assert.deepEqual([400, 9_400, 180_000, 7_200_000, 400_000_000].map(roughly), ['1 s', '9 s', '3 min', '2 h', '5 d'])
  assert.deepEqual(
    [0, 180_000, -82_800_000].map((ago) => relative(0, ago)),
    ['just now', '3 min ago', 'in 23 h'],
  )
  assert.deepEqual(
    [-20_000, 0, 1_999, 2_000].map((at) => ahead(at, 0)),
    ['now', 'now', 'now', 'in 2 s'],
  )
  assert.deepEqual([812, 4_812_000, 1_000_000_000].map(bytes), ['812 B', '4.8 MB', '1.0 GB'])
})

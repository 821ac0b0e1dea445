import assert from 'node:assert/strict'
import { migrate, type Outcome, type Place, type Progress } from '../../src/migrate.ts'
import { tableNames } from '../../src/stores/transfer/transfer.ts'
import type { Source } from './source.ts'

/** A data folder for database and bucket. */
export const local = (data: string): Place => ({ data, store: { kind: 'sqlite' }, bucket: { kind: 'disk' } })

export function move(from: Place, to: Place, watch: (progress: Progress) => void = () => {}, signal?: AbortSignal) {
  const tools = {
    now: Date.now(),
    sleep: async () => {},
    signal: signal ?? new AbortController().signal,
    report: watch,
  }
  return migrate({ from, to }, tools)
}

export function assertMoved({ rows, objects, finished }: Outcome, films: number): void {
  assert.ok(finished)
  assert.deepEqual(
    rows?.map(({ table, same }) => [table, same]),
    tableNames.map((name) => [name, true]),
  )
  assert.deepEqual(objects?.faults, [])
  assert.equal((objects?.copied ?? 0) + (objects?.there ?? 0), films)
}

/** One video for each finished task, and the image. */
export const objectsOf = ({ films }: Source) => films.size + 1

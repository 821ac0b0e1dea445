import { openSync, writeSync } from 'node:fs'
import { ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { watchDisk } from '../src/buckets/disk-watch.fixture.ts'

/*
 * Loaded into a server by `--import`, in each of its threads: writes a line for each thing that durability depends on,
 * in the order in which they happen, to the file that TRACE_FILE names.
 *   {kind: write | sync | rename, …}  as in disk-watch.fixture.ts
 *   {kind: row, values}               a row of tasks was written, inside of a transaction
 *   {kind: commit, synchronous}       that transaction was committed; 2 is FULL: SQLite synced its log before it returned
 *   {kind: response, status, body}    a response is about to be sent
 */
export type TraceEvent =
  | { kind: 'write' | 'sync'; path: string }
  | { kind: 'rename'; path: string; to: string }
  | { kind: 'row'; values: string }
  | { kind: 'commit'; synchronous: unknown }
  | { kind: 'response'; status: number; body: string }

const file = openSync(process.env.TRACE_FILE ?? '', 'a')
// Taken before `watchDisk` replaces it. One append is one line, from any thread.
const append = writeSync
const note = (event: TraceEvent) => append(file, `${JSON.stringify(event)}\n`)

watchDisk(note)

const { exec, prepare } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, sql)
  if (sql !== 'COMMIT') return
  note({ kind: 'commit', synchronous: prepare.call(this, 'PRAGMA synchronous').get()?.synchronous })
}
DatabaseSync.prototype.prepare = function (...args) {
  const statement = prepare.apply(this, args)
  if (!/^\s*(INSERT INTO|UPDATE) tasks\b/.test(args[0])) return statement
  const run = statement.run.bind(statement) as (...values: unknown[]) => ReturnType<typeof statement.run>
  return Object.assign(statement, {
    run(...values: unknown[]) {
      note({ kind: 'row', values: values.join(' ') })
      return run(...values)
    },
  })
}

const { end } = ServerResponse.prototype
ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
  note({ kind: 'response', status: this.statusCode, body: typeof args[0] === 'string' ? args[0] : '' })
  return (end as (...args: unknown[]) => ServerResponse).apply(this, args)
} as typeof end

import { openSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isMainThread } from 'node:worker_threads'

/*
 * Loaded before the service (`--import`), in each of its threads. The writer thread notes, in the file WINDOW_COMMITS, when
 * a COMMIT returned and the attempts of which tasks it made durable. The main thread learns of it only later; with
 * WINDOW_KILL never.
 */
const file = process.env.WINDOW_COMMITS
if (!isMainThread && file !== undefined) watchCommits(openSync(file, 'a'))

function watchCommits(log: number): void {
  const { prepare, exec } = DatabaseSync.prototype
  let opened: string[] = []
  const noteEnd = (sql: string) => {
    if (sql === 'COMMIT' && opened.length > 0) {
      const at = performance.timeOrigin + performance.now()
      writeSync(log, opened.map((task) => `${JSON.stringify({ task, at })}\n`).join(''))
      if (process.env.WINDOW_KILL) process.kill(process.pid, 'SIGKILL')
    }
    if (sql === 'COMMIT' || sql === 'ROLLBACK') opened = []
  }
  DatabaseSync.prototype.exec = function (sql) {
    exec.call(this, sql)
    noteEnd(sql)
  }
  DatabaseSync.prototype.prepare = function (sql) {
    const statement = prepare.call(this, sql)
    const run = statement.run.bind(statement) as (...values: unknown[]) => ReturnType<typeof statement.run>
    const isOpening = /^\s*INSERT INTO attempts \(id, task,/.test(sql)
    if (isOpening || sql === 'COMMIT' || sql === 'ROLLBACK')
      statement.run = (...values: unknown[]) => {
        if (isOpening) opened.push(String(values[1]))
        const result = run(...values)
        noteEnd(sql)
        return result
      }
    return statement
  }
}

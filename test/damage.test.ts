import assert from 'node:assert/strict'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { newTask } from '../src/stores/contract.ts'
import { openSqlite } from '../src/stores/sqlite.ts'
import { spawnServer } from './process.ts'
import { until } from './service.ts'

/* A database whose pages were overwritten. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-damage-'))
after(() => rmSync(folder, { recursive: true }))
let count = 0
const FILMGATE_TOKEN = 'My API Key'
const serve = (data: string) => spawnServer({ args: ['--data', data], env: { FILMGATE_TOKEN } })

/** A data folder with many rows. */
async function newFolder(): Promise<{ data: string; path: string }> {
  const data = join(folder, `data-${count++}`)
  await using server = serve(data)
  await server.url
  server.child.kill('SIGTERM')
  assert.equal((await server.exit).code, 0)
  await using store = await openSqlite({ folder: data, now: 0, onFatal: assert.ifError })
  const prompt = 'long '.repeat(200)
  // Finished, so that no worker claims them.
  const ended = { state: 'failed', owner: 'default', prompt, dueAt: null } as const
  await Promise.all(Array.from({ length: 2_000 }, (_, at) => store.insert(newTask(String(at), ended))))
  return { data, path: join(data, 'filmgate.db') }
}

/** Kills a server right after a write, which is then only in the log of the database. */
async function crash(data: string, path: string): Promise<void> {
  await using server = serve(data)
  const url = await server.url
  {
    using database = new DatabaseSync(path)
    const shorten = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
    await until('nobody is in the way', () => shorten.get()?.busy === 0, 5)
  }
  await fetch(`${url}/readyz`)
  await until('something is in the log', () => statSync(`${path}-wal`).size > 0, 5)
  server.child.kill('SIGKILL')
  await server.exit
}

/** Overwrites the middle of the file. */
function damage(path: string): void {
  const { size } = statSync(path)
  const file = openSync(path, 'r+')
  const page = 4_096
  const middle = Math.floor(size / 2 / page) * page
  writeSync(file, Buffer.alloc(20 * page, 0xaa), 0, 20 * page, middle)
  closeSync(file)
}

it('damage is found at the start after a crash, named, and nothing is changed', async () => {
  const { data, path } = await newFolder()
  await crash(data, path)
  damage(path)
  const before = readFileSync(path)
  for (let start = 0; start < 2; start += 1) {
    await using server = serve(data)
    assert.deepEqual(await server.exit, { code: 1, signal: null })
    const { stderr } = server.output
    assert.match(
      stderr,
      /filmgate\.db can't be opened: it is damaged \(table tasks: .*page \d+.*restore a backup, as docs/,
    )
    assert.equal(stderr.trim().split('\n').length, 1, stderr)
  }
  assert.ok(readFileSync(path).equals(before))
})

it('a sound database is checked after a crash, and not after a clean stop', async () => {
  const { data, path } = await newFolder()
  await crash(data, path)
  for (const expected of [1, 0]) {
    await using server = serve(data)
    await server.url
    const checks = server.output.stderr.split('\n').filter((line) => line.includes('checked after an unclean end'))
    assert.equal(checks.length, expected, server.output.stderr)
    for (const line of checks) assert.match(line, /"tables":\["tasks",/)
    server.child.kill('SIGTERM')
    assert.equal((await server.exit).code, 0)
  }
})

it('damage that a running service meets stops it, fails no task, and is found at the next start', async () => {
  const { data, path } = await newFolder()
  const fatal = Promise.withResolvers<Error>()
  {
    damage(path)
    await using store = await openSqlite({ folder: data, now: 0, onFatal: fatal.resolve })
    const trials = Array.from({ length: 2_000 }, (_, at) =>
      store.delete('default', newTask(String(at)).id, 10).then(
        () => null,
        (error: { code?: string }) => error.code,
      ),
    )
    const codes = new Set(await Promise.all(trials))
    codes.delete(null)
    assert.deepEqual([...codes], ['storage_unavailable'])
    assert.match((await fatal.promise).message, /filmgate\.db is damaged \(.+\); start again to have it checked/)
  }
  assert.ok(existsSync(`${path}-suspect`))
  await using server = serve(data)
  assert.equal((await server.exit).code, 1)
  assert.match(server.output.stderr, /it is damaged \(table tasks: /)
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it, type TestContext } from 'node:test'
import { migrate } from './migrate.ts'
import { startWriter } from './thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-thread-'))
after(() => rmSync(folder, { recursive: true }))

interface OpenOptions {
  commit?: () => void
  fatal?: (error: Error) => void
}

function open(name: string, context: TestContext, options: OpenOptions = {}) {
  const path = join(folder, name)
  {
    using database = new DatabaseSync(path)
    migrate(database)
  }
  const writer = startWriter(path, { commit() {}, fatal: (error) => assert.fail(error), ...options })
  context.after(() => writer.close())
  return writer
}

it('a write that was committed is settled by the next one, even if the event loop does not go on', async (context) => {
  const writer = open('busy.db', context)
  const cell = new Int32Array(new SharedArrayBuffer(4))
  let isSettled = false
  const first = writer.write('trimNotices', 0, 1).then(() => {
    isSettled = true
  })
  // The event loop goes on once, so that the batch is sent.
  await new Promise((resolve) => setImmediate(resolve))
  const others: Promise<unknown>[] = []
  for (let tries = 0; !isSettled && tries < 1_000; tries += 1) {
    // This thread is busy: it blocks, and only resolved promises go on.
    Atomics.wait(cell, 0, 0, 10)
    others.push(writer.write('trimNotices', 0, 1))
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
  }
  assert.ok(isSettled)
  await Promise.all([first, ...others])
})

it('a writer that closes settles what was sent to it', async (context) => {
  const writer = open('closing.db', context)
  const first = writer.write('trimNotices', 0, 1)
  await new Promise((resolve) => setImmediate(resolve))
  const [changed] = await Promise.all([first, writer.close()])
  assert.equal(changed, 0)
  await assert.rejects(writer.write('trimNotices', 0, 1))
})

it('a reader that fails after a commit ends the service, and the write is settled', async (context) => {
  const failures: string[] = []
  const commit = () => {
    throw new Error('the snapshot stays')
  }
  const writer = open('reader.db', context, { commit, fatal: ({ message }) => void failures.push(message) })
  assert.equal(await writer.write('trimNotices', 0, 1), 0)
  assert.deepEqual(failures, ['the snapshot stays'])
  await assert.rejects(writer.write('trimNotices', 0, 1))
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openDisk } from '../src/buckets/disk.ts'
import { startCli } from '../src/cli/cli.fixture.ts'
import type { Progress } from '../src/migrate.ts'
import { assertMoved, local, move, objectsOf } from './migrate/moving.ts'
import { makeSource } from './migrate/source.ts'
import { startService } from './service.ts'

/* From one data folder to another, which needs nothing else; PostgreSQL and S3 are in migrate.services.ts. */
const folder = mkdtempSync(join(tmpdir(), 'filmgate-migrate-'))
after(() => rmSync(folder, { recursive: true }))

it('moves to a new data folder, on which no service starts before it has finished', async () => {
  using source = await makeSource({ each: 2 })
  const data = join(folder, 'moved')
  const cut = ({ phase }: Progress) => assert.notEqual(phase, 'films')
  await assert.rejects(move(local(source.data), local(data), cut), assert.AssertionError)
  await assert.rejects(startService({ env: { FILMGATE_DATA: data } }), /has not finished/)
  assertMoved(await move(local(source.data), local(data)), objectsOf(source))
  await assert.rejects(move(local(source.data), local(data)), /not empty/)
  await using service = await startService({ env: { FILMGATE_DATA: data } })
  for (const id of source.drawable) assert.equal((await service.finish(id)).status, 'completed')
})

it('copies the rows anew where the source has changed since', async () => {
  using source = await makeSource({ each: 2 })
  const target = local(join(folder, 'changed'))
  const cut = (progress: Progress) => assert.notEqual(progress.phase, 'checking')
  await assert.rejects(move(local(source.data), target, cut), assert.AssertionError)
  source.sql("UPDATE tasks SET prompt = 'changed' WHERE state = 'failed' RETURNING id")
  source.sql("DELETE FROM tasks WHERE state = 'fetching' RETURNING id")
  assertMoved(await move(local(source.data), target), objectsOf(source))
})

it('never replaces an object of the target, and says so', async () => {
  using source = await makeSource({ each: 1 })
  const data = join(folder, 'taken')
  const bucket = await openDisk({ folder: join(data, 'bucket') })
  const [id = ''] = source.films.keys()
  await bucket.put(`${id}/video.3.mp4`, [Buffer.from('of somebody else')], new AbortController().signal)
  const first = await move(local(source.data), local(data))
  assert.deepEqual([first.finished, first.objects?.faults[0]?.task], [false, id])
  await bucket.removeFolder(id)
  assertMoved(await move(local(source.data), local(data)), objectsOf(source))
})

it('says what is wrong with a command', async () => {
  const run = async (...args: string[]) => {
    await using cli = startCli(['migrate', ...args], { cwd: folder })
    const { code, stderr } = await cli.exit
    return `${code} ${stderr}`
  }
  assert.match(await run('--from-data', 'x'), /^2 .*where to\?/)
  assert.match(await run('--to-store', 'postgres://h/d'), /^2 .*--from-data is missing/)
  assert.match(await run('--from-data', 'x', '--to-store', ''), /^2 .*--to-store is empty/)
  assert.match(await run('--from-data', 'x', '--to-store', 'mysql://h/d'), /^2 .*use postgres:/)
  assert.match(await run('--from-data', 'x', '--to-bucket', 's3://a:b@c'), /^2 .*AWS_ACCESS_KEY_ID/)
  assert.match(await run('--from-data', 'x', '--to-data', './x'), /^2 .*the same place/)
  assert.match(await run('--from-data', 'x', '--to-data', 'y'), /^1 .*there is no data folder/)
  assert.match(await run('--from-data', '.', '--to-data', 'y'), /^1 .*there is no database in/)
})

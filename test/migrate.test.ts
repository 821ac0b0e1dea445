import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { openDisk } from '../src/buckets/disk.ts'
import { startCli } from '../src/cli/cli.fixture.ts'
import type { Progress } from '../src/migrate.ts'
import { assertMoved, local, move, objectsOf } from './migrate/moving.ts'
import { makeSource } from './migrate/source.ts'
import { startService } from './service.ts'

/* From one data folder to another. PostgreSQL and S3 are in migrate.services.ts. */
const folder = mkdtempSync(join(tmpdir(), 'filmgate-migrate-'))
after(() => rmSync(folder, { recursive: true }))

it('moves to a new data folder, on which no service starts before it has finished', async () => {
  using source = await makeSource({ each: 2 })
  const data = join(folder, 'moved')
  const cut = ({ phase }: Progress) => assert.notEqual(phase, 'videos')
  await assert.rejects(move(local(source.data), local(data), cut), assert.AssertionError)
  await assert.rejects(startService({ env: { FILMGATE_DATA: data } }), /has not finished/)
  assertMoved(await move(local(source.data), local(data)), objectsOf(source))
  await using service = await startService({ env: { FILMGATE_DATA: data } })
  for (const id of source.drawable) assert.equal((await service.finish(id)).status, 'completed')
})

it('rows that have moved go nowhere else, and the same move again is done', async () => {
  using source = await makeSource({ each: 1 })
  const data = join(folder, 'owner')
  assertMoved(await move(local(source.data), local(data)), objectsOf(source))
  const elsewhere = move(local(source.data), local(join(folder, 'second owner')))
  await assert.rejects(elsewhere, new RegExp(`was moved already, to ${data}\\. .*drop the table moved_away`))
  const films = { kind: 's3', bucket: 'films', prefix: '' } as const
  await assert.rejects(move(local(source.data), { ...local(source.data), bucket: films }), /was moved already/)
  const again = await move(local(source.data), local(data))
  assert.deepEqual(again, { rows: null, objects: null, finished: true, repeated: true })
  await using cli = startCli(['migrate', '--from-data', source.data, '--to-data', data], { cwd: folder })
  const { code, stderr } = await cli.exit
  assert.equal(code, 0, stderr)
  assert.match(stderr, /has finished before/)
  rmSync(data, { recursive: true })
  await assert.rejects(move(local(source.data), local(data)), /which is empty now/)
})

it('a move that was cut off after the source was marked goes on', async () => {
  using source = await makeSource({ each: 1 })
  const data = join(folder, 'marked')
  const cut = ({ phase }: Progress) => assert.notEqual(phase, 'videos')
  await assert.rejects(move(local(source.data), local(data), cut), assert.AssertionError)
  source.sql('CREATE TABLE moved_away (target text NOT NULL)')
  source.sql(`INSERT INTO moved_away VALUES ('${data}') RETURNING target`)
  assertMoved(await move(local(source.data), local(data)), objectsOf(source))
})

it('a row with an invalid key of its video is reported, and the rest moves', async () => {
  using source = await makeSource({ each: 2 })
  const [id = ''] = source.films.keys()
  source.sql(`UPDATE tasks SET video = json_set(video, '$.key', '../../etc/passwd') WHERE id = '${id}' RETURNING id`)
  const { finished, objects } = await move(local(source.data), local(join(folder, 'odd')))
  assert.deepEqual(objects?.faults, [
    { task: id, key: '../../etc/passwd', what: 'its row has an invalid key for it', blocks: false },
  ])
  assert.deepEqual([finished, objects.copied], [true, objectsOf(source) - 1])
})

it('leaves a folder alone that is no source', async () => {
  const [foreign, file] = [join(folder, 'foreign'), join(folder, 'file')]
  mkdirSync(foreign)
  writeFileSync(file, '')
  await assert.rejects(move(local(foreign), local(join(folder, 'x'))), /there is no database in/)
  const elsewhere = { store: { kind: 'postgres', url: 'postgres://127.0.0.1:1/x' } } as const
  const films = { ...local(foreign), ...elsewhere }
  await assert.rejects(move(films, local(join(folder, 'x'))), /is not a data folder of Filmgate; .*--from-data$/)
  assert.deepEqual(readdirSync(foreign), [])
  await assert.rejects(move(local(file), local(join(folder, 'x'))), /is not a folder; .*--from-data$/)
  using source = await makeSource({ each: 1 })
  await assert.rejects(move(local(source.data), local(file)), /can't be used .*--to-data$/)
  const inner = move(local(source.data), local(join(source.data, 'bucket')))
  await assert.rejects(inner, /bucket is inside the source; .*--to-data$/)
  writeFileSync(join(foreign, 'filmgate.db'), '')
  await assert.rejects(move(local(foreign), local(join(folder, 'x'))), /filmgate.*foreign is an empty file; restore it/)
})

it('knows a folder by whatever way it is named', async () => {
  using source = await makeSource({ each: 1 })
  const link = join(folder, 'link')
  symlinkSync(source.data, link)
  await using cli = startCli(['migrate', '--from-data', source.data, '--to-data', link], { cwd: folder })
  const { code, stderr } = await cli.exit
  assert.match(`${code} ${stderr}`, /^2 .*the source and the target are the same/)
})

it('a data folder where a service only lived is empty; one with rows is refused, with their table', async () => {
  using source = await makeSource({ each: 1 })
  const data = join(folder, 'lived')
  {
    await using service = await startService({ env: { FILMGATE_DATA: data } })
    assert.ok(service.url)
  }
  const sql = (text: string) => {
    using database = new DatabaseSync(join(data, 'filmgate.db'))
    database.exec(text)
  }
  // As after an outage of a provider.
  sql("INSERT INTO healths (account, key_version, health, changed_at) VALUES ('away', 'v', '{}', 1)")
  await assert.rejects(
    move(local(source.data), local(data)),
    /not empty: its table tokens has rows .*empty data folder/,
  )
  sql('DELETE FROM tokens')
  assertMoved(await move(local(source.data), local(data)), objectsOf(source))
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
  assert.match(await run('--from-data', 'x'), /^2 .*the target is missing; set at least one of/)
  assert.match(await run('--to-store', 'postgres://h/d'), /^2 .*--from-data is missing/)
  assert.match(await run('--from-data', 'x', '--to-store', ''), /^2 .*--to-store is empty/)
  assert.match(await run('--from-data', 'x', '--to-store', 'mysql://h/d'), /^2 .*use postgres:/)
  assert.match(await run('--from-data', 'x', '--to-bucket', 's3://a:b@c'), /^2 .*AWS_ACCESS_KEY_ID/)
  assert.match(await run('--from-data', 'x', '--to-data', './x'), /^2 .*the source and the target are the same/)
  assert.match(await run('--from-data', 'x', '--to-data', 'y'), /^1 .*there is no data folder/)
  assert.match(await run('--from-data', '.', '--to-data', 'y'), /^1 .*there is no database in/)
})

it('encrypted secrets move with their key, also to a folder that has a key already', async () => {
  const [from, to] = [join(folder, 'sealed'), join(folder, 'sealed-moved')]
  let id = ''
  {
    await using service = await startService({ env: { FILMGATE_DATA: from } })
    const body = JSON.stringify({ name: 'x', url: 'https://8.8.8.8/', event_types: ['video.failed'] })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    id = ((await (await service.fetch('/v1/webhook_endpoints', init)).json()) as { id: string }).id
  }
  mkdirSync(to, { mode: 0o700 })
  writeFileSync(join(to, 'secret.key'), `${Buffer.alloc(32, 1).toString('base64')}\n`)
  assert.ok((await move(local(from), local(to))).finished)
  await using service = await startService({ env: { FILMGATE_DATA: to } })
  assert.equal((await service.fetch(`/v1/webhook_endpoints/${id}`)).status, 200)
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import pg from 'pg'
import { openDisk } from '../src/buckets/disk.ts'
import { startCli } from '../src/cli/cli.fixture.ts'
import { parseBucket, parseStore } from '../src/config/places.ts'
import type { Place, Progress } from '../src/migrate.ts'
import { tableNames, tables } from '../src/stores/transfer/transfer.ts'
import { seeded } from './faults/seeded.ts'
import { assertMoved, local, move, objectsOf } from './migrate/moving.ts'
import { assertServed } from './migrate/served.ts'
import { makeSource } from './migrate/source.ts'
import { startService, until } from './service.ts'
import { startPostgres } from './services/postgres.ts'
import { startS3 } from './services/s3.ts'

const [postgres, s3] = await Promise.all([startPostgres({ fsync: 'off' }), startS3()])
const folder = mkdtempSync(join(tmpdir(), 'filmgate-migrate-'))
after(async () => {
  await Promise.all([postgres[Symbol.asyncDispose](), s3[Symbol.asyncDispose]()])
  rmSync(folder, { recursive: true })
})
const keys = {
  AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
}
Object.assign(process.env, keys)

let count = 0
interface Target {
  store: string
  bucket: string
  data: string
  place: Place
  env: Record<string, string>
}

/** An empty database, an empty prefix, and a data folder that does not exist yet. */
async function makeTarget(): Promise<Target> {
  const name = `target_${count++}`
  // With a locale: the migration must not depend on the sort order of the cluster.
  const locale = "TEMPLATE template0 LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en'"
  await query(postgres.url, `CREATE DATABASE ${name} ${locale}`)
  const store = postgres.url.replace(/postgres$/, name)
  const bucket = `s3://${s3.bucket}/${name}?endpoint=${s3.endpoint}&path_style=true`
  const data = join(folder, name)
  return {
    store,
    bucket,
    data,
    place: { data, store: parseStore(store).value, bucket: parseBucket(bucket).value },
    env: { FILMGATE_STORE: store, FILMGATE_BUCKET: bucket, FILMGATE_DATA: data },
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

it('moves a service to PostgreSQL and S3, where it goes on, and back to a new data folder', async () => {
  using source = await makeSource()
  const target = await makeTarget()
  const before = source.sql('SELECT * FROM tasks ORDER BY id')
  assertMoved(await move(local(source.data), target.place), objectsOf(source))
  assert.deepEqual(source.sql('SELECT * FROM tasks ORDER BY id'), before)
  const hashes =
    "SELECT count(*)::int AS wrong FROM attempts WHERE operation_hash IS DISTINCT FROM encode(sha256(convert_to(operation, 'UTF8')), 'hex')"
  assert.deepEqual(await query(target.store, hashes), [{ wrong: 0 }])
  assert.deepEqual(await query(target.store, 'SELECT count(*)::int AS leased FROM tasks WHERE leased'), [{ leased: 0 }])

  const back = join(folder, 'back')
  assertMoved(await move(target.place, local(back)), objectsOf(source))
  assert.ok((await move(local(source.data), target.place)).repeated)
  await assert.rejects(move(local(source.data), (await makeTarget()).place), /was moved already, to postgres:/)
  await assert.rejects(move(target.place, local(join(folder, 'third'))), /the source was moved already/)
  await assert.rejects(startService({ env: { FILMGATE_DATA: source.data } }), /were moved to postgres:/)
  await assert.rejects(startService({ env: target.env }), new RegExp(`were moved to ${back}`))
  await query(target.store, 'DROP TABLE moved_away')
  {
    await using service = await startService({ env: target.env })
    await assertServed(source, service)
    const other = await service.fetch('/v1/videos', { headers: { authorization: 'Bearer the token of the team' } })
    assert.equal(other.status, 200)
  }
  await using service = await startService({ env: { FILMGATE_DATA: back } })
  await assertServed(source, service)
})

it('goes on wherever it was aborted', async (test) => {
  using source = await makeSource({ each: 60, filmBytes: 150_000 })
  const target = await makeTarget()
  const seed = Number(process.env.SEED ?? 20261115)
  test.diagnostic(`SEED=${seed}`)
  const chance = seeded(seed)
  const cuts: Record<string, number> = {}
  for (let round = 0; round < 25; round += 1) {
    const abort = new AbortController()
    const phase = (['rows', 'rows', 'videos', 'videos', 'checking'] as const)[round % 5] as Progress['phase']
    const at = chance()
    const outcome = move(
      local(source.data),
      target.place,
      (progress) => {
        if (progress.phase === phase && progress.done >= at * (progress.total ?? 0)) abort.abort()
      },
      abort.signal,
    )
    await assert.rejects(outcome, { name: 'AbortError' })
    cuts[phase] = (cuts[phase] ?? 0) + 1
  }
  test.diagnostic(JSON.stringify(cuts))
  await assert.rejects(startService({ env: target.env }), /has not finished/)
  const outcome = await move(local(source.data), target.place)
  assertMoved(outcome, objectsOf(source))
  assert.ok((outcome.objects?.there ?? 0) > 0)
})

it('goes on after kill -9, run by its command line', async (test) => {
  using source = await makeSource({ each: 40, filmBytes: 1_000_000 })
  const target = await makeTarget()
  const args = ['migrate', '--from-data', source.data, '--to-store', target.store, '--to-bucket', target.bucket]
  const moments = [/counting/, /rows \d0 %/, /videos \d/, /videos [1-9]0 %/, /videos [2-9]0 %/, /videos [4-9]0 %/]
  let ended: Awaited<ReturnType<typeof startCli>['exit']> | undefined
  let kills = 0
  for (; kills < 12; kills += 1) {
    await using run = startCli(args, { cwd: folder, env: keys })
    await run.says(moments[kills % moments.length] ?? /./)
    run.child.kill('SIGKILL')
    ended = await run.exit
    // The other process may have finished before this one saw it.
    if (ended.code !== null) break
  }
  await using run = startCli(args, { cwd: folder, env: keys })
  const { code, stdout, stderr } = ended?.code === 0 ? ended : await run.exit
  test.diagnostic(`${kills} kills; ${/\d+ copied, \d+ already there/.exec(stdout)}`)
  assert.ok(kills >= 6)
  assert.equal(code, 0, stderr)
  assert.equal(stdout.match(/ same$/gm)?.length, tableNames.length)
  assert.ok(stderr.includes(`FILMGATE_STORE=${target.store}`) && stderr.includes(target.bucket), stderr)
  await using service = await startService({ env: { ...target.env, FILMGATE_DATA: source.data } })
  await assertServed(source, service, { finish: false })
})

it('refuses a source or a target that is in use, or not its own', async () => {
  using source = await makeSource({ each: 1 })
  const target = await makeTarget()
  {
    await using running = await startService({ env: { FILMGATE_DATA: source.data } })
    await assert.rejects(move(local(source.data), target.place), /a Filmgate is running on the data folder/)
    assert.ok(running.url)
  }
  {
    await using running = await startService({ env: target.env })
    const anywhere = { ...target.place, data: null }
    const held = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
    await until('it keeps others out', async () => (await query(target.store, held)).length > 0)
    await assert.rejects(move(local(source.data), anywhere), /the target: Filmgate is running on the database/)
    await assert.rejects(move(anywhere, local(join(folder, 'x'))), /the source: Filmgate is running on the database/)
    await running.submit({ model: 'studio', prompt: 'foreign', seconds: '1', size: '256x256' })
  }
  await assert.rejects(move(local(source.data), target.place), /the target is not empty: its table tasks has rows/)
  await assert.rejects(move(local(join(folder, 'nothing')), target.place), /there is no data folder/)

  const other = await makeTarget()
  using stranger = await makeSource({ each: 1 })
  const abort = AbortSignal.abort()
  const halfway = async () => move(local(stranger.data), other.place, ({ phase }) => phase === 'rows' && assert.fail())
  await assert.rejects(halfway(), assert.AssertionError)
  await assert.rejects(move(local(source.data), other.place), /an unfinished move of/)
  await assert.rejects(
    move(local(stranger.data), other.place, () => {}, abort),
    { name: 'AbortError' },
  )
  writeFileSync(join(source.data, 'spill', 'att_1.json'), '{}')
  await assert.rejects(move(local(source.data), (await makeTarget()).place), /not in its database yet/)
})

it('names the tasks whose objects are missing or broken, and moves the rest', async () => {
  using source = await makeSource({ each: 4 })
  const target = await makeTarget()
  const bucket = await openDisk({ folder: join(source.data, 'bucket') })
  const served = source.visible.filter(({ id }) => source.films.has(id))
  const [missing, short, other] = served.map(({ id }) => id)
  const gone = [...source.films.keys()].filter((id) => !served.some((task) => task.id === id))
  const deleted = source.sql(`SELECT id FROM tasks WHERE deleted_at = 1 AND id IN ('${gone.join("','")}')`)
  for (const id of [missing, ...deleted.map(({ id }) => id)]) await bucket.removeFolder(String(id))
  const film = source.films.get(String(other)) ?? Buffer.alloc(0)
  const never = new AbortController().signal
  await bucket.put(`${short}/video.3.mp4`, [film.subarray(1)], never)
  await bucket.put(`${other}/video.3.mp4`, [Buffer.alloc(film.length)], never)
  const args = ['migrate', '--from-data', source.data, '--to-store', target.store, '--to-bucket', target.bucket]
  await using run = startCli([...args, '--json'], { cwd: folder, env: keys })
  const { code, stdout, stderr } = await run.exit
  assert.equal(code, 1, stderr)
  const { finished, objects } = JSON.parse(stdout)
  assert.ok(finished)
  assert.deepEqual(
    objects.faults.map(({ task, what }: { task: string; what: string }) => [task, what.split(':')[0]]),
    [
      [missing, 'it is missing in the source'],
      [short, 'it is broken in the source'],
      [other, 'it is broken in the source'],
    ],
  )
  assert.equal(objects.copied, objectsOf(source) - 3 - deleted.length)
})

it('moves only what is named', async () => {
  using source = await makeSource({ each: 2 })
  const { place } = await makeTarget()
  const bucketOnly = await move(local(source.data), { ...local(source.data), bucket: place.bucket })
  assert.deepEqual([bucketOnly.rows, bucketOnly.objects?.copied], [null, objectsOf(source)])
  const rowsOnly = await move(local(source.data), { ...local(source.data), store: place.store })
  assert.deepEqual([rowsOnly.objects, rowsOnly.finished], [null, true])
})

it('knows every table and column that the stores have', async () => {
  using source = await makeSource({ each: 1 })
  const target = await makeTarget()
  await move(local(source.data), target.place)
  const own = new Set(['leased', 'operation_hash'])
  const known = Object.fromEntries(tableNames.map((name) => [name, [...tables[name].columns].sort()]))
  const shape = (rows: Record<string, unknown>[]) => {
    const names = Map.groupBy(
      rows.filter(({ column }) => !own.has(String(column))),
      ({ name }) => String(name),
    )
    return Object.fromEntries([...names].map(([name, found]) => [name, found.map(({ column }) => column).sort()]))
  }
  using database = new DatabaseSync(join(source.data, 'filmgate.db'))
  const sqlite = database.prepare(
    `SELECT t.name AS name, c.name AS "column" FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
     WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'moved_away'`,
  )
  assert.deepEqual(shape(sqlite.all()), known)
  const postgresColumns = `SELECT table_name AS name, column_name AS "column" FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name <> 'schema_versions'`
  assert.deepEqual(shape(await query(target.store, postgresColumns)), known)
})

it('what the built-in renderer was drawing is drawn anew', async () => {
  using source = await makeSource({ each: 1 })
  const target = await makeTarget()
  const [id = ''] = source.drawable
  const operation = JSON.stringify({ film: 'att_x', prompt: 'a fox', seconds: 1, width: 256, height: 256, image: true })
  source.sql(
    `UPDATE tasks SET state = 'running', account = 'studio', operation = '${operation}', attempt = 'att_x', started_at = ${Date.now()}
     WHERE id = '${id}' RETURNING id`,
  )
  assertMoved(await move(local(source.data), target.place), objectsOf(source))
  await using service = await startService({ env: target.env })
  await until('it is drawn', async () => {
    const { status } = (await (await service.fetch(`/v1/videos/${id}`)).json()) as { status: string }
    return status === 'completed'
  })
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { startService, type TestService, until } from './service.ts'
import { mountDisk, notMounted } from './small-disk.ts'

/* Faults of a disk other than a full one, which is in disk-full.slow.ts; and a disk that is almost full. */

const film = { model: 'studio', prompt: 'a storm over the sea', seconds: '1', size: '256x256' }

function remount(path: string, options: string): void {
  const { status, stderr } = spawnSync('mount', ['-o', `remount,${options}`, path], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}

async function submit(service: TestService): Promise<string> {
  const answer = await service.submit(film)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { id: string }).id
}

/** The task waits, says why, and serves no half-written file. */
async function waits(service: TestService, id: string, because: RegExp): Promise<void> {
  const isMet = (line: string) => line.includes('storage_unavailable') && line.includes(id)
  const line = await until('the problem is met', () => service.log.find(isMet))
  assert.match(line, because)
  const task = (await (await service.fetch(`/v1/videos/${id}`)).json()) as { status: string; error?: unknown }
  assert.deepEqual([task.status, task.error], ['in_progress', undefined])
  assert.equal((await service.fetch(`/v1/videos/${id}/content`)).status, 404)
}

async function isServed(service: TestService, id: string): Promise<void> {
  const content = await service.fetch(`/v1/videos/${id}/content`)
  assert.equal(content.status, 200)
  assert.ok((await content.arrayBuffer()).byteLength > 1_000)
}

async function isMade(service: TestService, id: string): Promise<void> {
  assert.equal((await service.finish(id)).status, 'completed')
  await isServed(service, id)
}

it('below the reserve of the disk submits are refused, and the video in progress is completed', async (test) => {
  const path = mkdtempSync(join(tmpdir(), 'filmgate-reserve-'))
  test.after(() => rmdirSync(path))
  using disk = mountDisk(path, 'size=32m')
  if (!disk) return test.skip(notMounted)
  const env = { FILMGATE_DATA: join(path, 'data'), FILMGATE_DISK_RESERVE: '16MB' }
  await using service = await startService({ env })
  const id = await submit(service)
  const repeat = { ...film, prompt: 'a calm sea' }
  const key = { 'idempotency-key': 'k' }
  const first = (await (await service.submit(repeat, key)).json()) as { id: string }
  disk.fill(12_000_000)
  const refused = await until('submits are refused', async () => {
    const answer = await service.submit(film)
    return answer.status !== 200 && answer
  })
  assert.equal(refused.status, 503)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  const { error } = (await refused.json()) as { error: { code: string; message: string } }
  assert.equal(error.code, 'storage_unavailable')
  assert.match(error.message, /disk of the service is almost full, so no new videos are accepted\. Videos in progress/)
  // A repeat creates nothing.
  assert.equal(((await (await service.submit(repeat, key)).json()) as { id: string }).id, first.id)
  await isMade(service, id)
  disk.free()
  await until('submits are accepted', async () => (await service.submit(film)).status === 200)
})

it('with a read-only bucket videos wait, stored ones are served, and the others are stored once it is fixed', async (test) => {
  await using service = await startService()
  const bucket = join(service.data, 'bucket')
  using disk = mountDisk(bucket, 'size=16m')
  if (!disk) return test.skip(notMounted)
  const before = await submit(service)
  await isMade(service, before)
  remount(bucket, 'ro')
  const id = await submit(service)
  await waits(service, id, /EROFS/)
  await isServed(service, before)
  // What can't be removed now is removed later.
  assert.equal((await service.fetch(`/v1/videos/${before}`, { method: 'DELETE' })).status, 200)
  const removals = () => service.log.some((line) => line.includes('EROFS') && line.includes(before))
  await until('the removal is refused', removals)
  remount(bucket, 'rw')
  await isMade(service, id)
  assert.deepEqual(readdirSync(join(bucket, 'incoming')), [])
})

it('on a disk with space but without inodes videos wait, and nothing is half-written', async (test) => {
  await using service = await startService()
  const bucket = join(service.data, 'bucket')
  // One is the folder itself.
  using disk = mountDisk(bucket, 'size=16m,nr_inodes=2')
  if (!disk) return test.skip(notMounted)
  const id = await submit(service)
  await waits(service, id, /ENOSPC/)
  const files = readdirSync(bucket, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  assert.deepEqual(files, [])
  remount(bucket, 'nr_inodes=1000')
  await isMade(service, id)
})

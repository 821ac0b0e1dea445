import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { startService } from './service.ts'

const film = { model: 'studio', prompt: 'a storm over the sea', seconds: '2', size: '640x360' }

/** A small disk of its own, or undefined where this account may not mount one. */
function mountDisk(
  megabytes: number,
): (Disposable & { path: string; fill(leave: number): void; free(): void }) | undefined {
  const path = mkdtempSync(join(tmpdir(), 'filmgate-full-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  const ballast = join(path, 'ballast')
  if (status !== 0) return void rmdirSync(path)
  return {
    path,
    fill(leave) {
      const { bavail, bsize } = statfsSync(path)
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leave)))
    },
    free: () => unlinkSync(ballast),
    [Symbol.dispose]() {
      spawnSync('umount', ['-l', path])
      rmdirSync(path)
    },
  }
}

it('a full disk makes a task wait, nothing half-written is served, and it finishes when there is room', async (test) => {
  using disk = mountDisk(32)
  if (!disk) return test.skip('this account may not mount a small disk')
  // For each place where it can end: while the film is drawn, while it is fetched, while it is put into the bucket.
  await using service = await startService({ env: { FILMGATE_DATA: join(disk.path, 'data') } })
  for (const leave of [400_000, 700_000, 1_000_000]) {
    const { id } = (await (await service.submit({ ...film, prompt: `${film.prompt} ${leave}` })).json()) as {
      id: string
    }
    disk.fill(leave)
    const before = service.log.length
    const settled = () =>
      service.log.slice(before).some((line) => line.includes('storage_unavailable') || line.includes('task completed'))
    while (!settled()) await new Promise((resolve) => setTimeout(resolve, 20))
    const task = (await (await service.fetch(`/v1/videos/${id}`)).json()) as { status: string }
    if (task.status !== 'completed') {
      assert.equal(task.status, 'in_progress')
      assert.equal((await service.fetch(`/v1/videos/${id}/content`)).status, 404)
    }
    disk.free()
    assert.equal((await service.finish(id)).status, 'completed')
    assert.equal((await service.fetch(`/v1/videos/${id}/content`)).status, 200)
  }
  assert.ok(
    service.log.some((line) => line.includes('storage_unavailable')),
    'the disk was never full',
  )
  assert.deepEqual(readdirSync(join(disk.path, 'data', 'bucket', 'incoming')), [])
})

it('a submit that cannot be stored is 503 with Retry-After, and leaves no task', async (test) => {
  using disk = mountDisk(8)
  if (!disk) return test.skip('this account may not mount a small disk')
  await using service = await startService({ env: { FILMGATE_DATA: join(disk.path, 'data') } })
  disk.fill(0)
  const prompt = 'long '.repeat(6_000)
  let answer = await service.submit({ ...film, prompt })
  // The log of the database may have some room left in pages that it holds already.
  for (let round = 0; answer.status === 200 && round < 200; round += 1)
    answer = await service.submit({ ...film, prompt })
  assert.equal(answer.status, 503)
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'storage_unavailable')
  assert.equal((await service.fetch('/v1/models')).status, 200)
  disk.free()
  assert.equal((await service.submit(film)).status, 200)
})

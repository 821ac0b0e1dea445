import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { startService } from './service.ts'

const film = { model: 'studio', prompt: 'a storm over the sea', seconds: '1', size: '640x360' }

interface Disk extends Disposable {
  fill(leave: number): void
  free(): void
}

/** A small disk of its own at that place, or undefined where this account may not mount one. */
function mountDisk(path: string, megabytes: number): Disk | undefined {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  if (status !== 0) return undefined
  const ballast = join(path, 'ballast.image')
  return {
    fill(leave) {
      const { bavail, bsize } = statfsSync(path)
      try {
        writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leave)))
      } catch {
        // Someone else took the last of it: full is full.
      }
    },
    free: () => unlinkSync(ballast),
    [Symbol.dispose]: () => void spawnSync('umount', ['-l', path]),
  }
}

const notMounted = 'this account may not mount a small disk'

for (const [folder, moment] of Object.entries({ studio: 'drawn', scratch: 'fetched', bucket: 'stored' })) {
  it(`a disk that is full when a film is ${moment} makes its task wait, and nothing half-written is served`, async (test) => {
    await using service = await startService()
    using disk = mountDisk(join(service.data, folder), 4)
    if (!disk) return test.skip(notMounted)
    const incoming = join(service.data, 'bucket', 'incoming')
    mkdirSync(incoming, { recursive: true })
    disk.fill(16_384)
    const { id } = (await (await service.submit(film)).json()) as { id: string }
    const full = () => service.log.some((line) => line.includes('storage_unavailable') && line.includes(id))
    while (!full()) await new Promise((resolve) => setTimeout(resolve, 20))
    const task = (await (await service.fetch(`/v1/videos/${id}`)).json()) as { status: string; error?: unknown }
    assert.deepEqual([task.status, task.error], ['in_progress', undefined])
    assert.equal((await service.fetch(`/v1/videos/${id}/content`)).status, 404)
    assert.deepEqual(readdirSync(incoming), [])
    // What waits for room survives a restart too: its film has to be drawn again, which is no failure of its own.
    if (folder === 'bucket') await service.restart()
    disk.free()
    assert.equal((await service.finish(id)).status, 'completed')
    assert.equal((await service.fetch(`/v1/videos/${id}/content`)).status, 200)
  })
}

it('a submit that cannot be stored is 503 with Retry-After; what was accepted before finishes when there is room', async (test) => {
  const path = mkdtempSync(join(tmpdir(), 'filmgate-full-'))
  test.after(() => rmdirSync(path))
  using disk = mountDisk(path, 16)
  if (!disk) return test.skip(notMounted)
  await using service = await startService({ env: { FILMGATE_DATA: join(path, 'data') } })
  const { id } = (await (await service.submit({ ...film, seconds: '20' })).json()) as { id: string }
  disk.fill(0)
  const prompt = 'long '.repeat(6_000)
  let answer = await service.submit({ ...film, prompt })
  // The log of the database may have room left in pages that it holds already.
  for (let round = 0; answer.status === 200 && round < 200; round += 1)
    answer = await service.submit({ ...film, prompt })
  assert.equal(answer.status, 503)
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'storage_unavailable')
  assert.equal((await service.fetch(`/v1/videos/${id}`)).status, 200)
  disk.free()
  assert.equal((await service.finish(id)).status, 'completed')
})

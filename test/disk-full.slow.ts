import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { startService, type TestService, until } from './service.ts'
import { mountDisk, notMounted } from './small-disk.ts'

/** The status of /readyz. */
async function readiness(service: TestService) {
  const answer = await service.fetch('/readyz')
  return { code: answer.status, ...((await answer.json()) as Record<'status' | 'reason' | 'store' | 'bucket', string>) }
}

const film = { model: 'studio', prompt: 'a storm over the sea', seconds: '1', size: '640x360' }

for (const [folder, moment] of Object.entries({ 'accounts/studio': 'drawn', scratch: 'fetched', bucket: 'stored' })) {
  it(`a disk that is full when a film is ${moment} makes its task wait, and nothing half-written is served`, async (test) => {
    await using service = await startService()
    using disk = mountDisk(join(service.data, folder), 'size=4m')
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
    // A task that waits for disk space survives a restart. Its film is drawn again, which does not count as a failure.
    if (folder === 'bucket') await service.restart()
    disk.free()
    assert.equal((await service.finish(id)).status, 'completed')
    assert.equal((await service.fetch(`/v1/videos/${id}/content`)).status, 200)
  })
}

it('a submit that cannot be stored is 503 with Retry-After; what was accepted before finishes when there is room', async (test) => {
  const path = mkdtempSync(join(tmpdir(), 'filmgate-full-'))
  test.after(() => rmdirSync(path))
  using disk = mountDisk(path, 'size=16m')
  if (!disk) return test.skip(notMounted)
  await using service = await startService({ env: { FILMGATE_DATA: join(path, 'data') } })
  const { id } = (await (await service.submit({ ...film, seconds: '20' })).json()) as { id: string }
  disk.fill()
  const prompt = 'long '.repeat(6_000)
  let answer = await service.submit({ ...film, prompt })
  // The log of the database may have free pages left.
  for (let round = 0; answer.status === 200 && round < 200; round += 1)
    answer = await service.submit({ ...film, prompt })
  assert.equal(answer.status, 503)
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'storage_unavailable')
  assert.equal((await service.fetch(`/v1/videos/${id}`)).status, 200)
  const full = await until('it is not ready', async () => {
    const found = await readiness(service)
    return found.code === 503 && found
  })
  assert.deepEqual([full.status, full.store], ['unavailable', 'full'])
  assert.match(full.reason, /disk of the database is full.+Free some space/)
  disk.free()
  // By itself, without another request.
  await until('it is ready', async () => (await readiness(service)).code === 200)
  assert.equal((await service.finish(id)).status, 'completed')
})

it('a full disk of videos alone is told by /readyz, and leaves the service ready', async (test) => {
  await using service = await startService()
  using disk = mountDisk(join(service.data, 'bucket'), 'size=4m')
  if (!disk) return test.skip(notMounted)
  assert.deepEqual((await readiness(service)).bucket, 'ok')
  disk.fill()
  const full = await until('it is told', async () => {
    const found = await readiness(service)
    return found.bucket !== 'ok' && found
  })
  assert.deepEqual([full.code, full.store, full.bucket], [200, 'ok', 'full'])
  assert.equal((await service.submit(film)).status, 200)
  disk.free()
  await until('there is room', async () => (await readiness(service)).bucket === 'ok')
})
